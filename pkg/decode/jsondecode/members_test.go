package jsondecode_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// FuzzMembers holds the functions that take objects apart and put them together
// against encoding/json.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b" : [ 1, {"x":"]}"} ] } `, `{"a":{"b":{"c":1}},"a":{"b":2}}`, `{"\u0061":1,"a":{"b":-1.0e5}}`,
		`{"a":null}`, `{"a":{"b":null}}`, `{"a":{"b":7}}`, `{"b":"a\"}","a":{"b":true,"z":[]}}`, `{"":{"":0}}`, `{"é":{"a":1}}`, `[1]`, `[]`, `[ "a,b" , [] ]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if jsondecode.Check(raw) != nil || !utf8.Valid(raw) {
			return
		}
		checkElements(t, raw)
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil || m == nil {
			return
		}
		checkObject(t, raw, m)
		for _, p := range []jsondecode.Path{{"a"}, {"b"}, {"a", "b"}, {"a", "b", "c"}, {""}, {"é", "a"}} {
			checkPath(t, raw, p)
		}
	})
}

func checkElements(t *testing.T, raw []byte) {
	var want []json.RawMessage
	if json.Unmarshal(raw, &want) != nil || want == nil {
		return
	}
	got := jsondecode.AppendElements(nil, raw)
	if len(got) != len(want) {
		t.Fatalf("%s: got %d elements, want %d", raw, len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("%s: element %d is %s, want %s", raw, i, got[i], want[i])
		}
	}
}

func checkObject(t *testing.T, raw []byte, want map[string]json.RawMessage) {
	last := map[string][]byte{}
	var scratch []byte
	for _, m := range jsondecode.AppendMembers(nil, raw) {
		name := string(m.Name(&scratch))
		if !m.Is(name) || m.Is(name+"x") || m.Plain() != (string(m.Key) == `"`+name+`"` && !hasHigh(name)) {
			t.Errorf("%s: key %s, name %q, plain %v", raw, m.Key, name, m.Plain())
		}
		last[name] = m.Value
	}
	if len(last) != len(want) {
		t.Errorf("%s: got %d members, want %d", raw, len(last), len(want))
	}
	for name, v := range want {
		if !bytes.Equal(last[name], v) || !bytes.Equal(jsondecode.Lookup(raw, jsondecode.Path{name}), v) {
			t.Errorf("%s: %q is %s, want %s", raw, name, last[name], v)
		}
	}
}

func hasHigh(s string) bool {
	return bytes.ContainsFunc([]byte(s), func(r rune) bool { return r >= utf8.RuneSelf })
}

func checkPath(t *testing.T, raw []byte, p jsondecode.Path) {
	without := jsondecode.AppendWithout([]byte("x"), raw, p)[1:]
	if jsondecode.Check(without) != nil || jsondecode.Lookup(without, p) != nil {
		t.Errorf("%s without %v is %s", raw, p, without)
	}
	value := []byte(`{"new":[1.10]}`)
	with, err := jsondecode.AppendWith([]byte("x"), raw, p, value)
	if err != nil {
		for i := 1; i < len(p); i++ {
			if v := jsondecode.Lookup(raw, p[:i]); v != nil && v[0] != '{' && v[0] != 'n' {
				return
			}
		}
		t.Errorf("%s with %v: %v", raw, p, err)
		return
	}
	with = with[1:]
	named := 0
	for _, m := range jsondecode.AppendMembers(nil, with) {
		if m.Is(p[0]) {
			named++
		}
	}
	if named != 1 {
		t.Errorf("%s with %v is %s: %d members of that name", raw, p, with, named)
	}
	if jsondecode.Check(with) != nil || !bytes.Equal(jsondecode.Lookup(with, p), value) {
		t.Errorf("%s with %v is %s", raw, p, with)
	}
	if jsondecode.Lookup(raw, p) == nil {
		return
	}
	// Where it was there, nothing but it differs.
	if a, b := generic(t, without), generic(t, jsondecode.AppendWithout(nil, with, p)); !reflect.DeepEqual(a, b) {
		t.Errorf("%s: %v without and with %v differ: %v", raw, a, p, b)
	}
}

func generic(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}
