package config_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/config"
)

type tree struct {
	Name  string                    `yaml:"name"`
	Count int                       `yaml:"count"`
	Map   map[string]string         `yaml:"map"`
	Chain []map[string]string       `yaml:"chain"`
	Deep  map[string]map[string]int `yaml:"deep"`
	List  []int                     `yaml:"list"`
}

const before = "name: old\ncount: 1\nmap: {a: b}\nchain: [{filter: x}, {filter: y}]\nlist: [1, 2, 3]\n"

func TestSet(t *testing.T) {
	for _, tc := range []struct {
		name, path, value string
		want              func(*tree)
	}{
		{"replaces a text", "name", "new", func(w *tree) { w.Name = "new" }},
		{"replaces a number", "count", "7", func(w *tree) { w.Count = 7 }},
		{"takes an empty text", "name", "", func(w *tree) { w.Name = "" }},
		{"adds a key", "map.c", "d", func(w *tree) { w.Map["c"] = "d" }},
		{"adds a key that needs quotes", `map["c.d"]`, "e", func(w *tree) { w.Map["c.d"] = "e" }},
		{"makes the mappings on the way", "deep.a.b", "5", func(w *tree) { w.Deep = map[string]map[string]int{"a": {"b": 5}} }},
		{"replaces an item", "list[1]", "9", func(w *tree) { w.List = []int{1, 9, 3} }},
		{"appends an item", "list[3]", "4", func(w *tree) { w.List = []int{1, 2, 3, 4} }},
		{"reaches into an item", "chain[0].filter", "z", func(w *tree) { w.Chain[0]["filter"] = "z" }},
		{"appends a mapping", "chain[2].drop", "z", func(w *tree) { w.Chain = append(w.Chain, map[string]string{"drop": "z"}) }},
		{"replaces a mapping whole", "map", "{x: y}", func(w *tree) { w.Map = map[string]string{"x": "y"} }},
		{"replaces a list whole", "list", "[]", func(w *tree) { w.List = []int{} }},
		{"takes a value away", "map", "null", func(w *tree) { w.Map = nil }},
		{"takes a quoted value", "name", `"null"`, func(w *tree) { w.Name = "null" }},
		{"takes a single-quoted value", "name", `'it''s'`, func(w *tree) { w.Name = "it's" }},
		{"takes an expression as it is", "name", `"GET" == method ? a : b # c`, func(w *tree) { w.Name = `"GET" == method ? a : b # c` }},
		{"takes punctuation as it is", "name", `a: b, *c &d !e | f #g`, func(w *tree) { w.Name = `a: b, *c &d !e | f #g` }},
		{"takes no variable", "name", "${SECRET} $$", func(w *tree) { w.Name = "${SECRET} $$" }},
		{"takes no variable in YAML either", "map", "{a: '${SECRET} $$'}", func(w *tree) { w.Map = map[string]string{"a": "${SECRET} $$"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc, err := config.Parse("f.yaml", []byte(before), env)
			if err != nil {
				t.Fatal(err)
			}
			var got, want tree
			if err := doc.Decode(&want); err != nil {
				t.Fatal(err)
			}
			tc.want(&want)
			if err := doc.Set(tc.path, tc.value); err != nil {
				t.Fatal(err)
			}
			if err := doc.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tc := range []struct{ name, path, value, want string }{
		{"a path through a scalar", "name.x", "1", "--set: name: holds a single value: the path cannot lead through it"},
		{"an index into a mapping", "map[0]", "1", "--set: map: is a mapping: name a key, not the index 0"},
		{"a key of a list", "list.x", "1", "--set: list: is a list of 3: give an index, as in list[0]"},
		{"an index beyond the end", "list[5]", "1", "--set: list[5]: the list has 3 items: the next index is 3"},
		{"an index beyond the end of a new list", "new.list[1].a", "1", "--set: new.list[1]: the list has 0 items: the next index is 0"},
		{"broken YAML", "map", "{a: ", `--set: map: "{a: " is not valid YAML: quote it as a whole if it is text`},
		{"a key given twice", "map", "{a: 1, a: 2}", "--set: map.a: given twice, the first time in line 1"},
		{"an alias", "map", "{a: *b}", `--set: map: "{a: *b}" is not valid YAML: quote it as a whole if it is text`},
		{"an empty path", "", "1", `--set: "": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"an empty key", "a..b", "1", `--set: "a..b": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"a leading dot", ".a", "1", `--set: ".a": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"a trailing dot", "a.", "1", `--set: "a.": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"a negative index", "list[-1]", "1", `--set: "list[-1]": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"an open bracket", "list[1", "1", `--set: "list[1": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"a key glued to a bracket", "list[1]x", "1", `--set: "list[1]x": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
		{"an open quote", `a["b`, "1", `--set: "a[\"b": a path looks like source.s3.url, chain[0].filter or settings["a.b"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc, err := config.Parse("f.yaml", []byte(before), env)
			if err != nil {
				t.Fatal(err)
			}
			var was, is tree
			_ = doc.Decode(&was)
			err = doc.Set(tc.path, tc.value)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if _, ok := errors.AsType[*config.Error](err); !ok {
				t.Errorf("%T is no *Error", err)
			}
			if err := doc.Decode(&is); err != nil || !cmp.Equal(was, is) {
				t.Errorf("the document changed (%v): %s", err, cmp.Diff(was, is))
			}
		})
	}
}

// The path of an error can be given to Set, whatever the key.
func TestPathsReadBack(t *testing.T) {
	for _, key := range []string{"a", "a.b", "a[0]", "[0]", "a b", `q"q`, `b\b`, "é", "a=b", "0", "-", ".", "a\tb", "]"} {
		text := "map: {" + strconv.Quote(key) + ": [1]}"
		doc, err := config.Parse("f.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got tree
		e, ok := errors.AsType[*config.Error](doc.Decode(&got))
		if !ok {
			t.Fatalf("%s was taken", text)
		}
		if err := doc.Set(e.Path, "v"); err != nil {
			t.Errorf("%q: %v", key, err)
		}
		if err := doc.Decode(&got); err != nil || got.Map[key] != "v" || len(got.Map) != 1 {
			t.Errorf("%q stands at %s, which Set takes for %v (%v)", key, e.Path, got.Map, err)
		}
	}
}

func TestAComplaintAboutASetValueNamesTheFlag(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte(before), nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, value := range map[string]string{"count": "many", "nmae": "x", "list": "[a]"} {
		if err := doc.Set(path, value); err != nil {
			t.Fatal(err)
		}
	}
	if got := doc.Errorf("count", "bad").Error(); got != "--set: count: bad" {
		t.Error(got)
	}
	var got tree
	want := "--set: nmae: unknown key, did you mean name?\n--set: count: \"many\" is not a whole number\n--set: list[0]: \"a\" is not a whole number"
	if err := doc.Decode(&got); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
