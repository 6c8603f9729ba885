package exprchain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/record"
)

func flatten(f exprchain.Flatten) exprchain.Step { return exprchain.Step{Flatten: &f} }

func explode(field string) exprchain.Step { return exprchain.Step{Explode: field} }

func merge(field string) exprchain.Step { return exprchain.Step{Explode: field, Merge: true} }

func TestFlatten(t *testing.T) {
	for _, c := range []edited{
		{"lifts all levels in place",
			steps(flatten(exprchain.Flatten{})), `{"a":{"b":1.0,"c":{"d":2}},"e":[{"f":3}],"g":4}`, `{"a_b":1.0,"a_c_d":2,"e":[{"f":3}],"g":4}`},
		{"takes another separator, which may need an escape",
			steps(flatten(exprchain.Flatten{Separator: `"`})), `{"a":{"b":1}}`, `{"a\"b":1}`},
		{"stops at a depth", steps(flatten(exprchain.Flatten{Depth: 1, Separator: "."})), `{"a":{"b":{"c":{"d":1}}}}`, `{"a.b":{"c":{"d":1}}}`},
		{"takes the fields that are named", steps(flatten(exprchain.Flatten{Fields: []string{"b", "gone", "n"}})),
			`{"a":{"x":1},"b":{"x":2},"n":7}`, `{"a":{"x":1},"b_x":2,"n":7}`},
		{"leaves what holds nothing", steps(flatten(exprchain.Flatten{})), `{"a":{},"b":{"c":{ }},"d":[]}`, `{"a":{},"b_c":{ },"d":[]}`},
		{"keeps escapes in keys", steps(flatten(exprchain.Flatten{})), `{"\u00e9":{"\/":1}}`, `{"\u00e9_\/":1}`},
		{"lets the later of two of one name win, in the place of the first",
			steps(flatten(exprchain.Flatten{})), `{"a_b":1,"x":2,"a":{"b":3}}`, `{"a_b":3,"x":2}`},
		{"sees what the steps before made", steps(set("a.b", "1"), flatten(exprchain.Flatten{}), filter("a_b == 1")), `{}`, `{"a_b":1}`},
	} {
		c.check(t)
	}
}

// exploded runs steps and returns the rows and counts.
func exploded(t *testing.T, p chain.Policy, s []exprchain.Step, in ...string) (string, record.Counts) {
	t.Helper()
	out, err := run(compile(t, p, s...), in...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(out.Sinks[0].Data), "\n"), out.Counts
}

func TestExplode(t *testing.T) {
	for _, c := range []struct {
		sentence string
		steps    []exprchain.Step
		in, want string
		counts   record.Counts
	}{
		{"makes a record of each element, under the array's name",
			steps(explode("items")), `{"a":1,"items":[1.0,{"x":[2]},null],"b":2}`,
			`{"a":1,"items":1.0,"b":2}` + "\n" + `{"a":1,"items":{"x":[2]},"b":2}` + "\n" + `{"a":1,"items":null,"b":2}`,
			record.Counts{In: 1, Out: 3, Expanded: 2}},
		{"reaches into objects", steps(explode("h.items")), `{"h":{"items":[1,2],"k":3}}`,
			`{"h":{"items":1,"k":3}}` + "\n" + `{"h":{"items":2,"k":3}}`, record.Counts{In: 1, Out: 2, Expanded: 1}},
		{"makes none of no element, which counts as filtered", steps(explode("items")), `{"items":[ ]}`, ``, record.Counts{In: 1, Filtered: 1}},
		{"lets a record without the array be", steps(explode("items")), `{"a":1}`, `{"a":1}`, record.Counts{In: 1, Out: 1}},
		{"lets a null be", steps(explode("items")), `{"items":null}`, `{"items":null}`, record.Counts{In: 1, Out: 1}},
		{"rejects a record whose value is no array", steps(explode("items")), `{"items":{"a":1}}`, ``, record.Counts{In: 1, Rejected: 1}},
		{"counts what is filtered afterwards", steps(explode("i"), filter("i > 1")), `{"i":[1,2,3]}`,
			`{"i":2}` + "\n" + `{"i":3}`, record.Counts{In: 1, Out: 2, Filtered: 1, Expanded: 2}},
		{"merges the members of its elements, which win", steps(merge("items")), `{"id":7,"items":[{"x":1,"id":8},{"y":2}],"z":0}`,
			`{"id":8,"z":0,"x":1}` + "\n" + `{"id":7,"z":0,"y":2}`, record.Counts{In: 1, Out: 2, Expanded: 1}},
		{"merges objects alone, and all or nothing", steps(merge("items")), `{"items":[{"x":1},5]}`, ``, record.Counts{In: 1, Rejected: 1}},
		{"goes on in each of its records", steps(explode("a"), explode("a.b"), set("n", "a.b + c")), `{"c":10,"a":[{"b":[1,2]},{"b":[3]},{"b":[]},{}]}`, ``,
			record.Counts{In: 1, Rejected: 1}},
		{"nests", steps(explode("a"), set("m", "1"), explode("a.b"), set("n", "(a.b ?? 5) + c")), `{"c":10,"a":[{"b":[1,2]},{"b":[3]},{"b":[]},{}]}`,
			`{"c":10,"a":{"b":1},"m":1,"n":11}` + "\n" + `{"c":10,"a":{"b":2},"m":1,"n":12}` + "\n" + `{"c":10,"a":{"b":3},"m":1,"n":13}` + "\n" + `{"c":10,"a":{},"m":1,"n":15}`,
			record.Counts{In: 1, Out: 4, Filtered: 1, Expanded: 4}},
		{"may follow a filter and a select", steps(filter("a == 1"), selects("i", "a"), explode("i")), `{"i":[1,2],"a":1,"b":1}`,
			`{"i":1,"a":1}` + "\n" + `{"i":2,"a":1}`, record.Counts{In: 1, Out: 2, Expanded: 1}},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			got, counts := exploded(t, chain.Skip, c.steps, c.in)
			if got != c.want || counts != c.counts {
				t.Errorf("\n got %s\nwant %s\n got %+v\nwant %+v", got, c.want, counts, c.counts)
			}
		})
	}
}

func TestAnArrayMayBeLong(t *testing.T) {
	in := `{"a":1,"h":{"i":[` + strings.Repeat(`{"x":"0123456789"},`, 20_000) + `{}]}}`
	for _, s := range [][]exprchain.Step{{explode("h.i")}, {merge("h.i")}, {rename("h.i", "i"), explode("i")}} {
		out, err := run(compile(t, chain.Fail, s...), in)
		if err != nil || len(out.Sinks[0].Ends) != 20_001 {
			t.Errorf("%+v: %d rows, %v", s, len(out.Sinks[0].Ends), err)
		}
	}
}

func TestManyMembersAreHandledQuickly(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 100_000 {
		fmt.Fprintf(&b, `"k%d":%d,`, i%50_000, i)
	}
	b.WriteString(`"z":0}`)
	got, _ := exploded(t, chain.Fail, steps(drop("z")), b.String())
	if !strings.HasPrefix(got, `{"k0":50000,"k1":50001,`) || strings.Count(got, ":") != 50_000 {
		t.Errorf("got %.80s", got)
	}
}
