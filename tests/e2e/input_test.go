package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/report"
)

func gz(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// gzStored is gzip that does not compress: many windows of little work.
func gzStored(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func TestMixedInputIsDeliveredWhole(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	a, b, c, d, e := records("a", 1000), records("b", 1000), records("c", 1000), records("d", 50_000), records("e", 10)
	write(t, filepath.Join(dir, "a.ndjson"), a)
	write(t, filepath.Join(dir, "x/b.gz"), append(gz(t, b[:len(b)/2]), gz(t, b[len(b)/2:])...)) // two members
	write(t, filepath.Join(dir, "x/c.zst"), zst(t, c))
	write(t, filepath.Join(dir, "x y+z%41=ü.gz"), d) // not gzip, whatever its name says; cut into ranges
	write(t, filepath.Join(dir, "plain-by-name"), gz(t, e))
	write(t, filepath.Join(dir, "empty"), nil)
	for n := 1; n <= 3; n++ {
		write(t, filepath.Join(dir, fmt.Sprintf("tiny-%d", n)), []byte("[1]"[:n]))
	}
	res := run{}.spate(t, "run", pipeline(t, dir, out, ""), "--set", "source.s3.target=1MiB")
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	exactly(t, out, a, b, c, d, e, []byte("[\n[1\n[1]\n"))
	r := res.Report
	if r.State != report.Completed || r.Objects.Listed != 9 || r.Objects.Skipped.Empty != 1 || r.Objects.Done != 8 {
		t.Errorf("report %+v", r)
	}
	if r.Units.Planned < 3 {
		t.Errorf("%d units: the large object was not cut", r.Units.Planned)
	}
}

func TestBadObjectsAreNamedAndTheirNeighboursDelivered(t *testing.T) {
	whole := records("bad", 20_000)
	for name, c := range map[string]struct {
		file   string
		data   []byte
		reason failure.Reason
		detail string
	}{
		"truncated gzip":     {"bad.gz", gz(t, whole)[:2000], failure.Undecodable, "gzip"},
		"corrupt gzip":       {"bad.gz", corrupt(gz(t, whole)), failure.Undecodable, "gzip"},
		"truncated zstd":     {"bad.zst", zst(t, whole)[:2000], failure.Undecodable, "zstd"},
		"corrupt zstd":       {"bad.zst", corrupt(zst(t, whole)), failure.Undecodable, "zstd"},
		"garbage after gzip": {"bad.gz", append(gz(t, records("bad", 3)), "garbage"...), failure.Undecodable, "gzip"},
		"zip":                {"bad.gz", []byte("PK\x03\x04 and so on"), failure.Undecodable, "zip"},
		"UTF-16":             {"bad", []byte("\xff\xfe{\x00}\x00"), failure.Undecodable, "UTF-16"},
		"a window of 2 GiB":  {"bad.zst", window(31), failure.TooLarge, "2GiB"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
			a, z := records("a", 1000), records("z", 1000)
			write(t, filepath.Join(dir, "a"), a)
			write(t, filepath.Join(dir, c.file), c.data)
			write(t, filepath.Join(dir, "z"), z)
			res := run{}.spate(t, "run", pipeline(t, dir, out, ""))
			if res.Code != 1 || res.Report.State != report.Failed || len(res.Report.Dead) != 1 {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			d := res.Report.Dead[0]
			if d.Reason != c.reason || len(d.Objects) != 1 || d.Objects[0].Key != c.file || !strings.Contains(d.Detail, c.detail) {
				t.Errorf("dead %+v, want %s of %s alone, and %q in its detail", d, c.reason, c.file, c.detail)
			}
			got := rows(t, out)
			for line := range strings.Lines(string(append(a, z...))) {
				if got[line] != 1 {
					t.Fatalf("row %q of a neighbour is there %d times", line, got[line])
				}
			}
			if !strings.Contains(res.Stdout, c.file) {
				t.Errorf("the report for people does not name %s:\n%s", c.file, res.Stdout)
			}
		})
	}
}

func TestEveryBadObjectIsReportedWithItsOwnReason(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	write(t, filepath.Join(dir, "a.gz"), gz(t, records("a", 20_000))[:3000])
	write(t, filepath.Join(dir, "b"), records("b", 10))
	write(t, filepath.Join(dir, "c.zst"), window(31))
	res := run{}.spate(t, "run", pipeline(t, dir, out, ""))
	if res.Code != 1 || len(res.Report.Dead) != 1 || len(res.Report.Dead[0].Objects) != 2 {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	a, c := res.Report.Dead[0].Objects[0], res.Report.Dead[0].Objects[1]
	if a.Key != "a.gz" || a.Reason != failure.Undecodable || a.Record == nil || *a.Record == 0 || !strings.Contains(a.Detail, "a.gz") {
		t.Errorf("first object %+v", a)
	}
	if c.Key != "c.zst" || c.Reason != failure.TooLarge || c.Record == nil || *c.Record != 0 || !strings.Contains(c.Detail, "c.zst") {
		t.Errorf("second object %+v", c)
	}
	if n := len(rows(t, out)); int64(n) != 10+*a.Record {
		t.Errorf("%d rows, want those of b and %d of a.gz", n, *a.Record)
	}
}

func corrupt(b []byte) []byte {
	b = bytes.Clone(b)
	for i := len(b) / 2; i < len(b)/2+64; i++ {
		b[i] ^= 0x55
	}
	return b
}

// window is the beginning of a zstd frame that asks for a window of 2^log bytes.
func window(log byte) []byte {
	return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, (log - 10) << 3}, make([]byte, 100)...)
}

func TestAnEmptyPrefixIsComplete(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.ndjson")
	res := run{}.spate(t, "run", pipeline(t, t.TempDir(), out, ""))
	if res.Code != 0 || res.Report.State != report.Completed || res.Report.Records.In != 0 {
		t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
}

func TestLinesKeepTheirBytes(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	write(t, filepath.Join(dir, "a"), []byte("\xef\xbb\xbf{\"a\":1}\r\n\n  \t\n{\"b\":\"\x00\xff\"}\n\xef\xbb\xbf\nlast"))
	res := run{}.spate(t, "run", pipeline(t, dir, out, ""))
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":1}\n{\"b\":\"\x00\xff\"}\n\xef\xbb\xbf\nlast\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAChainFromTheFile(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	write(t, filepath.Join(dir, "a"), []byte(`{"status":500,"id":12345678901234567890,"x":1.10,"http":{"path":"/a"}}
not json
{"status":"500","id":1}
{"id":2}
{"status":200,"id":3}
{"status":503.5,"id":-0,"http":null}
`))
	more := "decode: {json: {}}\nchain:\n  - filter: \"status >= 500\"\n  - select: [id, x, http.path]"
	res := run{}.spate(t, "run", pipeline(t, dir, out, more))
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":12345678901234567890,"x":1.10,"path":"/a"}` + "\n" + `{"id":-0,"x":null,"path":null}` + "\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r := res.Report.Records; r != (report.Records{In: 6, Out: 2, Filtered: 3, Rejected: 1}) {
		t.Errorf("records %+v", r)
	}
	other := run{}.spate(t, "run", pipeline(t, dir, out, ""), "--overwrite")
	if a, b := res.Report.Pipelines, other.Report.Pipelines; len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		t.Errorf("pipelines %v and %v: want one digest each, of different chains", a, b)
	}
}

func TestAContainerIsNotTakenForLines(t *testing.T) {
	for name, head := range map[string]string{"avro": "Obj\x01\x04\x16", "parquet": "PAR1\x15\x04\x15", "orc": "ORC\n\x06\x12\x04"} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
			write(t, filepath.Join(dir, "a.bin"), append([]byte(head), bytes.Repeat([]byte("x\n"), 500)...))
			write(t, filepath.Join(dir, "b.ndjson"), records("b", 10))
			res := run{}.spate(t, "run", pipeline(t, dir, out, ""))
			if res.Code != 1 || len(res.Report.Dead) != 1 {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			if d := res.Report.Dead[0]; d.Reason != failure.Undecodable || d.Objects[0].Key != "a.bin" || !strings.Contains(d.Objects[0].Detail, "it is "+name) {
				t.Errorf("dead %+v", d)
			}
			exactly(t, out, records("b", 10))
		})
	}
}

func TestAWrongFormatIsNotSkippedRecordByRecord(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	write(t, filepath.Join(dir, "a.csv"), bytes.Repeat([]byte("a,b\n"), 500))
	write(t, filepath.Join(dir, "b.ndjson"), records("b", 10))
	res := run{}.spate(t, "run", pipeline(t, dir, out, "decode: {json: {on_error: skip}}"))
	if res.Code != 1 || len(res.Report.Dead) != 1 || res.Report.Dead[0].Objects[0].Key != "a.csv" || res.Report.Dead[0].Reason != failure.Undecodable {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	exactly(t, out, records("b", 10))
}
