//go:build !race

package exprchain_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
)

func TestNoRecordGrowsWithoutBound(t *testing.T) {
	const n = 20_000
	wide := `{"s":"` + strings.Repeat("x", 10_000) + `","i":[` + strings.Repeat("1,", n) + `1]}`
	deep := func(key, value string, levels int) string {
		return strings.Repeat(`{"a":1,"`+key+`":`, levels) + value + strings.Repeat("}", levels)
	}
	for name, c := range map[string]struct {
		step     exprchain.Step
		in, want string
	}{
		"explode":        {explode("i"), wide, "grows beyond"},
		"long names":     {flatten(exprchain.Flatten{}), deep(strings.Repeat("k", 200), "1", 600), "grows beyond"},
		"far to go":      {flatten(exprchain.Flatten{}), deep("", `"`+strings.Repeat("x", 4<<20)+`"`, 200), "nested that deep"},
		"deep, no depth": {flatten(exprchain.Flatten{Depth: 3}), deep("", `"`+strings.Repeat("x", 4<<20)+`"`, 200), ""},
	} {
		out, err := run(compile(t, chain.Fail, c.step), c.in)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || len(out.Sinks[0].Data) > 0 {
			t.Errorf("%s: got %d bytes, %v", name, len(out.Sinks[0].Data), err)
		}
	}
}

func TestManyRecordsMayGrowOneAfterTheOther(t *testing.T) {
	w, in := compile(t, chain.Fail, explode("i"))(), batch(`{"s":"`+strings.Repeat("x", 10_000)+`","i":[`+strings.Repeat("1,", 1000)+`1]}`)
	for range 5 {
		out := &chain.Output{Sinks: make([]chain.Rows, 1)}
		if err := w.Process(in, out); err != nil || out.Counts.Out != 1001 {
			t.Fatalf("got %+v, %v", out.Counts, err)
		}
	}
}

// It takes a tenth of a second. Were each column compared with all others, it would
// take 20.
func TestColumnsTakeTimeInProportionToTheirNumber(t *testing.T) {
	var paths pipes
	for i := range 100_000 {
		paths = append(paths, "column_"+strconv.Itoa(i))
	}
	selects, encodes := []exprchain.Step{{Select: paths}}, exprchain.Options{Encoders: []exprchain.Encoder{paths}}
	for name, open := range map[string]func() error{
		"of records": func() error {
			_, err := exprchain.Compile(nil, encodes)
			return err
		},
		"of a select": func() error {
			_, err := exprchain.Compile(selects, encodes)
			return err
		},
		"that are checked": func() error {
			check := exprchain.CheckPaths(selects, exprchain.Options{})
			for _, p := range paths {
				if err := check(p); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if err := open(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
