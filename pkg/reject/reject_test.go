package reject_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/reject"
)

// content is what a line stands for; nil where it has none.
func content(t *testing.T, line []byte) []byte {
	t.Helper()
	b := bytes.Clone(line)
	start, end, ok, err := reject.Content(b)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if !ok {
		return nil
	}
	return b[start:end:end]
}

// holds checks all that is promised of the line of l.
func holds(t *testing.T, l reject.Line) {
	t.Helper()
	line := reject.Append([]byte("before"), l)
	line, ok := bytes.CutPrefix(line, []byte("before"))
	if !ok || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
		t.Fatalf("not one line appended: %q", line)
	}
	if !utf8.Valid(line) {
		t.Fatalf("not UTF-8: %q", line)
	}
	if got := content(t, line); !bytes.Equal(got, l.Bytes) || (got == nil) != (l.Bytes == nil) {
		t.Fatalf("%q came back as %q from %s", l.Bytes, got, line)
	}
	var read struct {
		Key, ETag, Version string
		Record, Offset     int64
		Reason             failure.Reason
		Detail             string
		Bytes              *string
		Base64             *string `json:"bytes_base64"`
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	valid := func(s string) string { return string([]rune(s)) }
	if read.Key != valid(l.Key) || read.ETag != valid(l.ETag) || read.Version != valid(l.Version) || read.Record != l.Record ||
		read.Offset != l.Offset || string(read.Reason) != valid(string(l.Reason)) || read.Detail != valid(l.Detail) {
		t.Fatalf("%+v came back as %+v", l, read)
	}
	if read.Bytes != nil && (read.Base64 != nil || *read.Bytes != string(l.Bytes)) {
		t.Fatalf("bytes of %s", line)
	}
	if read.Base64 != nil && *read.Base64 != base64.StdEncoding.EncodeToString(l.Bytes) {
		t.Fatalf("bytes_base64 of %s", line)
	}
	meta := len(reject.Append(nil, reject.Line{Key: l.Key, ETag: l.ETag, Version: l.Version, Record: l.Record, Offset: l.Offset, Reason: l.Reason, Detail: l.Detail}))
	if grown := len(line) - meta - len(`,"bytes_base64":""`); grown > max(reject.MaxGrowth*len(l.Bytes), 4) {
		t.Fatalf("%d bytes take %d", len(l.Bytes), grown)
	}
	// Whoever repairs the file may write it otherwise.
	indented := new(bytes.Buffer)
	if err := json.Indent(indented, line, "\r", "\t "); err != nil {
		t.Fatal(err)
	}
	if got := content(t, indented.Bytes()); !bytes.Equal(got, l.Bytes) {
		t.Fatalf("%q came back as %q from %s", l.Bytes, got, indented)
	}
	var again map[string]any
	if err := json.Unmarshal(line, &again); err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(again) // keys sorted, HTML and U+2028 escaped
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, other); !bytes.Equal(got, l.Bytes) {
		t.Fatalf("%q came back as %q from %s", l.Bytes, got, other)
	}
}

func TestLinesGiveBackWhatTheyWereGiven(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	text := func() string {
		parts := []string{"", "a", `"`, `\`, `\u0041`, "\n", "\r\n", "\t", "\x00", "\x1f", "\x7f", "é", "\u2028", "😀", "\ufffd", "\ufeff", "</b>", "\xff", "\xed\xa0\x80", `{"a":1}`, strings.Repeat("\x01", 9)}
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString(parts[r.IntN(len(parts)-4*r.IntN(2))])
		}
		return b.String()
	}
	for range 5_000 {
		l := reject.Line{
			Key: text(), ETag: text(), Version: text(), Record: r.Int64() - r.Int64(), Offset: r.Int64(),
			Reason: failure.Reason(text()), Detail: text(), Bytes: []byte(text()),
		}
		switch r.IntN(8) {
		case 0:
			l.Bytes = nil
		case 1:
			l.Bytes = bytes.Repeat([]byte{0xff, 0, 7}, r.IntN(2_000))
		}
		holds(t, l)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("logs/a.gz", "undecodable", []byte("{\"a\":\xff}"))
	f.Add("k", "d", []byte{})
	f.Fuzz(func(t *testing.T, key, detail string, b []byte) {
		holds(t, reject.Line{Key: key, Detail: detail, Bytes: b, Record: 7})
	})
}

func TestAppend(t *testing.T) {
	l := reject.Line{Key: "a/b.gz", ETag: `"9b"`, Version: "v1", Record: 3, Offset: 99, Reason: failure.Undecodable, Detail: "decode json: x", Bytes: []byte("a\"\n\u00e9")}
	want := `{"key":"a/b.gz","etag":"\"9b\"","version":"v1","record":3,"offset":99,"reason":"undecodable","detail":"decode json: x","bytes":"a\"\né"}` + "\n"
	if got := reject.Append(nil, l); string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for name, c := range map[string]struct{ bytes, want string }{
		"what is not UTF-8 stands as base64":           {"\xff\xfe", `,"bytes_base64":"//4="}`},
		"so does what would more than double":          {strings.Repeat("\x01", 3), `,"bytes_base64":"AQEB"}`},
		"what doubles at most is text":                 {`""""`, `,"bytes":"\"\"\"\""}`},
		"a record of nothing is one":                   {"", `,"bytes":""}`},
		"DEL and U+2028 are characters like any other": {"\x7f\u2028", `,"bytes":"` + "\x7f\u2028" + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.TrimSpace(string(reject.Append(nil, reject.Line{Bytes: []byte(c.bytes)})))
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("got %s, want %s at its end", got, c.want)
			}
		})
	}
}

func TestContent(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"any order and white space":                   {"\t{ \"x\" : [ {\"bytes\":1}, \"]\" ] ,\"bytes\" :\r\"a\" , \"y\":-1.5e3}\r", "a"},
		"every escape":                                {`{"bytes":"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00"}`, "\"\\/\b\f\n\r\tAé€😀"},
		"half a pair":                                 {`{"bytes":"\ud83dx\ude00\ud83d\u0041"}`, "\ufffdx\ufffd\ufffdA"},
		"bytes that are not UTF-8":                    {"{\"bytes\":\"\xff\"}", "\xff"},
		"a key with escapes":                          {`{"\u0062ytes":"a"}`, "a"},
		"base64 with escaped slashes":                 {`{"bytes_base64":"\/\/4="}`, "\xff\xfe"},
		"base64 of several pieces":                    {`{"bytes_base64":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("xyz\x00"), 700)) + `"}`, strings.Repeat("xyz\x00", 700)},
		"no content":                                  {`{"key":"a","bytes2":"x"}`, ""},
		"an empty object":                             {` { } `, ""},
		"a member bytes further down is none of ours": {`{"a":{"bytes":"x"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := content(t, []byte(c.line)); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ line, want string }{
		"no object":                   {`[1]`, "it is not one JSON object"},
		"nothing":                     {``, "it is not one JSON object"},
		"an end too early":            {`{"bytes":"a"`, "it is not one JSON object"},
		"a string without end":        {`{"bytes":"a\"}`, "it is not one JSON object"},
		"more behind it":              {`{"bytes":"a"}{}`, "it is not one JSON object"},
		"a comma too many":            {`{"bytes":"a",}`, "it is not one JSON object"},
		"a brace too many":            {`{"a":1,}"bytes":"a"}`, "it is not one JSON object"},
		"a byte that is no value's":   {"{\"a\":1\x01,\"bytes\":\"a\"}", "it is not one JSON object"},
		"a comma missing":             {`{"a":1"bytes":"a"}`, "it is not one JSON object"},
		"a colon missing":             {`{"bytes" "a"}`, "it is not one JSON object"},
		"a value missing":             {`{"a":,"bytes":"a"}`, "it is not one JSON object"},
		"a bracket missing":           {`{"a":[1,"bytes":"a"}`, "it is not one JSON object"},
		"brackets the wrong way":      {`{"a":][1,"bytes":"a"}`, "it is not one JSON object"},
		"a record that is no string":  {`{"bytes":{"a":1}}`, "bytes is not a string"},
		"a null":                      {`{"bytes_base64":null}`, "bytes_base64 is not a string"},
		"an escape that JSON has not": {`{"bytes":"\x"}`, "bytes cannot be decoded"},
		"half an escape":              {`{"bytes":"\u00"}`, "bytes cannot be decoded"},
		"what is no base64":           {`{"bytes_base64":"a"}`, "bytes_base64 cannot be decoded"},
		"padding in the middle":       {`{"bytes_base64":"` + strings.Repeat("A", 1022) + `==AAAA"}`, "bytes_base64 cannot be decoded"},
		"two records":                 {`{"bytes":"a","bytes_base64":"YQ=="}`, "it holds the record twice: keep one of bytes and bytes_base64"},
		"one record twice":            {`{"bytes":"a","bytes":"a"}`, "it holds the record twice: keep one of bytes and bytes_base64"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, _, err := reject.Content([]byte(c.line)); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Whatever a line is, its content is inside it, and a JSON parser that takes the
// line finds the same there.
func FuzzContent(f *testing.F) {
	for _, s := range []string{`{"bytes":"a\n"}`, `{"bytes_base64":"//4="}`, `{"a":[{}],"bytes":"\ud83d\ude00"}`, `{"bytes":"a"`, `{}`, `{"bytes":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		b := bytes.Clone(line)
		start, end, ok, err := reject.Content(b)
		if start < 0 || end < start || end > len(b) {
			t.Fatalf("%q: [%d:%d]", line, start, end)
		}
		var m struct {
			Bytes  *string `json:"bytes"`
			Base64 *[]byte `json:"bytes_base64"`
		}
		if json.Unmarshal(line, &m) != nil || err != nil || !utf8.Valid(line) || bytes.Contains(bytes.ToLower(line), []byte(`\u`)) {
			return // encoding/json also matches keys in other cases, and by escapes
		}
		if bytes.Count(bytes.ToLower(line), []byte("bytes")) > 1 || !bytes.Contains(line, []byte("bytes")) {
			return
		}
		switch {
		case m.Bytes != nil && (!ok || string(b[start:end]) != *m.Bytes):
			t.Fatalf("%q: got %q", line, b[start:end])
		case m.Base64 != nil && (!ok || !bytes.Equal(b[start:end], *m.Base64)):
			t.Fatalf("%q: got %q", line, b[start:end])
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	line := reject.Append(nil, reject.Line{Key: "k", Bytes: []byte("a\n\"b\"")})
	dst, b := make([]byte, 0, 1024), make([]byte, len(line))
	if n := testing.AllocsPerRun(100, func() {
		dst = reject.Append(dst[:0], reject.Line{Key: "k", Bytes: []byte("a\n\"b\"")})
		copy(b, line)
		if _, _, ok, err := reject.Content(b); !ok || err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the literal's bytes
		t.Errorf("%v allocations", n)
	}
}

func TestAnUnknownOffsetIsLeftOut(t *testing.T) {
	l := reject.Line{Key: "a", Record: 3, Offset: -1, Reason: failure.SinkRejected, Detail: "x", Bytes: []byte("{}")}
	if line := string(reject.Append(nil, l)); strings.Contains(line, "offset") {
		t.Error(line)
	}
	if l.Offset = 0; !strings.Contains(string(reject.Append(nil, l)), `"offset":0,`) {
		t.Errorf("%s has none", reject.Append(nil, l))
	}
}

func TestDetailsAreCutToWhatALineHolds(t *testing.T) {
	if got := reject.Detail("short"); got != "short" {
		t.Errorf("%q", got)
	}
	long := reject.Detail("x" + strings.Repeat("é", 1000))
	if len(long) > 1100 || !utf8.ValidString(long) || !strings.HasSuffix(long, "é…") {
		t.Errorf("%d bytes, %q", len(long), long[len(long)-10:])
	}
}
