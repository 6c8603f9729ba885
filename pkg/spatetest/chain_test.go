package spatetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/spatetest"
)

type order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

func orders(onError chain.Policy) chain.Stream[order] {
	return chain.Decode(func() decode.Decoder[order] { return jsondecode.Typed[order](jsondecode.Options{}) }, onError)
}

func line(dst []byte, o *order) ([]byte, error) {
	if o.Cents < 0 {
		return nil, errors.New("less than nothing")
	}
	return fmt.Appendf(dst, "%s %d\n", o.ID, o.Cents), nil
}

// recorder is a testing.TB that keeps what would fail the test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestAChainGivesItsRowsAndItsCounts(t *testing.T) {
	big := chain.Filter(orders(chain.Skip), func(_ *chain.Context, o *order) (bool, error) { return o.Cents >= 100 || o.Cents < 0, nil })
	got := spatetest.Chain(t, chain.Encode(big, chain.Skip, line),
		`{"id":"a","cents":100}`, `{"id":"b","cents":7}`, `{"id":`, `{"id":"c","cents":-1}`, `{"id":"d","cents":200}`)
	want := spatetest.Result{
		Rows: []string{"a 100\n", "d 200\n"}, Sinks: [][]string{{"a 100\n", "d 200\n"}},
		Counts: record.Counts{In: 5, Out: 2, Filtered: 1, Rejected: 2}, Undecoded: 1, At: -1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got.Text() != "a 100\nd 200\n" {
		t.Errorf("text %q", got.Text())
	}
}

func TestAChainThatFailsSaysWhereAndKeepsTheRowsBefore(t *testing.T) {
	got := spatetest.Chain(t, chain.Encode(orders(chain.Fail), chain.Fail, line),
		`{"id":"a","cents":1}`, `{"id":"b","cents":-1}`, `{"id":"c","cents":1}`)
	if got.At != 1 || got.Err == nil || !strings.Contains(got.Err.Error(), "less than nothing") || !slices.Equal(got.Rows, []string{"a 1\n"}) {
		t.Errorf("got %+v", got)
	}
	if got.Counts != (record.Counts{In: 1, Out: 1}) {
		t.Errorf("counts %+v", got.Counts)
	}
}

func TestAnEmptyInputIsNoBatch(t *testing.T) {
	if got := spatetest.Chain(t, chain.Raw("\n")); len(got.Rows) != 0 || got.Err != nil || got.Counts.In != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAChainMaySeeItsObjectAndItsIndex(t *testing.T) {
	seen := chain.Map(orders(chain.Skip), func(c *chain.Context, in, out *order) error {
		out.ID, out.Cents = c.Object.Key, c.Index
		return nil
	})
	got := spatetest.Chain(t, chain.Encode(seen, chain.Skip, line), `{}`, `{}`)
	if got.Text() != "test/records.ndjson 0\ntest/records.ndjson 1\n" {
		t.Errorf("rows %q", got.Rows)
	}
}

// keeper is a worker that holds on to the buffer of the batch before.
type keeper struct{ last []byte }

func (k *keeper) Process(b *chain.Batch, out *chain.Output) error {
	rows := &out.Sinks[0]
	for _, f := range b.Frames {
		rows.Data = append(append(rows.Data, k.last...), '\n')
		rows.End()
		k.last = b.Buf[f.Start:f.End]
		out.Counts.In++
		out.Counts.Out++
	}
	return nil
}

func TestAChainThatDependsOnItsBatchesFailsTheTest(t *testing.T) {
	for name, c := range map[string]chain.Constructor{
		"one that keeps a buffer that is filled again": func() chain.Worker { return new(keeper) },
		"one whose workers share a state": func() chain.Constructor {
			n := 0
			return chain.Encode(chain.Map(orders(chain.Skip), func(_ *chain.Context, _, out *order) error {
				n++
				out.Cents = int64(n)
				return nil
			}), chain.Skip, line)
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			spatetest.Chain(r, c, `{"id":"a"}`, `{"id":"b"}`)
			if len(r.errors) != 1 || !strings.Contains(r.errors[0], "depends on how records are batched") {
				t.Errorf("it said %q", r.errors)
			}
		})
	}
}

func TestAChainOfSeveralSinks(t *testing.T) {
	got := spatetest.ChainOf(t, func() chain.Worker { return parity{} }, 2, "1", "2", "3")
	if d := cmp.Diff([][]string{{"2;"}, {"1;", "3;"}}, got.Sinks); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// parity routes even digits to the first sink.
type parity struct{}

func (parity) Process(b *chain.Batch, out *chain.Output) error {
	for _, f := range b.Frames {
		text := b.Buf[f.Start:f.End]
		rows := &out.Sinks[text[len(text)-1]%2]
		rows.Data = append(append(rows.Data, text...), ';')
		rows.End()
		out.Counts.In++
		out.Counts.Out++
	}
	return nil
}
