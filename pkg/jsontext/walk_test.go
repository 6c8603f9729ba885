package jsontext_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode/decodetest"
	"github.com/spate-go/spate/pkg/jsontext"
)

func texts() []string {
	return []string{
		`{}`, `[]`, " { } ", "\t[\r\n] ", `{"a":1,"b":[1,{"x":"]}"}]}`, ` { "a" : 1 , "a" : [ 1 , { "x" : "]}" } ] } `, `[ "a,b" , [] , {}, null,true,-1.5e+3 ]`,
		`{"":{"":0},"a long name of a member":"and a text that is longer than a word \\"}`, `["\"","\\","\\\"","1234567\"","1234567\\","12345678\\\\","","[{"]`,
		`[[[[{"a":[[]]}]]],"é",{"\u0061":"\ud83d\ude00"}]`,
	}
}

func TestWalksFindWhatEncodingJSONFinds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	of, fragments := texts(), append(pieces(), "{", "}", "[", "]", ",", ":", " ", "1", "null", `"k":`, `{"a":1}`, `["b",2]`)
	for _, s := range of {
		checkWalk(t, []byte(s))
	}
	for range 50_000 {
		checkWalk(t, decodetest.Mutate(r, of[r.IntN(len(of))], fragments))
	}
}

func FuzzWalk(f *testing.F) {
	for _, s := range texts() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkWalk(t, text) })
}

func checkWalk(t *testing.T, text []byte) {
	t.Helper()
	for _, open := range []byte("{[") {
		found, around, ok := walk(t, text, open)
		want, valid := standard(text, open)
		if valid && (!ok || !bytes.Equal(bytes.Join(found, []byte("\n")), bytes.Join(want, []byte("\n")))) {
			t.Errorf("%q: found %q, %v, want %q", text, found, ok, want)
		}
		if ok && (around[0] != open || !json.Valid(around)) {
			t.Errorf("%q: found %q, and no fault around them", text, found)
		}
	}
}

// walk is what a walk finds, keys and values in turn, and what is around them: the
// text up to the walk's end with 0 for each value and "" for each key.
func walk(t *testing.T, text []byte, open byte) (found [][]byte, around []byte, ok bool) {
	t.Helper()
	w, end := jsontext.Walk(text), 0
	next := func() (key, value []byte) { return nil, w.Element() }
	if open == '{' {
		next = w.Member
	}
	for key, value := next(); value != nil; key, value = next() {
		at := w.Offset() - len(value)
		if at < end || !bytes.Equal(text[at:w.Offset()], value) || cap(key) > len(key) || cap(value) > len(value) {
			t.Fatalf("%q: %q is not at %d", text, value, at)
		}
		before := text[end:at]
		if key != nil {
			found, before = append(found, key), bytes.Replace(before, key, []byte(`""`), 1)
		}
		found, around, end = append(found, value), append(append(around, before...), '0'), w.Offset()
	}
	bad := w.Bad()
	if key, value := next(); key != nil || value != nil || w.Bad() != bad {
		t.Fatalf("%q: %q and %q after the end", text, key, value)
	}
	if bad {
		return found, nil, false
	}
	around = append(around, text[end:w.Offset()+1]...)
	return found, bytes.TrimLeft(around, " \t\r\n"), true
}

// standard is what encoding/json finds, or false if text is not one value that
// open opens.
func standard(text []byte, open byte) (found [][]byte, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); !json.Valid(text) || err != nil || first != json.Delim(open) {
		return nil, false
	}
	for d.More() {
		if from := d.InputOffset(); open == '{' {
			_, _ = d.Token() // the key as it is meant
			key := text[from:d.InputOffset()]
			found = append(found, key[bytes.IndexByte(key, '"'):])
		}
		var value json.RawMessage
		_ = d.Decode(&value)
		found = append(found, value)
	}
	return found, true
}

func TestAWalkEndsAtAFault(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "space": " ", "no bracket": `"a":1}`, "the other bracket": `["a":1]`, "cut before a key": `{`, "cut in a key": `{"a`,
		"cut before a colon": `{"a"`, "cut before a value": `{"a":`, "cut in a value": `{"a":[1`, "cut after a value": `{"a":1`, "cut after a comma": `{"a":1,`,
		"a key that is none": `{a:1}`, "a number for a key": `{1:1}`, "half a key": `{a":1}`, "no colon": `{"a" 1}`, "no value": `{"a":}`, "no comma": `{"a":1 "b":2}`,
		"two commas": `{"a":1,,"b":2}`, "a comma first": `{,"a":1}`, "a comma last": `{"a":1,}`, "a string for a comma": `{"a":1"b"}`,
		"a second value": `{"a":1{}`, "a second colon": `{"a":1:2}`, "a bracket of the other kind": `{"a":1]`, "an escape of the last quote": `{"a":"\"}`,
		"space that JSON does not have": "{\v\"a\":1}",
		"an array without a value":      `[,1]`, "an array with a comma last": `[1,]`, "an array with a brace": `[1}`, "an array cut": `[`, "an array cut after a comma": `[1, `,
	} {
		t.Run(name, func(t *testing.T) {
			open := byte('{')
			if strings.Contains(name, "array") {
				open = '['
			}
			if found, _, ok := walk(t, []byte(text), open); ok {
				t.Errorf("%s: found %q", text, found)
			}
		})
	}
}

func TestAWalkDoesNotLookIntoValues(t *testing.T) {
	for text, want := range map[string]string{
		`[tru,01,"\x",{"a"},[1 2]]`: `tru 01 "\x" {"a"} [1 2]`,
		"[\"a\nb\"] behind":         "\"a\nb\"",
		`[[}]`:                      `[}`,
	} {
		if found, _, ok := walk(t, []byte(text), '['); !ok || string(bytes.Join(found, []byte(" "))) != want {
			t.Errorf("%s: found %q, %v", text, found, ok)
		}
	}
}
