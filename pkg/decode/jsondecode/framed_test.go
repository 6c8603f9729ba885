package jsondecode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/spate-go/spate/pkg/frame"
)

// streamed is what encoding/json makes of a stream: its values, or the elements
// of arrays in it, as written.
func streamed(t *testing.T, text []byte, arrays bool) (records []string, ok bool) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var v json.RawMessage
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return records, true
		}
		if err != nil {
			return nil, false
		}
		// The library reads 1-2 as two numbers. Here words need something between
		// them.
		if end := d.InputOffset(); bytes.IndexByte([]byte(`"{[`), v[0]) < 0 && end < int64(len(text)) && bytes.IndexByte([]byte(" \t\r\n[{\""), text[end]) < 0 {
			return nil, false
		}
		if !arrays {
			records = append(records, string(v))
			continue
		}
		var elements []json.RawMessage
		if v[0] != '[' || json.Unmarshal(v, &elements) != nil {
			return nil, false
		}
		for _, e := range elements {
			records = append(records, string(e))
		}
	}
}

// sameRecords fails unless framers and decoder take what encoding/json takes,
// and find the same values in it.
func sameRecords(t *testing.T, text []byte) {
	t.Helper()
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return // the library does not take it
	}
	for name, f := range map[string]frame.Framer{"values": frame.JSON(0), "array": frame.JSONArray(0)} {
		got, ok := framed(f, text)
		want, valid := streamed(t, text, name == "array")
		if ok != valid || ok && !equal(got, want...) {
			t.Fatalf("%s in %q:\n got %v, %q\nwant %v, %q", name, text, ok, got, valid, want)
		}
	}
	var documents []struct{ A struct{ B []json.RawMessage } }
	values, valid := streamed(t, text, false)
	if !valid || bytes.Count(text, []byte(`"a"`)) > len(values) || bytes.ContainsAny(text, `\AB`) {
		return // members twice, or by other names
	}
	var want []string
	for _, v := range values {
		documents = append(documents, struct{ A struct{ B []json.RawMessage } }{})
		d := &documents[len(documents)-1]
		if json.Unmarshal([]byte(v), d) != nil || d.A.B == nil || bytes.Count([]byte(v), []byte(`"b"`)) > 1 {
			return
		}
		for _, e := range d.A.B {
			want = append(want, string(e))
		}
	}
	if got, ok := framed(frame.JSONPath([]string{"a", "b"}, 0), text); !ok || !equal(got, want...) {
		t.Fatalf("path in %q:\n got %v, %q\nwant %q", text, ok, got, want)
	}
}

// streams are texts of several values.
func streams() []string {
	return append(seeds(),
		`{}{}{}`, "{\n\"a\":1}\n[2] 3\"x\"4 null", `[{"a":1},{"b":"]"},[1,[2]],"x",null,1.5] [true]`+"\n[]", `[[],{},""]`, `["\"","\\",{"a":"}\"]"}]`,
		`{"x":{"b":[9]},"a":{"c":1,"b":[1,{"d":"]"},[2]]},"y":"\"}"}`+"\n"+`{"a":{"b":[]}}`, `{"a":{"b":null}}`, `1 2 3`, `1,2`, `[1][2]`, `[1],[2]`,
	)
}

func FuzzFramersAgreeWithTheStandardLibrary(f *testing.F) {
	for _, s := range streams() {
		f.Add([]byte(s))
	}
	for _, v := range verdicts(f) {
		if len(v.text) < 1000 {
			f.Add(v.text)
		}
	}
	f.Fuzz(sameRecords)
}

func TestFramersAgreeOnMutants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := streams()
	for range 8_000 {
		sameRecords(t, mutate(r, all[r.IntN(len(all))]))
	}
}
