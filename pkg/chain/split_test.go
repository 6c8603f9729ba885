package chain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

// prefixed is a route for what begins with p; "" takes all.
func prefixed(sink int, p string) chain.Route[text] {
	r := chain.Route[text]{Sink: sink, Encode: encodeText}
	if p != "" {
		r.When = func(_ *chain.Context, v *text) (bool, error) {
			if v.s == "odd" {
				return false, errors.New("neither")
			}
			return strings.HasPrefix(v.s, p), nil
		}
	}
	return r
}

// sent runs lines through a split over three sinks.
func sent(o chain.SplitOptions, routes []chain.Route[text], lines ...string) (string, record.Counts, error) {
	out := &chain.Output{Sinks: make([]chain.Rows, 3)}
	err := chain.Split(decodeText(chain.Skip), o, routes...)().Process(batchOf(lines...), out)
	var all []string
	for i := range out.Sinks {
		s := &out.Sinks[i]
		if n := len(s.Ends); n != strings.Count(string(s.Data), "\n") || n > 0 && s.Ends[n-1] != len(s.Data) {
			return "", out.Counts, fmt.Errorf("ends %v do not fit %q", s.Ends, s.Data)
		}
		all = append(all, strings.ReplaceAll(string(s.Data), "\n", " "))
	}
	return strings.Join(all, "|"), out.Counts, err
}

func TestSplit(t *testing.T) {
	routes := []chain.Route[text]{prefixed(2, "a"), prefixed(0, "ab"), prefixed(0, "b")}
	for _, c := range []struct {
		sentence  string
		routes    []chain.Route[text]
		unmatched chain.Policy
		in, want  string
		counts    record.Counts
	}{
		{"sends a value where the first route that takes it leads", routes, chain.Skip, "ab b a", "b ||ab a ", counts(3, 3, 0, 0, 0)},
		{"counts as filtered what no route takes", routes, chain.Skip, "x a y", "||a ", counts(3, 1, 2, 0, 0)},
		{"rejects it where that is an error", routes, chain.Fail, "x a y", "||a ", counts(3, 1, 0, 2, 0)},
		{"ends with a route that takes all", append(routes, prefixed(1, "")), chain.Fail, "x a", "|x |a ", counts(2, 2, 0, 0, 0)},
		{"rejects a record whose condition fails", routes, chain.Skip, "odd a", "||a ", counts(2, 1, 0, 1, 0)},
		{"takes a half row back", []chain.Route[text]{prefixed(1, "")}, chain.Skip, "a half shrink b", "|a b |", counts(4, 2, 0, 2, 0)},
		{"counts a panic of the encoder", []chain.Route[text]{{Sink: 1, Encode: func([]byte, *text) ([]byte, error) { panic("x") }}}, chain.Skip, "a", "||", counts(1, 0, 0, 1, 0)},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			got, counts, err := sent(chain.SplitOptions{Unmatched: c.unmatched}, c.routes, strings.Fields(c.in)...)
			if err != nil || got != c.want || counts != c.counts {
				t.Errorf("got %q %+v %v, want %q %+v", got, counts, err, c.want, c.counts)
			}
		})
	}
	t.Run("ends the member at a record that fails, under that policy", func(t *testing.T) {
		got, counts, err := sent(chain.SplitOptions{OnError: chain.Fail, Unmatched: chain.Fail}, routes, "a", "x", "b")
		e, ok := errors.AsType[*chain.RecordError](err)
		if _, reason := failure.Of(err); !ok || e.Index != 8 || reason != failure.Operator || got != "||a " || counts.In != 1 {
			t.Errorf("got %q %+v %v", got, counts, err)
		}
	})
	t.Run("keeps a record whole over its sinks", func(t *testing.T) {
		words := chain.FlatMap(decodeText(chain.Skip), func(_ *chain.Context, in *text, emit func(*text) error) error {
			for w := range strings.SplitSeq(in.s, ",") {
				if err := emit(&text{w}); err != nil {
					return err
				}
			}
			return nil
		})
		out := &chain.Output{Sinks: make([]chain.Rows, 3)}
		if err := chain.Split(words, chain.SplitOptions{}, routes...)().Process(batchOf("a,b,x,a", "a,b,odd"), out); err != nil {
			t.Fatal(err)
		}
		if string(out.Sinks[0].Data) != "b\n" || string(out.Sinks[2].Data) != "a\na\n" || out.Counts != counts(2, 3, 1, 1, 3) {
			t.Errorf("got %q %q %+v", out.Sinks[0].Data, out.Sinks[2].Data, out.Counts)
		}
	})
}

func TestEverySinkGetsTheRowsOfAChainWithoutASplit(t *testing.T) {
	for name, c := range map[string]chain.Constructor{
		"raw": chain.Raw("\n"), "typed": chain.Encode(decodeText(chain.Skip), chain.Skip, encodeText),
	} {
		out := &chain.Output{Sinks: make([]chain.Rows, 3)}
		if err := c().Process(batchOf("a", "oversize", "bc"), out); err != nil {
			t.Fatal(err)
		}
		for i, s := range out.Sinks {
			if string(s.Data) != "a\nbc\n" || fmt.Sprint(s.Ends) != "[2 5]" {
				t.Errorf("%s: sink %d has %q %v", name, i, s.Data, s.Ends)
			}
		}
		if out.Counts != counts(3, 2, 0, 1, 0) {
			t.Errorf("%s: got %+v", name, out.Counts)
		}
	}
	out := &chain.Output{Sinks: make([]chain.Rows, 2)}
	if err := chain.Encode(decodeText(chain.Skip), chain.Skip, encodeText)().Process(batchOf("a", "half", "b"), out); err != nil {
		t.Fatal(err)
	}
	if string(out.Sinks[1].Data) != "a\nb\n" {
		t.Errorf("got %q", out.Sinks[1].Data)
	}
}
