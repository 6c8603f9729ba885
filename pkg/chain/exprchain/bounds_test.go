//go:build !race

package exprchain_test

import (
	"strings"
	"testing"

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
