package sample_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/sample"
)

var march = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func make1(t *testing.T, o sample.Object) ([]byte, sample.Totals) {
	t.Helper()
	var b bytes.Buffer
	n, err := o.Write(&b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), n
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Numbers that were measured on generated data are comparable for as long as
// these hold. Those of compressed objects may change with the library.
func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	for _, c := range []struct {
		says string
		o    sample.Object
		want string
	}{
		{"ndjson", sample.Object{Seed: 7, From: march.Add(7 * time.Hour), Size: 1 << 20}, "bfec5d98b0be224898f81099ab503b98b224057380f5ba262ec3c1d5a49f24a3"},
		{"another seed", sample.Object{From: march, Size: 1 << 20}, "1d3df617400bf9e67a8b48b1425f09f46802f93b74b55ba5f671cdb55750210b"},
		{"json-array", sample.Object{Format: sample.JSONArray, Seed: 7, From: march, Size: 1 << 16}, "c0dcd04cc654e8f05e2f78fd183d11e27cb7c529a94f9da8ccd5edab6022f2a7"},
		{"csv", sample.Object{Format: sample.CSV, Seed: 7, From: march, Size: 1 << 16}, "fd89afef9a936b49c70c56ed2cbd87d18e83fa81b7b21bdcbb2a8a9b913e5dab"},
		{"gzip", sample.Object{Compression: sample.Gzip, Seed: 7, From: march, Size: 1 << 16}, "38277645c21ded426f026ddb157ebf65b5eb2ea2d49744835ded33ded85d8276"},
		{"zstd", sample.Object{Compression: sample.Zstd, Seed: 7, From: march, Size: 1 << 16}, "8271497d98ee65e22ac7ef888c4de5c8c4a4d85efea7d8588b9f8c2d0b1986f1"},
	} {
		t.Run(c.says, func(t *testing.T) {
			b, _ := make1(t, c.o)
			if got := sum(b); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEveryFormatHoldsTheSameRecords(t *testing.T) {
	o := sample.Object{Seed: 42, From: march, Size: 1 << 18}
	lines, n := make1(t, o)
	want := bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"))
	if int64(len(want)) != n.Records || int64(len(lines)) != n.Bytes {
		t.Fatalf("%d lines of %d bytes, said %+v", len(want), len(lines), n)
	}

	o.Format = sample.JSONArray
	doc, n := make1(t, o)
	var elements []json.RawMessage
	if err := json.Unmarshal(doc, &elements); err != nil {
		t.Fatal(err)
	}
	if int64(len(elements)) != n.Records || int64(len(doc)) != n.Bytes {
		t.Fatalf("%d elements of %d bytes, said %+v", len(elements), len(doc), n)
	}
	for i := range min(len(elements), len(want)) {
		if !bytes.Equal(elements[i], want[i]) {
			t.Fatalf("element %d is %s, the line %s", i, elements[i], want[i])
		}
	}

	o.Format = sample.CSV
	table, n := make1(t, o)
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(rows)) != n.Records+1 || int64(len(table)) != n.Bytes {
		t.Fatalf("%d rows of %d bytes, said %+v", len(rows), len(table), n)
	}
	failed := 0
	for i, row := range rows[1:min(len(rows), len(want))] {
		var e struct {
			TS, Message string
			HTTP        struct{ Path string }
			Error       *struct{ Kind, Stack string }
		}
		if err := json.Unmarshal(want[i], &e); err != nil {
			t.Fatal(err)
		}
		kind, stack := "", ""
		if e.Error != nil {
			kind, stack = e.Error.Kind, e.Error.Stack
			failed++
		}
		if row[0] != e.TS || row[7] != e.Message || row[9] != e.HTTP.Path || row[16] != kind || row[17] != stack {
			t.Fatalf("row %d is %q, the line %s", i, row, want[i])
		}
	}
	if failed == 0 {
		t.Error("no record has an error: the fields that are hard to quote were not tried")
	}
}

func TestSizeIsBeforeCompressionAndIsKept(t *testing.T) {
	for _, f := range []sample.Format{sample.NDJSON, sample.JSONArray, sample.CSV} {
		for _, size := range []int64{0, 1, 5_000, 100_000} {
			b, n := make1(t, sample.Object{Format: f, From: march, Size: size})
			if n.Records < 1 || n.Records > 1 && int64(len(b)) > size || size == 100_000 && len(b) < 99_000 {
				t.Errorf("%s of %d bytes: %d bytes, %+v", f, size, len(b), n)
			}
		}
	}
}

func TestNoSizeIsExceeded(t *testing.T) {
	for _, f := range []sample.Format{sample.NDJSON, sample.JSONArray, sample.CSV} {
		for size := int64(1000); size < 5000; size += 3 {
			if b, n := make1(t, sample.Object{Format: f, From: march, Size: size}); int64(len(b)) > size || n.Bytes != int64(len(b)) {
				t.Fatalf("%s of %d bytes: %d bytes, %+v", f, size, len(b), n)
			}
		}
	}
}

func TestWhatIsCompressedIsWhatIsPlain(t *testing.T) {
	o := sample.Object{Seed: 3, From: march, Size: 1 << 17}
	want, n := make1(t, o)
	for c, open := range map[sample.Compression]func(io.Reader) (io.Reader, error){
		sample.Gzip: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		sample.Zstd: func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	} {
		o.Compression = c
		packed, m := make1(t, o)
		r, err := open(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) || m != n || len(packed) > len(want)/2 {
			t.Errorf("%s: %d bytes from %d, %+v, %v", c, len(got), len(packed), m, err)
		}
	}
}

type full struct{ left int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestAWriterThatFailsIsHeard(t *testing.T) {
	for _, f := range []sample.Format{sample.NDJSON, sample.JSONArray, sample.CSV} {
		for _, c := range []sample.Compression{sample.None, sample.Gzip, sample.Zstd} {
			for _, left := range []int{0, 600, 5_000} {
				o := sample.Object{Format: f, Compression: c, From: march, Size: 1 << 20}
				if _, err := o.Write(&full{left}); !errors.Is(err, errFull) {
					t.Errorf("%s, %s, after %d bytes: %v", f, c, left, err)
				}
			}
			// So small that nothing may be written before the end.
			if _, err := (sample.Object{Format: f, Compression: c, From: march}).Write(&full{20}); !errors.Is(err, errFull) {
				t.Errorf("%s, %s, at the end: %v", f, c, err)
			}
		}
	}
}

func TestWhatIsUnknownIsNamed(t *testing.T) {
	if _, err := (sample.Object{Format: "xml"}).Write(io.Discard); err == nil {
		t.Error("xml was made")
	}
	if _, err := (sample.Object{Compression: "lzma"}).Write(io.Discard); err == nil {
		t.Error("lzma was made")
	}
}

func TestExtensionsAreThoseThatReadersKnow(t *testing.T) {
	for want, o := range map[string]sample.Object{
		".ndjson":  {},
		".json.gz": {Format: sample.JSONArray, Compression: sample.Gzip},
		".csv.zst": {Format: sample.CSV, Compression: sample.Zstd},
	} {
		if got := o.Extension(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
