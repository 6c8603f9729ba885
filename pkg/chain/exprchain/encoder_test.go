package exprchain_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/chain/exprchain"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// pipes is an encoder whose rows are the values with | between, and - for those
// that are absent. It refuses a value that is the text bad.
type pipes []string

func (p pipes) Columns() []string { return p }

func (p pipes) Append(dst []byte, values [][]byte) ([]byte, error) {
	for i, v := range values {
		switch {
		case string(v) == `"bad"`:
			return dst, errors.New("column " + p[i] + " cannot be bad")
		case v == nil:
			v = []byte("-")
		}
		if i > 0 {
			dst = append(dst, '|')
		}
		dst = append(dst, v...)
	}
	return dst, nil
}

// rows runs lines through a chain and returns the rows of its sinks.
func rows(t *testing.T, steps []exprchain.Step, o exprchain.Options, lines ...string) ([][]string, *chain.Output) {
	t.Helper()
	c, err := exprchain.Compile(steps, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &chain.Batch{Object: &unit.Object{Key: "year=2026/a\"b", Size: 5}, First: 3}
	for _, l := range lines {
		start := len(b.Buf)
		b.Buf = append(append(b.Buf, l...), '\n')
		b.Frames = append(b.Frames, record.Frame{Start: start, End: start + len(l), Next: len(b.Buf)})
	}
	out := &chain.Output{Sinks: make([]chain.Rows, max(len(o.Sinks), 1)), Rejects: new(chain.Rows)}
	if err := c().Process(b, out); err != nil {
		t.Fatal(err)
	}
	all := make([][]string, len(out.Sinks))
	for i, s := range out.Sinks {
		from := 0
		for _, end := range s.Ends {
			all[i], from = append(all[i], string(s.Data[from:end])), end
		}
	}
	return all, out
}

func TestARowIsMadeOfTheColumnsMembers(t *testing.T) {
	const line = ` {"a": 1 ,"b":{"c":[1, 2],"d":null},"x":"y","a":2, "odd key":3,"object":4}`
	paths := pipes{"a", "b.c", "b.d", "b.e", "x.z", "missing", `["odd key"]`, "object.key", `object.partition["year"]`, "object.etag", "record.index", "record.offset", "this.object"}
	const want = `2|[1, 2]|null|-|-|-|3|"year=2026/a\"b"|"2026"|null|3|0|4`
	edit := exprchain.Step{Set: []exprchain.Pair{{Name: "new", Value: "a + 1"}}}
	for _, c := range []struct {
		name  string
		steps []exprchain.Step
		paths pipes
		want  string
	}{
		{"as it came", nil, paths, want},
		{"behind a filter", []exprchain.Step{{Filter: "a == 2"}}, paths, want},
		{"once it was edited", []exprchain.Step{edit}, append(slices.Clone(paths), "new"), want + "|3"},
		{"behind a select, whose nulls of nothing are absent", []exprchain.Step{{Select: []string{"p: b.d", "a", "q: nothing", "k: object.key", "b"}}},
			pipes{"a", "p", "q", "x", "b.c", "k"}, `2|null|-|-|[1, 2]|"year=2026/a\"b"`},
		{"behind a select and a set", []exprchain.Step{{Select: []string{"p: b.d", "a", "q: nothing"}}, {Set: []exprchain.Pair{{Name: "r", Value: "nil"}, {Name: "s", Value: "q"}}}},
			pipes{"a", "p", "q", "x", "r", "s"}, `2|null|-|-|null|-`},
		{"and the record itself", nil, pipes{"this"}, strings.TrimSpace(line)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, out := rows(t, c.steps, exprchain.Options{Encoders: []exprchain.Encoder{c.paths}}, line)
			if len(got[0]) != 1 || got[0][0] != c.want || out.Counts.Out != 1 {
				t.Errorf("rows %q, want %q", got[0], c.want)
			}
		})
	}
}

func TestMembersMayStandInAnyOrder(t *testing.T) {
	steps := []exprchain.Step{{Drop: []string{"z"}}}
	got, _ := rows(t, steps, exprchain.Options{Encoders: []exprchain.Encoder{pipes{"a", "b"}}},
		`{"a":1,"b":2}`, `{"b":3,"a":4}`, `{"z":0,"a":5}`, `{"b":6}`, `{}`, `{"\u0061":7}`)
	if want := []string{"1|2", "4|3", "5|-", "-|6", "-|-", "7|-"}; !slices.Equal(got[0], want) {
		t.Errorf("rows %q, want %q", got[0], want)
	}
}

func TestEverySinkHasRowsOfItsOwn(t *testing.T) {
	o := exprchain.Options{Sinks: []string{"json", "one", "two"}, Encoders: []exprchain.Encoder{nil, pipes{"a"}, pipes{"b", "a"}}}
	got, out := rows(t, nil, o, `{"a":1,"b":2}`, `{"a":3}`)
	want := [][]string{{"{\"a\":1,\"b\":2}\n", "{\"a\":3}\n"}, {"1", "3"}, {"2|1", "-|3"}}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("sink %s: rows %q, want %q", o.Sinks[i], got[i], want[i])
		}
	}
	if out.Counts.Out != 2 {
		t.Errorf("%d rows out", out.Counts.Out)
	}
	steps := []exprchain.Step{{Route: []exprchain.Route{{To: "one", When: "a == 1"}, {To: "two", When: "a == 2"}, {To: "json"}}}}
	got, _ = rows(t, steps, o, `{"a":1}`, `{"a":2}`, `{"a":3}`)
	want = [][]string{{"{\"a\":3}\n"}, {"1"}, {"-|2"}}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("sink %s: rows %q, want %q", o.Sinks[i], got[i], want[i])
		}
	}
}

func TestAValueThatDoesNotFitRejectsItsRecord(t *testing.T) {
	o := exprchain.Options{Sinks: []string{"json", "one"}, Encoders: []exprchain.Encoder{nil, pipes{"a"}}}
	got, out := rows(t, nil, o, `{"a":1}`, `{"a":"bad"}`, `[1]`, `{"a":2}`)
	if !slices.Equal(got[1], []string{"1", "2"}) || len(got[0]) != 2 || out.Counts.Rejected != 2 {
		t.Errorf("rows %q, %d rejected", got, out.Counts.Rejected)
	}
	for _, want := range []string{`"reason":"operator"`, "column a cannot be bad", "not an object"} {
		if !strings.Contains(string(out.Rejects.Data), want) {
			t.Errorf("rejects %s: want %s", out.Rejects.Data, want)
		}
	}
}

func TestAPathThatIsNoneIsAnErrorOfTheConfiguration(t *testing.T) {
	for path, want := range map[string]string{"a b": "odd key", "": "keys", "object.nothing": "not known", "object": "not a value", "record.x": "not known", "a[0]": "quotes"} {
		_, err := exprchain.Compile(nil, exprchain.Options{Encoders: []exprchain.Encoder{pipes{path}}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sink default") {
			t.Errorf("%q: %v: want %q", path, err, want)
		}
	}
	_, err := exprchain.Compile([]exprchain.Step{{Select: []string{"a"}}}, exprchain.Options{Encoders: []exprchain.Encoder{pipes{"this"}}})
	if err == nil {
		t.Error("the whole record behind a select")
	}
}

func TestAMemberOfAnyNameHasAPath(t *testing.T) {
	names := []string{"a", "object", "record", "this", "odd key", "x:y", "", "n.a", "größe", `q"uote`, "a[0]", "object.a"}
	for _, name := range names {
		path := exprchain.MemberPath(name)
		line := map[string]string{"n.a": `{"n":{"a":5}}`, "object.a": `{"object":{"a":5}}`, `q"uote`: `{"q\"uote":5}`}[name]
		if line == "" {
			line = `{"` + name + `":5}`
		}
		got, _ := rows(t, nil, exprchain.Options{Encoders: []exprchain.Encoder{pipes{path}}}, line)
		if got[0][0] != "5" {
			t.Errorf("%q: path %s finds %s", name, path, got[0][0])
		}
	}
}

func TestValuesOfTheObjectTakeNoMemoryPerRecord(t *testing.T) {
	c, err := exprchain.Compile(nil, exprchain.Options{Encoders: []exprchain.Encoder{pipes{"object.key", "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	b := &chain.Batch{Object: &unit.Object{Key: strings.Repeat("k", 1000)}, Buf: []byte(`{"a":1}`)}
	for range 1000 {
		b.Frames = append(b.Frames, record.Frame{End: len(b.Buf)})
	}
	w, out := c(), &chain.Output{Sinks: make([]chain.Rows, 1)}
	process := func() {
		out.Sinks[0].Reset()
		if err := w.Process(b, out); err != nil {
			t.Fatal(err)
		}
	}
	process()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		process()
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("100,000 records took %d bytes", n)
	}
}
