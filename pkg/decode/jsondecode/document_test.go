package jsondecode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

func paths() []jsondecode.Path {
	return []jsondecode.Path{{"http", "status"}, {"ts"}, {"a"}, {"a", "b"}, {"a", "c"}, {}, {"http"}, {"geo", "lat"}, {"bé"}, {"b", "x"}, {""}, {"missing", "x"}}
}

// lookup finds a path by the standard library.
func lookup(b []byte, p jsondecode.Path) json.RawMessage {
	raw := json.RawMessage(bytes.TrimSpace(b))
	for _, key := range p {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil
		}
		raw = m[key]
	}
	return raw
}

func sameMembers(t *testing.T, b []byte) {
	t.Helper()
	d := jsondecode.Documents(jsondecode.Options{}, paths()...)
	// What the record before left behind must not show.
	var doc jsondecode.Document
	if err := d.Decode([]byte(`{"a":{"b":1,"c":2},"http":{"status":1},"geo":{"lat":1},"b":{"x":1}}`), &doc); err != nil {
		t.Fatal(err)
	}
	err := d.Decode(b, &doc)
	if (err == nil) != json.Valid(b) {
		t.Fatalf("%q: got %v", b, err)
	}
	if err != nil {
		return
	}
	for i, p := range paths() {
		got, want := doc.Raw(i), lookup(b, p)
		if string(got) != string(want) {
			t.Fatalf("%q at %v: got %q, want %q", b, p, got, want)
		}
		if v := jsondecode.Value(got); !reflect.DeepEqual(plain(v), standard(t, want)) {
			t.Fatalf("%q at %v: got %#v, want %#v", b, p, v, standard(t, want))
		}
	}
	if is := bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")); doc.IsObject() != is {
		t.Fatalf("%q: IsObject is %v", b, !is)
	}
}

// standard is the value that encoding/json makes, numbers by their text.
func standard(t *testing.T, raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return plain(v)
}

// plain makes numbers comparable: a json.Number becomes what Value makes of its
// text, so that only the shape is compared here. Numbers have their own test.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return jsondecode.Value([]byte(v))
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for _, k := range slices.Collect(maps.Keys(v)) {
			v[k] = plain(v[k])
		}
	}
	return v
}

func FuzzDocumentAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(sameMembers)
}

func TestDocumentAgreesOnMutants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := seeds()
	for range 8_000 {
		sameMembers(t, mutate(r, all[r.IntN(len(all))]))
	}
}

func TestKeysOfAnyLength(t *testing.T) {
	for n := range 130 {
		p := jsondecode.Path{strings.Repeat("k", n)}
		var doc jsondecode.Document
		err := jsondecode.Documents(jsondecode.Options{}, p).Decode(fmt.Appendf(nil, `{%q:1,%q:2,%q:3}`, p[0]+"k", p[0], "x"+p[0]), &doc)
		if err != nil || string(doc.Raw(0)) != "2" {
			t.Errorf("%d bytes: got %q, %v", n, doc.Raw(0), err)
		}
	}
}

// Short keys are compared as words; that must not make a key of another one.
func TestKeysOfAnyBytes(t *testing.T) {
	text := `{"a":1,"\u0000":2,"":3,"ab":4,"\u0061bc":5,"é":6,"` + "\xff" + `":7,"1234567":8,"12345678":9,"x\"y":10,"\\":11,"A":12}`
	want := map[string]string{
		"a": "1", "\x00": "2", "": "3", "ab": "4", "abc": "5", "é": "6", "\ufffd": "7", "1234567": "8", "12345678": "9", `x"y`: "10", `\`: "11", "A": "12",
		"a\x00": "", "ab\x00": "", "\x00\x00": "", "\xff": "", "\xc3": "", "1234567\x00": "", strings.Repeat("\xff", 8): "",
	}
	// Those that are not there come first, so that they are found first.
	keys := slices.SortedFunc(maps.Keys(want), func(a, b string) int { return strings.Compare(want[a], want[b]) })
	var paths []jsondecode.Path
	for _, k := range keys {
		paths = append(paths, jsondecode.Path{k})
	}
	var doc jsondecode.Document
	if err := jsondecode.Documents(jsondecode.Options{}, paths...).Decode([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		if string(doc.Raw(i)) != want[k] {
			t.Errorf("%q: got %q, want %q", k, doc.Raw(i), want[k])
		}
	}
}

func TestDuplicateKeys(t *testing.T) {
	many := []byte(`{"k":0`) // a square of this would take minutes
	for i := range 50_000 {
		many = fmt.Appendf(many, `,"k%d":0`, i)
	}
	for text, at := range map[string]string{
		`{"a":1,"b":2}`:                   "",
		`{"a":1,"a":1}`:                   "7",
		`{"a":1,"b":2,"\u0061":3}`:        "13",
		`{"a":{"b":1},"c":{"b":2}}`:       "",
		`[{"x":[{"a":1,"b":{},"a":2}]}]`:  "21",
		`{"a":{"b":1,"b":2},"c":3}`:       "12",
		` { "a" : 1 , "a" : 2 } `:         "13",
		`[{"a":1},{"a":2}]`:               "",
		`{"":1,"":2}`:                     "6",
		`{"c":{"z":1,"y":2},"z":1,"y":2}`: "",
		string(many) + `}`:                "",
	} {
		for name, err := range map[string]error{
			"document": jsondecode.Documents(jsondecode.Options{DisallowDuplicateKeys: true}).Decode([]byte(text), new(jsondecode.Document)),
			"typed":    jsondecode.Typed[any](jsondecode.Options{DisallowDuplicateKeys: true}).Decode([]byte(text), new(any)),
		} {
			switch {
			case at == "" && err != nil:
				t.Errorf("%s of %.80s: got %v", name, text, err)
			case at != "" && (err == nil || !strings.Contains(err.Error(), "duplicate key at offset "+at+",")):
				t.Errorf("%s of %.80s: got %v, want offset %s", name, text, err, at)
			}
		}
		if err := jsondecode.Documents(jsondecode.Options{}).Decode([]byte(text), new(jsondecode.Document)); err != nil {
			t.Errorf("allowed, %.80s: got %v", text, err)
		}
	}
}

func TestDocumentsAllocateNothing(t *testing.T) {
	d, text := jsondecode.Documents(jsondecode.Options{DisallowDuplicateKeys: true}, paths()...), []byte(accessLog)
	var doc jsondecode.Document
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Decode(text, &doc); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDocument(b *testing.B) {
	d := jsondecode.Documents(jsondecode.Options{}, jsondecode.Path{"http", "status"}, jsondecode.Path{"ts"}, jsondecode.Path{"id"}, jsondecode.Path{"service"}, jsondecode.Path{"http", "path"})
	text := []byte(accessLog)
	var doc jsondecode.Document
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(text, &doc); err != nil {
			b.Fatal(err)
		}
	}
}
