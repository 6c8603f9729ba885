package inspect_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/inspect"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/unit"
)

func gz(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func look(t *testing.T, key, content string, m inspect.Metadata) *inspect.Finding {
	t.Helper()
	var b memobject.Bucket
	o := b.Put(key, []byte(content))
	f, err := inspect.Object(t.Context(), &b, o, m, inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.OpenBodies() != 0 {
		t.Errorf("%d bodies are open", b.OpenBodies())
	}
	return f
}

func TestContentIsTold(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	for _, c := range []struct {
		says, key, content string
		meta               inspect.Metadata
		label, is          inspect.Description
		records            []string
		mismatch, problem  string // parts of it
	}{
		{"ndjson", "a.ndjson", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}\n", inspect.Metadata{},
			inspect.Description{"none", "ndjson"}, inspect.Description{"none", "ndjson"}, []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}, "", ""},
		{"gzip by another name", "a.json", gz(t, "{\"a\":1}\n{\"a\":2}\n"), inspect.Metadata{},
			inspect.Description{"none", "json"}, inspect.Description{"gzip", "ndjson"}, []string{`{"a":1}`, `{"a":2}`}, "labelled none, the content is gzip", ""},
		{"gzip by its metadata", "a.json", gz(t, "{\"a\":1}\n"), inspect.Metadata{ContentEncoding: "GZIP"},
			inspect.Description{"gzip", "json"}, inspect.Description{"gzip", "ndjson"}, []string{`{"a":1}`}, "", ""},
		{"plain called gzip", "a.jsonl.gz", "{\"a\":1}\n", inspect.Metadata{},
			inspect.Description{"gzip", "ndjson"}, inspect.Description{"none", "ndjson"}, []string{`{"a":1}`}, "labelled gzip, the content is none", ""},
		{"an array", "a.json", "[{\"a\":1},\n {\"a\":2}]", inspect.Metadata{},
			inspect.Description{"none", "json"}, inspect.Description{"none", "json_array"}, []string{`{"a":1}`, `{"a":2}`}, "", ""},
		{"an array called lines", "a.ndjson", "[{\"a\":1}]", inspect.Metadata{},
			inspect.Description{"none", "ndjson"}, inspect.Description{"none", "json_array"}, []string{`{"a":1}`}, "labelled ndjson, the content looks like json_array", ""},
		{"records in a document", "trail", `{"Records":[{"a":1},{"a":2}]}`, inspect.Metadata{},
			inspect.Description{"none", ""}, inspect.Description{"none", "json_array at Records"}, []string{`{"a":1}`, `{"a":2}`}, "", ""},
		{"one document", "doc.json", "{\n \"a\": 1\n}\n", inspect.Metadata{},
			inspect.Description{"none", "json"}, inspect.Description{"none", "json"}, []string{`{\n "a": 1\n}`}, "", ""},
		{"a table", "t.csv", "a,b\n1,\"x,y\"\n", inspect.Metadata{},
			inspect.Description{"none", "csv"}, inspect.Description{"none", "csv"}, []string{"a,b", `1,"x,y"`}, "", ""},
		{"tabs called commas", "t.csv", "a\tb\n1\t2\n", inspect.Metadata{},
			inspect.Description{"none", "csv"}, inspect.Description{"none", "tsv"}, []string{`a\tb`, `1\t2`}, "format", ""},
		{"text", "x.log", "hello\nworld, you\n", inspect.Metadata{},
			inspect.Description{"none", "lines"}, inspect.Description{"none", "lines"}, []string{"hello", "world, you"}, "", ""},
		{"a type by its metadata", "x", "{\"a\":1}\n", inspect.Metadata{ContentType: "text/csv"},
			inspect.Description{"none", "csv"}, inspect.Description{"none", "ndjson"}, []string{`{"a":1}`}, "labelled csv", ""},
		{"avro", "x.avro", "Obj\x01\x04", inspect.Metadata{},
			inspect.Description{"none", "avro"}, inspect.Description{"none", "avro"}, []string{}, "", ""},
		{"orc called text", "x.log", "ORC\x11\x00\x00\n", inspect.Metadata{},
			inspect.Description{"none", "lines"}, inspect.Description{"none", "orc"}, []string{}, "labelled lines", ""},
		{"bytes of no text", "x.bin", "\x00\x01\x02\x03\x04", inspect.Metadata{},
			inspect.Description{"none", ""}, inspect.Description{"none", "binary"}, []string{}, "", ""},
		{"a codec that is not read", "x.xz", "\xfd7zXZ\x00\x00\x00\x00", inspect.Metadata{},
			inspect.Description{"none", ""}, inspect.Description{}, []string{}, "", "it is xz"},
		{"gzip that breaks off", "x.ndjson.gz", gz(t, "{\"a\":1}\n"+long)[:400], inspect.Metadata{},
			inspect.Description{"gzip", "ndjson"}, inspect.Description{"gzip", "ndjson"}, []string{`{"a":1}`}, "", "gzip"},
		{"nothing", "x.json", "", inspect.Metadata{},
			inspect.Description{"none", "json"}, inspect.Description{}, []string{}, "", "empty"},
		{"nothing, compressed", "x.ndjson.gz", gz(t, ""), inspect.Metadata{},
			inspect.Description{"gzip", "ndjson"}, inspect.Description{"gzip", ""}, []string{}, "", "empty"},
		{"a record without end", "x.log", long, inspect.Metadata{},
			inspect.Description{"none", "lines"}, inspect.Description{"none", "lines"}, []string{}, "", "longer than 1 MiB"},
		{"an array that breaks", "x.json", `[{"a":1},"` + strings.Repeat("a", 70_000) + `"x`, inspect.Metadata{},
			inspect.Description{"none", "json"}, inspect.Description{"none", "json_array"}, []string{`{"a":1}`, `"` + strings.Repeat("a", 199) + "… (69802 more bytes)"}, "", "want a comma or ]"},
		{"bytes that a terminal would obey", "x.log", "a\x1b[2Jb\x7f\xff\u202ec\u00a0é\n", inspect.Metadata{},
			inspect.Description{"none", "lines"}, inspect.Description{"none", "lines"}, []string{`a\x1b[2Jb\x7f\xff\u202ec\u00a0é`}, "", ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			f := look(t, c.key, c.content, c.meta)
			if f.Label != c.label || f.Content != c.is {
				t.Errorf("label %+v, content %+v, want %+v and %+v", f.Label, f.Content, c.label, c.is)
			}
			if d := cmp.Diff(c.records, f.Records); d != "" {
				t.Errorf("records (-want +got):\n%s", d)
			}
			if got := strings.Join(f.Mismatches, ";"); (got == "") != (c.mismatch == "") || !strings.Contains(got, c.mismatch) {
				t.Errorf("mismatches %q, want %q", got, c.mismatch)
			}
			if (f.Problem == "") != (c.problem == "") || !strings.Contains(f.Problem, c.problem) {
				t.Errorf("problem %q, want %q", f.Problem, c.problem)
			}
		})
	}
}

func TestALongRecordIsShortened(t *testing.T) {
	f := look(t, "x", "{\"a\":\""+strings.Repeat("é", 300)+"\"}\n", inspect.Metadata{})
	want := "{\"a\":\"" + strings.Repeat("é", 97) + "… (408 more bytes)"
	if len(f.Records) != 1 || f.Records[0] != want {
		t.Errorf("got %q", f.Records)
	}
}

// Whatever is in an object, what is shown of it is bounded and plain.
func TestNothingThatIsShownCanDoHarm(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const alphabet = "{}[]\",:\n\r\t \x00\x1b\x07\x9b\xe2\x80\xaeabc1"
	for range 500 {
		b := make([]byte, r.IntN(2000))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		f := look(t, "x.ndjson", string(b), inspect.Metadata{})
		if len(f.Records) > 3 {
			t.Fatalf("%d records", len(f.Records))
		}
		for _, s := range append(f.Records, f.Problem) {
			if len(s) > 1000 || strings.ContainsFunc(s, unicode.IsControl) {
				t.Fatalf("of %q: %q", b, s)
			}
		}
	}
}

func TestNoMoreIsReadThanTells(t *testing.T) {
	var b memobject.Bucket
	o := b.Put("x", bytes.Repeat([]byte("{\"a\":1}\n"), 8<<20))
	if _, err := inspect.Object(t.Context(), &b, o, inspect.Metadata{}, inspect.Options{}); err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, r := range b.Requests() {
		n += r.N
	}
	if n > 2<<20 {
		t.Errorf("%d bytes asked for", n)
	}
}

func TestAFaultOfTheStoreIsNoFaultOfTheContent(t *testing.T) {
	var b memobject.Bucket
	o := b.Put("x", []byte(gz(t, "{\"a\":1}\n")))
	b.Hook = func(memobject.Op, string, int64) error {
		return failure.New(failure.Job, failure.Denied, errors.New("not allowed"))
	}
	if f, err := inspect.Object(t.Context(), &b, o, inspect.Metadata{}, inspect.Options{}); !failure.Is(err, failure.Job) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAnObjectThatChangedIsNotMixed(t *testing.T) {
	var b memobject.Bucket
	o := b.Put("x", []byte("one\n"))
	b.Put("x", []byte("two\n"))
	o.Version = ""
	if f, err := inspect.Object(t.Context(), &b, o, inspect.Metadata{}, inspect.Options{}); err == nil {
		t.Errorf("%+v", f)
	}
}

// late learns only at its close that the object has changed.
type late struct{ object.Opener }

func (l late) Pin(o unit.Object) object.Pinned { return lateClose{l.Opener.Pin(o)} }

type lateClose struct{ object.Pinned }

func (l lateClose) Close() error {
	return errors.Join(l.Pinned.Close(), failure.New(failure.Member, failure.ETagDrift, errors.New("changed")))
}

func TestAChangeThatShowsAtTheEndIsHeard(t *testing.T) {
	for _, n := range []int{1, 300_000} {
		var b memobject.Bucket
		o := b.Put("x", bytes.Repeat([]byte("{\"a\":1}\n"), n))
		if f, err := inspect.Object(t.Context(), late{&b}, o, inspect.Metadata{}, inspect.Options{}); err == nil {
			t.Errorf("%+v", f)
		}
	}
}
