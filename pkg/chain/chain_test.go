package chain_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// text is a record of these tests; "bad…" does not decode.
type text struct{ s string }

type textDecoder struct{}

func (textDecoder) Decode(b []byte, v *text) error {
	if bytes.HasPrefix(b, []byte("bad")) {
		return failure.Errorf(failure.Record, failure.Undecodable, "decode text: bad")
	}
	if string(b) == "panic in the decoder" {
		panic("decoder")
	}
	v.s = string(b)
	return nil
}

func decodeText(p chain.Policy) chain.Stream[text] {
	return chain.Decode(func() decode.Decoder[text] { return textDecoder{} }, p)
}

func encodeText(dst []byte, v *text) ([]byte, error) {
	dst = append(dst, v.s...)
	switch v.s {
	case "half":
		return dst, errors.New("half a row")
	case "shrink":
		return nil, nil
	case "panic half":
		panic("encoder")
	}
	return append(dst, '\n'), nil
}

func batchOf(lines ...string) *chain.Batch {
	b := &chain.Batch{Object: &unit.Object{Key: "k"}, First: 7, Base: 40}
	for _, l := range lines {
		f := record.Frame{Start: len(b.Buf)}
		if l == "oversize" {
			f.Oversize = true
		} else {
			b.Buf = append(b.Buf, l...)
		}
		f.End = len(b.Buf)
		b.Buf = append(b.Buf, '\n')
		f.Next = len(b.Buf)
		b.Frames = append(b.Frames, f)
	}
	return b
}

func output() *chain.Output {
	out := &chain.Output{Sinks: make([]chain.Rows, 1)}
	out.Sinks[0].Data = append(out.Sinks[0].Data, "before\n"...)
	out.Sinks[0].End()
	return out
}

// rows are what was appended after the row that was there before.
func rows(t *testing.T, out *chain.Output) []string {
	t.Helper()
	var all []string
	start := 0
	for _, end := range out.Sinks[0].Ends {
		all = append(all, string(out.Sinks[0].Data[start:end]))
		start = end
	}
	if start != len(out.Sinks[0].Data) || all[0] != "before\n" {
		t.Fatalf("rows do not cover the data: %q, ends %v", out.Sinks[0].Data, out.Sinks[0].Ends)
	}
	return all[1:]
}

func counts(in, out, filtered, rejected, expanded int64) record.Counts {
	return record.Counts{In: in, Out: out, Filtered: filtered, Rejected: rejected, Expanded: expanded}
}

func check(t *testing.T, out *chain.Output, want record.Counts, wantRows ...string) {
	t.Helper()
	if out.Counts != want {
		t.Errorf("got %+v, want %+v", out.Counts, want)
	}
	if got := strings.Join(rows(t, out), ""); got != strings.Join(wantRows, "\n")+strings.Repeat("\n", min(1, len(wantRows))) {
		t.Errorf("got rows %q, want %q", got, wantRows)
	}
}

func process(t *testing.T, c chain.Constructor, lines ...string) *chain.Output {
	t.Helper()
	out := output()
	if err := c().Process(batchOf(lines...), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOperators(t *testing.T) {
	t.Run("map sees the zero value and may change the type", func(t *testing.T) {
		type pair struct{ a, b string }
		s := chain.Map(decodeText(chain.Skip), func(c *chain.Context, in *text, out *pair) error {
			if *out != (pair{}) {
				t.Errorf("got %v left over", *out)
			}
			*out = pair{in.s, fmt.Sprint(c.Object.Key, c.Index, c.Offset, string(c.Bytes))}
			return nil
		})
		out := process(t, chain.Encode(s, chain.Skip, func(dst []byte, p *pair) ([]byte, error) {
			return append(dst, p.a+"/"+p.b+"\n"...), nil
		}), "x", "oversize", "y")
		check(t, out, counts(3, 2, 0, 1, 0), "x/k7 40x", "y/k9 43y")
	})
	t.Run("filter counts what it drops", func(t *testing.T) {
		s := chain.Filter(decodeText(chain.Skip), func(_ *chain.Context, v *text) (bool, error) {
			if v.s == "odd" {
				return true, errors.New("odd")
			}
			return v.s == "keep", nil
		})
		out := process(t, chain.Encode(s, chain.Skip, encodeText), "keep", "drop", "odd", "bad", "keep")
		check(t, out, counts(5, 2, 1, 2, 0), "keep", "keep")
		if out.Undecoded != 1 {
			t.Errorf("got %d undecoded", out.Undecoded)
		}
	})
	t.Run("inspect sees what passes", func(t *testing.T) {
		var seen []string
		s := chain.Inspect(decodeText(chain.Skip), func(_ *chain.Context, v *text) { seen = append(seen, v.s) })
		process(t, chain.Encode(s, chain.Skip, encodeText), "a", "bad", "b")
		if fmt.Sprint(seen) != "[a b]" {
			t.Errorf("got %v", seen)
		}
	})
}

// words makes a value of every word; "err" and "panic" fail, "swallow" carries on after a
// later failure.
func words(s chain.Stream[text]) chain.Stream[text] {
	return chain.FlatMap(s, func(_ *chain.Context, in *text, emit func(*text) error) error {
		for _, w := range strings.Fields(in.s) {
			switch w {
			case "err":
				return errors.New("err")
			case "panic":
				panic("words")
			}
			if err := emit(&text{w}); err != nil && !strings.Contains(in.s, "swallow") {
				return err
			}
		}
		return nil
	})
}

func TestFlatMap(t *testing.T) {
	for _, c := range []struct {
		sentence, in string
		want         record.Counts
		rows         []string
	}{
		{"none is filtered", "", counts(1, 0, 1, 0, 0), nil},
		{"one is one", "a", counts(1, 1, 0, 0, 0), []string{"a"}},
		{"three are two expanded", "a b c", counts(1, 3, 0, 0, 2), []string{"a", "b", "c"}},
		{"a failure takes all rows back", "a b err", counts(1, 0, 0, 1, 0), nil},
		{"a panic takes all rows back", "a b panic", counts(1, 0, 0, 1, 0), nil},
		{"a later failure takes all rows back", "a half b", counts(1, 0, 0, 1, 0), nil},
		{"a failure that is swallowed counts all the same", "a swallow half b", counts(1, 0, 0, 1, 0), nil},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			check(t, process(t, chain.Encode(words(decodeText(chain.Skip)), chain.Skip, encodeText), c.in), c.want, c.rows...)
		})
	}
}

func TestAFailingEncoderLeavesNoHalfRow(t *testing.T) {
	for _, bad := range []string{"half", "shrink", "panic half"} {
		out := process(t, chain.Encode(decodeText(chain.Skip), chain.Skip, encodeText), "a", bad, "b")
		check(t, out, counts(3, 2, 0, 1, 0), "a", "b")
	}
}

func TestAPanicFailsItsRecordAlone(t *testing.T) {
	s := chain.Filter(decodeText(chain.Skip), func(_ *chain.Context, v *text) (bool, error) {
		if v.s == "panic" {
			var p *text
			return p.s == "", nil
		}
		return true, nil
	})
	c := chain.Encode(words(s), chain.Skip, encodeText)
	out := process(t, c, "panic", "a", "panic", "panic", "panic in the decoder", "b", "panic")
	check(t, out, counts(7, 2, 0, 5, 0), "a", "b")
	if out.Undecoded != 0 {
		t.Errorf("got %d undecoded", out.Undecoded)
	}

	failing := chain.Encode(s, chain.Fail, encodeText)
	out = output()
	err := failing().Process(batchOf("a", "b", "panic", "c"), out)
	e, ok := errors.AsType[*chain.RecordError](err)
	if !ok || e.Index != 9 {
		t.Fatalf("got %v", err)
	}
	if scope, reason := failure.Of(err); scope != failure.Member || reason != failure.Operator {
		t.Errorf("got %v %v", scope, reason)
	}
	if !strings.Contains(err.Error(), "record 9: panic: runtime error: invalid memory address") || !strings.Contains(err.Error(), " at chain_test.go:") {
		t.Errorf("got %v", err)
	}
	check(t, out, counts(2, 2, 0, 0, 0), "a", "b")
}

func TestPoliciesEndTheBatchAtTheRecord(t *testing.T) {
	for _, c := range []struct {
		sentence, bad   string
		decoder, others chain.Policy
		reason          failure.Reason
	}{
		{"a record that does not decode, by the decoder's policy", "bad", chain.Fail, chain.Skip, failure.Undecodable},
		{"a record over the limit, by the decoder's policy", "oversize", chain.Fail, chain.Skip, failure.Undecodable},
		{"an operator's error, by the end's policy", "x err", chain.Skip, chain.Fail, failure.Operator},
		{"an encoder's error, by the end's policy", "x half", chain.Skip, chain.Fail, failure.Operator},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			out := output()
			err := chain.Encode(words(decodeText(c.decoder)), c.others, encodeText)().Process(batchOf("a b", c.bad, "c"), out)
			e, ok := errors.AsType[*chain.RecordError](err)
			if scope, reason := failure.Of(err); !ok || e.Index != 8 || scope != failure.Member || reason != c.reason {
				t.Errorf("got %v", err)
			}
			check(t, out, counts(1, 2, 0, 0, 1), "a", "b")
			other := chain.Encode(words(decodeText(c.others)), c.decoder, encodeText)
			check(t, process(t, other, "a", c.bad, "c"), counts(3, 2, 0, 1, 0), "a", "c")
		})
	}
}

func TestStateDeclaredInAConstructorIsAWorkersOwn(t *testing.T) {
	c := func() chain.Worker {
		n := 0
		s := chain.Map(decodeText(chain.Skip), func(_ *chain.Context, in, out *text) error {
			n++
			out.s = fmt.Sprint(in.s, n)
			return nil
		})
		return chain.Encode(s, chain.Skip, encodeText)()
	}
	for range 2 {
		check(t, process(t, c, "a", "b"), counts(2, 2, 0, 0, 0), "a1", "b2")
	}
}
