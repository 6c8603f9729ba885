package exprchain_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/chain/exprchain"
)

// failing is a chain that does not compile, and why.
type failing struct {
	steps []exprchain.Step
	want  string
}

func (c failing) check(t *testing.T) {
	t.Helper()
	_, err := exprchain.Compile(c.steps, exprchain.Options{})
	if err == nil {
		t.Errorf("%+v: no error, want %s", c.steps, c.want)
	} else if err.Error() != c.want {
		t.Errorf("%+v:\n got %s\nwant %s", c.steps, err, c.want)
	}
}

func TestErrorsOfFilters(t *testing.T) {
	for _, c := range []failing{
		{[]exprchain.Step{filter(`status = 5`)},
			`chain[0].filter: line 1, column 8: unexpected token Operator("="): compare with ==`},
		{[]exprchain.Step{filter(`status >`)},
			`chain[0].filter: line 1, column 8: the expression ends early`},
		{[]exprchain.Step{filter(`status >= 1 &&`)},
			`chain[0].filter: line 1, column 14: the expression ends early`},
		{[]exprchain.Step{filter(`lowr(a) == "x"`)},
			`chain[0].filter: line 1, column 1: function lowr is not known: did you mean lower?`},
		{[]exprchain.Step{filter(`frobnicate(a)`)},
			`chain[0].filter: line 1, column 1: function frobnicate is not known`},
		{[]exprchain.Step{filter("a > 1 and\n lenght(b) > 1")},
			`chain[0].filter: line 2, column 2: function lenght is not known: did you mean len?`},
		{[]exprchain.Step{filter(`a.b(1)`)},
			`chain[0].filter: line 1, column 3: only a function can be called`},
		{[]exprchain.Step{filter(`$test(a)`)},
			`chain[0].filter: line 1, column 1: function $test is not known`},
		{[]exprchain.Step{filter(`now() > object.last_modified`)},
			`chain[0].filter: line 1, column 1: function now is not available: rows depend on the record alone: use object.last_modified`},
		{[]exprchain.Step{filter(`"a" in keys(this)`)},
			`chain[0].filter: line 1, column 8: function keys is not available: members have no order: name those you mean`},
		{[]exprchain.Step{filter(`object.kye == "x"`)},
			`chain[0].filter: line 1, column 8: object.kye is not known: did you mean object.key? (this.object.kye is a member of that name)`},
		{[]exprchain.Step{filter(`object == 1`)},
			`chain[0].filter: line 1, column 1: object alone is not a value: want one of object.key, object.size, object.etag, object.last_modified, object.partition`},
		{[]exprchain.Step{filter(`object.key.x == 1`)},
			`chain[0].filter: line 1, column 12: object.key has nothing below it`},
		{[]exprchain.Step{filter(`object.partition == "2026"`)},
			`chain[0].filter: line 1, column 8: object.partition is not a value: want object.partition["name"]`},
		{[]exprchain.Step{filter(`object.partition["year"] == 2026`)},
			`chain[0].filter: line 1, column 29: cannot compare this with object.partition, a string`},
		{[]exprchain.Step{filter(`object.last_modified > "2026-01-01"`)},
			`chain[0].filter: line 1, column 24: cannot compare this with object.last_modified, a time: write date("2026-01-31")`},
		{[]exprchain.Step{filter(`record.offset == "0"`)},
			`chain[0].filter: line 1, column 18: cannot compare this with record.offset, a number`},
		{[]exprchain.Step{filter(`record.size == 1`)},
			`chain[0].filter: line 1, column 8: record.size is not known: want record.index or record.offset, or this.record.size for a member of that name`},
		{[]exprchain.Step{filter(`a matches "("`)},
			"chain[0].filter: line 1, column 11: error parsing regexp: missing closing ): `(`"},
		{[]exprchain.Step{filter(`a matches b`)},
			`chain[0].filter: line 1, column 11: want the pattern of matches as a literal`},
		{[]exprchain.Step{filter(`status + 1`)},
			`chain[0].filter: line 1, column 8: want a condition, + gives none`},
		{[]exprchain.Step{filter(`len(a)`)},
			`chain[0].filter: line 1, column 1: want a condition, this gives int`},
		{[]exprchain.Step{filter(`ok && upper(a)`)},
			`chain[0].filter: line 1, column 7: want a condition, this gives string`},
		{[]exprchain.Step{filter(`"x"`)},
			`chain[0].filter: line 1, column 1: want a condition, this gives string`},
		{[]exprchain.Step{filter(`lower(5) == "x"`)},
			`chain[0].filter: line 1, column 7: cannot use int as argument (type string) to call lower`},
	} {
		c.check(t)
	}
}

func TestErrorsOfSelectsAndSteps(t *testing.T) {
	kept := selects("status", "n: http.path", "key: object.key")
	for _, c := range []failing{
		{[]exprchain.Step{kept, filter(`statsu > 5`)},
			`chain[1].filter: line 1, column 1: the select before keeps no statsu: did you mean status?`},
		{[]exprchain.Step{kept, filter(`key.x == 1`)},
			`chain[1].filter: line 1, column 5: key has nothing below it`},
		{[]exprchain.Step{kept, filter(`len(this) == 1`)},
			`chain[1].filter: line 1, column 5: this alone is not available after a select: name a member of it`},
		{[]exprchain.Step{kept, selects("http.path")},
			`chain[1].select[0]: "http.path": the select before keeps no http`},
		{[]exprchain.Step{selects("a.id", "b.id")},
			`chain[0].select[1]: "b.id": id is already taken: give it another name, as "name: path"`},
		{[]exprchain.Step{selects("")},
			`chain[0].select[0]: "": want keys with dots between; write odd ones as ["odd key"]`},
		{[]exprchain.Step{selects("a..b")},
			`chain[0].select[0]: "a..b": want keys with dots between; write odd ones as ["odd key"]`},
		{[]exprchain.Step{selects("a.")},
			`chain[0].select[0]: "a.": want a key after the dot`},
		{[]exprchain.Step{selects("a[0]")},
			`chain[0].select[0]: "a[0]": want a key in quotes between brackets, as ["odd.key"] (elements of arrays cannot be selected)`},
		{[]exprchain.Step{selects("upper(a)")},
			`chain[0].select[0]: "upper(a)": want keys with dots between; write odd ones as ["odd key"]`},
		{[]exprchain.Step{selects("x: ")},
			`chain[0].select[0]: "x: ": want keys with dots between; write odd ones as ["odd key"]`},
		{[]exprchain.Step{selects("object.sise")},
			`chain[0].select[0]: "object.sise": object.sise is not known: did you mean object.size? (this.object.sise is a member of that name)`},
		{[]exprchain.Step{{}},
			`chain[0]: needs one of: drop, explode, filter, flatten, parse, rename, route, select, set`},
		{[]exprchain.Step{{Filter: "a > 1", Select: []string{"a"}}},
			`chain[0]: has filter and select: keep one`},
		{[]exprchain.Step{filter(`a >`), filter(`a > 1`), selects("a b")},
			"chain[0].filter: line 1, column 3: the expression ends early\nchain[2].select[0]: \"a b\": want keys with dots between; write odd ones as [\"odd key\"]"},
	} {
		c.check(t)
	}
}

func TestErrorsOfEdits(t *testing.T) {
	for _, c := range []failing{
		{steps(rename("a", "x", "a.b", "y")), `chain[0].rename["a.b"]: conflicts with a: use two steps`},
		{steps(rename("a", "x", "b", "x.y")), `chain[0].rename.b: conflicts with a: use two steps`},
		{steps(rename("a", "this.a")), `chain[0].rename.a: already has that name`},
		{steps(selects("a", "b"), rename("a", "c"), set("x", "a")), `chain[2].set.x: line 1, column 1: the steps before leave no a: did you mean b?`},
		{steps(selects("a", "b"), drop("a", "b"), drop("a")), `chain[2].drop[0]: the steps before leave no a`},
		{steps(selects("a"), explode("b")), `chain[1].explode: the steps before leave no b: did you mean a?`},
		{steps(selects("abc"), exprchain.Step{Parse: &exprchain.Parse{Field: "abd", As: "json"}}),
			`chain[1].parse.field: the steps before leave no abd: did you mean abc?`},
		{steps(selects("abc"), flatten(exprchain.Flatten{Fields: []string{"b"}})), `chain[1].flatten.fields[0]: the steps before leave no b`},
		{steps(route("", "x", "")), `chain[0].route[0].to: "x" is not a sink of this pipeline`},
		{steps(route("other", "default", "")), `chain[0].unmatched: want "fail" or "skip"`},
		{steps(route("", "default", "", "default", "a")), `chain[0].route[1]: is never reached: the route before takes everything`},
		{parse(exprchain.Parse{Field: "t", As: "timestamp", Zone: "Local"}), `chain[0].parse.zone: rows must not depend on the machine: name the zone`},
		{steps(exprchain.Step{Parse: &exprchain.Parse{As: "json"}}), `chain[0].parse.field: is required: name the member to parse`},
	} {
		c.check(t)
	}
	// What a flatten, a merge or a parse adds is not known.
	compile(t, 0, selects("a"), flatten(exprchain.Flatten{}), drop("a_b"))
	compile(t, 0, selects("a"), merge("a"), drop("b"))
	compile(t, 0, selects("a"), exprchain.Step{Parse: &exprchain.Parse{Field: "a", As: "json"}}, drop("b"))
	compile(t, 0, selects("a"), set("b", "a"), rename("b", "c.d"), drop("c.d"))
}
