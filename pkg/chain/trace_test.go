package chain_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/record"
)

// traced is an output of two sinks, the second of which is traced.
func traced() *chain.Output {
	return &chain.Output{Sinks: []chain.Rows{{}, {Traced: true}}}
}

// eachWord makes a value of each word but "none"; what fails, fails.
func eachWord() chain.Stream[text] {
	return chain.FlatMap(decodeText(chain.Skip), func(_ *chain.Context, in *text, emit func(*text) error) error {
		for w := range strings.FieldsSeq(in.s) {
			if w == "none" {
				continue
			}
			if err := emit(&text{w}); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestTracedRowsHaveTheirRecords(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	odd := func(_ *chain.Context, v *text) (bool, error) { return v.s[0]%2 == 1, nil }
	for name, c := range map[string]struct {
		chain  chain.Constructor
		vary   []string // what may be in a record beside its number
		routed bool
	}{
		"raw records":                  {chain.Raw("\n"), []string{"", "", " x"}, false},
		"raw records in pieces":        {chain.Raw(" \n"), []string{"", " x"}, false},
		"lines":                        {chain.Line(), []string{"", "", " a\nb"}, false},
		"rows of every sink":           {chain.Encode(eachWord(), chain.Skip, encodeText), []string{"", "", " 3 4", " half", " panic half"}, false},
		"rows of the sinks they go to": {chain.Split(eachWord(), chain.SplitOptions{}, chain.Route[text]{Sink: 1, When: odd, Encode: encodeText}, chain.Route[text]{Encode: encodeText}), []string{"", " 3 4", " half", " panic half"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, out := c.chain(), traced()
			first, rows := int64(1000), 0
			for range 40 {
				var in []string
				for i := range r.IntN(30) {
					line := fmt.Sprint(first+int64(i)) + c.vary[r.IntN(len(c.vary))]
					in = append(in, []string{line, line, line, "bad", "oversize"}[r.IntN(5)])
				}
				b := batchOf(in...)
				b.First, b.Member = first, 5
				if err := w.Process(b, out); err != nil {
					t.Fatal(err)
				}
				first += int64(len(in))
				rows = follow(t, &out.Sinks[1], rows, c.routed)
			}
			if out.Routed != c.routed || out.Sinks[0].Records != nil || rows == 0 {
				t.Errorf("routed %v, the first sink's records %v, %d rows", out.Routed, out.Sinks[0].Records, rows)
			}
			if n := out.Sinks[1].Bytes(); n != int64(len(out.Sinks[1].Data)+16*rows) {
				t.Errorf("%d rows of %d bytes take %d", rows, len(out.Sinks[1].Data), n)
			}
			if out.Sinks[1].Reset(); len(out.Sinks[1].Records) > 0 || !out.Sinks[1].Traced {
				t.Errorf("after Reset: %+v", out.Sinks[1])
			}
		})
	}
}

// follow checks the rows from n on: one that begins with a record's number is of
// that record, another of the same as the row before where all rows are here.
func follow(t *testing.T, rows *chain.Rows, n int, routed bool) int {
	t.Helper()
	if len(rows.Records) != len(rows.Ends) {
		t.Fatalf("%d rows of %d records", len(rows.Ends), len(rows.Records))
	}
	for ; n < len(rows.Ends); n++ {
		start := 0
		if n > 0 {
			start = rows.Ends[n-1]
		}
		row := string(rows.Data[start:rows.Ends[n]])
		at := rows.Records[n]
		number, err := strconv.ParseInt(strings.Fields(row)[0], 10, 64)
		switch {
		case err == nil && number >= 1000 && at != record.At(5, number):
			t.Fatalf("row %q is of record %d of member %d", row, at.Index(), at.Member())
		case err == nil && number < 1000 && !routed && at != rows.Records[n-1]:
			t.Fatalf("row %q is not of the record of the row before", row)
		}
	}
	return n
}
