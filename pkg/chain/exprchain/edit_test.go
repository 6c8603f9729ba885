package exprchain_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
)

// edited is what steps make of a record, and the error's text where they fail.
type edited struct {
	sentence string
	steps    []exprchain.Step
	in, want string
}

func (c edited) check(t *testing.T) {
	t.Run(c.sentence, func(t *testing.T) {
		t.Helper()
		out, err := run(compile(t, chain.Fail, c.steps...), c.in)
		got := string(out.Sinks[0].Data)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && got != c.want+"\n" {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	})
}

func steps(s ...exprchain.Step) []exprchain.Step { return s }

func drop(paths ...string) exprchain.Step { return exprchain.Step{Drop: paths} }

func rename(p ...string) exprchain.Step { return exprchain.Step{Rename: pairs(p)} }

func set(p ...string) exprchain.Step { return exprchain.Step{Set: pairs(p)} }

func pairs(p []string) []exprchain.Pair {
	var all []exprchain.Pair
	for i := 0; i < len(p); i += 2 {
		all = append(all, exprchain.Pair{Name: p[i], Value: p[i+1]})
	}
	return all
}

func TestDrop(t *testing.T) {
	for _, c := range []edited{
		{"removes members and leaves the others as they are written",
			steps(drop("b")), `{"a":1.10, "b":2, "c":"\u00e9\/"}`, `{"a":1.10,"c":"\u00e9\/"}`},
		{"removes a member of an object",
			steps(drop("http.agent", "http.gone")), `{"http": {"status": 1.0, "agent": {"x":[1]}, "p": "/"} ,"z":1}`, `{"http":{"status":1.0,"p":"/"},"z":1}`},
		{"leaves an object alone that does not have it, to the space in it",
			steps(drop("a.x.y", "a.b.c")), `{"a": { "b" : 1 }}`, `{"a":{ "b" : 1 }}`},
		{"may leave nothing", steps(drop("a", "b.c")), `{"a":1,"b":{"c":1}}`, `{"b":{}}`},
		{"knows odd names and escapes", steps(drop(`["a.b"]`, "this.object", "é")), `{"a.b":1,"object":2,"\u00e9":3,"e":4}`, `{"e":4}`},
		{"removes all members of a name", steps(drop("a.b")), `{"a":{"b":1,"c":2,"b":3}}`, `{"a":{"c":2}}`},
		{"wants an object", steps(drop("a")), `[1]`, `record 100: chain[0].drop: the record is not an object`},
	} {
		c.check(t)
	}
}

func TestEditedRecords(t *testing.T) {
	for _, c := range []edited{
		{"keep the last of members called the same, in the place of the first",
			steps(drop("x")), `{"a":1,"b":2,"a":3,"\u0061":4}`, `{"a":4,"b":2}`},
		{"know a name by what it means",
			steps(drop("x")), `{"a":1,"b":2,"\u0061":4}`, `{"a":4,"b":2}`},
		{"keep numbers of any size and form",
			steps(drop("x")), `{"a":123456789012345678901234567890,"b":-0,"c":1e400,"d":1.10}`, `{"a":123456789012345678901234567890,"b":-0,"c":1e400,"d":1.10}`},
		{"are on one line", steps(drop("x")), "{\n \"a\": [1,\n 2]\n}", `{"a":[1, 2]}`},
		{"may be empty", steps(drop("x")), `{}`, `{}`},
		{"can be selected from", steps(set("n", "a + 1"), selects("n", "gone", "k: object.key", "x: b.c")), `{"a":1,"b":{"c":[1]}}`,
			`{"n":2,"gone":null,"k":"logs/year=2026/city=K%C3%B6ln/part-1.ndjson","x":[1]}`},
		{"can be filtered", steps(set("n", "a + 1"), filter("n == 2 && b.c startsWith 'x'")), `{"a":1,"b":{"c":"xy"}}`, `{"a":1,"b":{"c":"xy"},"n":2}`},
		{"begin with what a select made", steps(selects("b", "k: record.index"), drop("b.c")), `{"a":1,"b":{"c":1}}`, `{"b":{},"k":100}`},
		{"can be asked as a whole", steps(set("n", "len(this)", "all", "this")), `{"a":1,"b":2}`, `{"a":1,"b":2,"n":2,"all":{"a":1,"b":2,"n":2}}`},
	} {
		c.check(t)
	}
}

func TestRename(t *testing.T) {
	for _, c := range []edited{
		{"leaves a member in its place", steps(rename("a", "x")), `{"a":1.0,"b":2}`, `{"x":1.0,"b":2}`},
		{"moves a member of an object behind the others", steps(rename("http.path", "path", "b", "c")), `{"http":{"path":"\/","s":1},"b":2}`, `{"http":{"s":1},"c":2,"path":"\/"}`},
		{"moves a member into an object, which it makes", steps(rename("a", "x.y.z")), `{"a":1,"b":2}`, `{"b":2,"x":{"y":{"z":1}}}`},
		{"moves within an object", steps(rename("h.a", "h.z")), `{"h":{"a":1,"b":2}}`, `{"h":{"b":2,"z":1}}`},
		{"does nothing without the member", steps(rename("gone", "b", "h.gone", "b")), `{"b":2,"h":5}`, ``},
		{"lets two members change names", steps(rename("a", "b", "b", "a")), `{"a":1,"b":2}`, `{"b":1,"a":2}`},
		{"turns three around", steps(rename("a", "b", "b", "c", "c", "a")), `{"c":3,"b":2,"a":1}`, `{"a":3,"c":2,"b":1}`},
		{"replaces a member that is called so", steps(rename("a", "b")), `{"b":1,"x":2,"a":3}`, `{"x":2,"b":3}`},
		{"replaces it from below too", steps(rename("h.a", "b")), `{"b":1,"h":{"a":3}}`, `{"b":3,"h":{}}`},
		{"keeps a null", steps(rename("a", "b")), `{"a":null}`, `{"b":null}`},
		{"gives away a name and takes it", steps(rename("a", "b", "b", "h.b")), `{"a":1,"b":2}`, `{"b":1,"h":{"b":2}}`},
		{"does not go through what is no object", steps(rename("a", "b.c")), `{"a":1,"b":2}`, `record 100: chain[0].rename: cannot set b.c: what leads to it is not an object: it is not an object`},
	} {
		if c.want == "" {
			c.steps[0].Rename = c.steps[0].Rename[:1]
			c.want = c.in
		}
		c.check(t)
	}
}

func TestSet(t *testing.T) {
	for _, c := range []edited{
		{"adds members behind the others", steps(set("total", "price * qty", "level", "'info'")), `{"price":2.5,"qty":4}`, `{"price":2.5,"qty":4,"total":10,"level":"info"}`},
		{"replaces a value in its place", steps(set("a", "a + 1")), `{"a":1,"b":2}`, `{"a":2,"b":2}`},
		{"lets one see what the one before did", steps(set("x", "a * 2", "y", "x + 1")), `{"a":1}`, `{"a":1,"x":2,"y":3}`},
		{"copies what is only named as it is written", steps(set("x", "a.b", "y", "this.c")), `{"a":{"b":1.10},"c":123456789012345678901}`, `{"a":{"b":1.10},"c":123456789012345678901,"x":1.10,"y":123456789012345678901}`},
		{"sets members of objects, which it makes", steps(set("h.x", "1", "n.y.z", "true")), `{"h":{"a":1},"n":null}`, `{"h":{"a":1,"x":1},"n":{"y":{"z":true}}}`},
		{"knows the object", steps(set("city", "lower(object.partition['city'])", "i", "record.index", "t", "object.last_modified")), `{}`, `{"city":"köln","i":100,"t":"2026-11-01T12:00:00Z"}`},
		{"makes null of nil", steps(set("x", "gone", "y", "nil", "z", "gone?.a.b")), `{}`, `{"x":null,"y":null,"z":null}`},
		{"has defaults", steps(set("x", "gone ?? 7", "y", "(a ?? 0) > 5")), `{"a":6}`, `{"a":6,"x":7,"y":true}`},
		{"makes lists and objects, members by name", steps(set("x", `[1, "a", gone, {"f": 1.5, "c": a, "e": 1, "d": 2, "a": 3, "b": 4}]`)), `{"a":2}`, `{"a":2,"x":[1,"a",null,{"a":3,"b":4,"c":2,"d":2,"e":1,"f":1.5}]}`},
		{"makes readable numbers", steps(set("x", "a / 3", "y", "1e21 * 1", "z", "1.0 * 5", "w", "a / 10000000")), `{"a":1}`, `{"a":1,"x":0.3333333333333333,"y":1e+21,"z":5,"w":1e-07}`},
		{"escapes what must be", steps(set("x", `a + "\n\"\u0001"`)), `{"a":"<é>\u2028"}`, "{\"a\":\"<é>\\u2028\",\"x\":\"<é>\u2028\\n\\\"\\u0001\"}"},
		{"takes conditions", steps(set("x", `status >= 500 ? "bad" : "good"`, "y", `not (status in [200]) and s matches "^a" and s contains "b"`)), `{"status":500,"s":"ab"}`, `{"status":500,"s":"ab","x":"bad","y":true}`},
		{"asks for nil", steps(set("x", `gone == nil`, "y", "a != nil")), `{"a":1}`, `{"a":1,"x":true,"y":true}`},
		{"does not compare nil", steps(set("x", "gone > 5")), `{}`, `record 100: chain[0].set.x: line 1, column 6: cannot compare nil with number: give it a default, as (name ?? 0), or ask name == nil`},
		{"does not compare unlike types", steps(set("x", "a == '5'")), `{"a":5}`, `record 100: chain[0].set.x: line 1, column 3: cannot compare number with string`},
		{"does not order what has no order", steps(set("x", "a < true")), `{"a":true}`, `record 100: chain[0].set.x: line 1, column 3: a boolean is not less or greater than another`},
		{"takes nil for no truth", steps(set("x", "gone and true")), `{}`, `record 100: chain[0].set.x: line 1, column 1: want a boolean, got nil: give it a default, as (name ?? false)`},
		{"asks strings for strings", steps(set("x", "a contains 'x'")), `{"a":1}`, `record 100: chain[0].set.x: line 1, column 3: contains wants strings, got number and string`},
		{"matches strings", steps(set("x", "gone matches 'x'")), `{}`, `record 100: chain[0].set.x: line 1, column 6: matches wants a string, got nil`},
		{"does not look for nil", steps(set("x", "gone in [1]")), `{}`, `record 100: chain[0].set.x: line 1, column 6: cannot look for nil in a list: give it a default, as (name ?? 0)`},
		{"does not look into a number", steps(set("x", "1 in a")), `{"a":5}`, `record 100: chain[0].set.x: line 1, column 3: cannot look for number in number`},
		{"makes no number that JSON has not", steps(set("x", "a / 0")), `{"a":5}`, `record 100: chain[0].set.x: the result is not a number`},
		{"does not go through what is no object", steps(set("a.b", "1")), `{"a":5}`, `record 100: chain[0].set["a.b"]: cannot set a.b: what leads to it is not an object: it is not an object`},
		{"does not add up nil", steps(set("x", "a + gone")), `{"a":5}`, `record 100: chain[0].set.x: line 1, column 3: invalid operation: int + <nil>`},
	} {
		c.check(t)
	}
}
