package exprchain_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/record"
)

func route(unmatched string, r ...string) exprchain.Step {
	s := exprchain.Step{Unmatched: unmatched}
	for i := 0; i < len(r); i += 2 {
		s.Route = append(s.Route, exprchain.Route{To: r[i], When: r[i+1]})
	}
	return s
}

func TestRoute(t *testing.T) {
	for _, c := range []struct {
		sentence string
		steps    []exprchain.Step
		in       string
		want     string // rows of errors and rest, with "|" between
		counts   record.Counts
	}{
		{"sends a record to the first that takes it", steps(route("", "errors", "status >= 500", "rest", "")),
			`{"status":500} {"status":"500"} {} 7`, `{"status":500}|{"status":"500"} {} 7`, record.Counts{In: 4, Out: 4}},
		{"looks at what the steps before made", steps(selects("s: status"), route("", "errors", "s >= 500", "rest", "")),
			`{"status":500,"a":1} {"status":200}`, `{"s":500}|{"s":200}`, record.Counts{In: 2, Out: 2}},
		{"looks at edited records", steps(explode("i"), set("n", "i * 2"), route("", "rest", "[n][0] > 2", "errors", "n == 2")),
			`{"i":[1,2,1]}`, `{"i":1,"n":2} {"i":1,"n":2}|{"i":2,"n":4}`, record.Counts{In: 1, Out: 3, Expanded: 2}},
		{"filters what nobody takes", steps(route("skip", "errors", "a == 1", "rest", "a == 2")),
			`{"a":1} {"a":3} {"a":2}`, `{"a":1}|{"a":2}`, record.Counts{In: 3, Out: 2, Filtered: 1}},
		{"rejects what nobody takes", steps(route("fail", "errors", "a == 1", "rest", "a == 2")),
			`{"a":1} {"a":3} {"a":2}`, `{"a":1}|{"a":2}`, record.Counts{In: 3, Out: 2, Rejected: 1}},
		{"may lead to a sink twice", steps(route("", "errors", "a == 1", "rest", "a == 2", "errors", "")),
			`{"a":1} {"a":3} {"a":2}`, `{"a":1} {"a":3}|{"a":2}`, record.Counts{In: 3, Out: 3}},
		{"rejects a record that a condition fails on", steps(route("", "errors", "a + 1 == 2", "rest", "")),
			`{"a":1} {}`, `{"a":1}|`, record.Counts{In: 2, Out: 1, Rejected: 1}},
		{"is not needed for rows to go everywhere", steps(drop("b")),
			`{"a":1,"b":1} {}`, `{"a":1} {}|{"a":1} {}`, record.Counts{In: 2, Out: 2}},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			w, err := exprchain.Compile(c.steps, exprchain.Options{Sinks: []string{"errors", "rest"}})
			if err != nil {
				t.Fatal(err)
			}
			out := &chain.Output{Sinks: make([]chain.Rows, 2)}
			if err := w().Process(batch(strings.Fields(c.in)...), out); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range out.Sinks {
				got = append(got, strings.Join(strings.Fields(string(s.Data)), " "))
			}
			if g := strings.Join(got, "|"); g != c.want || out.Counts != c.counts {
				t.Errorf("\n got %s %+v\nwant %s %+v", g, out.Counts, c.want, c.counts)
			}
		})
	}
	t.Run("names itself in an error of a record", func(t *testing.T) {
		_, err := run(compile(t, chain.Fail, filter("true"), route("", "default", "a + 1 == 2", "default", "")), `{}`)
		if err == nil || err.Error() != "record 100: chain[1].route[0].when: line 1, column 3: invalid operation: <nil> + int" {
			t.Errorf("got %v", err)
		}
	})
}
