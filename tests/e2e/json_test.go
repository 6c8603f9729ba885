package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/reject"
	"github.com/spate-go/spate/pkg/report"
)

// framed is the pipeline file with another framing.
func framed(t *testing.T, dir, out, framing, more string) string {
	t.Helper()
	path := pipeline(t, dir, out, more)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, bytes.Replace(text, []byte("framing: {ndjson: {}}"), []byte("framing: "+framing), 1))
	return path
}

// inArray is the array of NDJSON records, with sep between them.
func inArray(lines []byte, sep string) []byte {
	return []byte("[" + strings.ReplaceAll(strings.TrimSpace(string(lines)), "\n", sep) + "]")
}

// indented is NDJSON over several lines a record.
func indented(lines []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(lines, []byte(`,"`), []byte(",\n  \"")), []byte("{"), []byte("{\n  "))
}

// flat is what becomes of the rows of indented.
func flat(lines []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(lines, []byte(`,"`), []byte(`,   "`)), []byte("{"), []byte("{   "))
}

func TestJSONOfEveryShapeIsDelivered(t *testing.T) {
	a, b := records("a", 3000), records("b", 3000)
	both := append(bytes.Clone(a), b...)
	wrapped := func(lines []byte) []byte {
		return fmt.Appendf(nil, `{"id":{"Records":[0]},"Records": %s,"n":"]}"}`, inArray(lines, " ,\n"))
	}
	for name, c := range map[string]struct {
		framing string
		data    []byte
		want    []byte
	}{
		"an array":                     {"{json_array: {}}", inArray(both, ","), both},
		"arrays behind each other":     {"{json_array: {}}", append(inArray(a, ",\n"), inArray(b, " , ")...), both},
		"arrays at a path":             {"{json_array: {path: Records}}", append(wrapped(a), wrapped(b)...), both},
		"values without anything":      {"{json: {}}", bytes.ReplaceAll(both, []byte("\n"), nil), both},
		"values over several lines":    {"{json: {max_record: 1KiB}}", indented(both), flat(both)},
		"auto, an array":               {"{auto: {}}", inArray(both, ",\n"), both},
		"auto, Records":                {"{auto: {}}", append(wrapped(a), wrapped(b)...), both},
		"auto, values":                 {"{auto: {}}", bytes.ReplaceAll(both, []byte("\n"), nil), both},
		"auto, values over lines":      {"{auto: {}}", indented(both), flat(both)},
		"auto, NDJSON":                 {"{auto: {}}", both, both},
		"auto, text":                   {"{auto: {}}", []byte("[error] one\ntwo\n"), []byte("[error] one\ntwo\n")},
		"auto, gzip of an array":       {"{auto: {}}", gz(t, inArray(both, ",")), both},
		"a path of several keys, once": {"{json_array: {path: detail.items}}", fmt.Appendf(nil, `{"detail":{"items":%s}}`, inArray(a, ",")), a},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
			write(t, filepath.Join(dir, "data"), c.data)
			res := run{}.spate(t, "run", framed(t, dir, out, c.framing, ""))
			if res.Code != 0 || res.Report.Records.In != int64(bytes.Count(c.want, []byte("\n"))) {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			exactly(t, out, c.want)
		})
	}
}

func TestUnderAutoOnlyLinesAreCut(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	lines, array, text := records("lines", 60_000), records("array", 60_000), bytes.Repeat([]byte("plain text\n"), 250_000)
	write(t, filepath.Join(dir, "lines"), lines)
	write(t, filepath.Join(dir, "array"), inArray(array, ",\n"))
	write(t, filepath.Join(dir, "text"), text)
	res := run{}.spate(t, "run", framed(t, dir, out, "{auto: {}}", ""), "--set", "source.s3.target=1MiB")
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	ranges := (len(lines)-1)/mib + 1
	if res.Report.Units.Planned != ranges+2 {
		t.Errorf("%d units, want %d of the lines and one of each other object", res.Report.Units.Planned, ranges)
	}
	got := rows(t, out)
	if got["plain text\n"] != 250_000 {
		t.Errorf("%d rows of the text", got["plain text\n"])
	}
	for line := range strings.Lines(string(append(lines, array...))) {
		if got[line] != 1 {
			t.Fatalf("row %.60q is there %d times", line, got[line])
		}
	}
}

func TestJSONThatIsCutOrGoesOnFailsItsObject(t *testing.T) {
	whole := inArray(records("bad", 5000), ",")
	for name, c := range map[string]struct {
		framing string
		data    []byte
		detail  string
	}{
		"a cut array":                  {"{json_array: {}}", whole[:len(whole)-20], "the text ends early, in an array: it is cut at offset " + fmt.Sprint(len(whole)-20) + ", after 4999 elements"},
		"an array under auto":          {"{auto: {}}", whole[:len(whole)-1], "after 5000 elements"},
		"a cut document":               {"{json_array: {path: a}}", append([]byte(`{"a":`), whole...), "in an object: it is cut at offset " + fmt.Sprint(len(whole)+5) + ", after 5000 elements"},
		"a cut value":                  {"{json: {}}", []byte(`{"a":1}{"a":{"b":2}`), "in a value: it is cut at offset 19, after 1 values"},
		"bytes behind an array":        {"{json_array: {}}", append(bytes.Clone(whole), " x"...), "want an array at offset " + fmt.Sprint(len(whole)+1)},
		"bytes behind a value":         {"{json: {}}", []byte(`{"a":1}rest`), "want a value at offset 7, after 1 values"},
		"a document without its array": {"{json_array: {path: Records}}", []byte(`{"records":[1]}`), "want an array at Records before the end of the object"},
		"an object, not an array":      {"{json_array: {}}", records("bad", 10), "want an array at offset 0"},
		"a rejects file that is none":  {"{rejects: {}}", []byte("{}\n\nx\n"), "read rejects: line 3: it is not one JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
			write(t, filepath.Join(dir, "bad"), c.data)
			res := run{}.spate(t, "run", framed(t, dir, out, c.framing, ""))
			if res.Code != 1 || res.Report.State != report.Failed || len(res.Report.Dead) != 1 {
				t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			d := res.Report.Dead[0]
			if d.Reason != failure.Undecodable || d.Objects[0].Key != "bad" || !strings.Contains(d.Detail, c.detail) {
				t.Errorf("dead %+v, want %q in its detail", d, c.detail)
			}
		})
	}
}

func TestRejectsAreRepairedAndRunAgain(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.ndjson")
	var file []byte
	for i, r := range []string{`{"n":1}`, `{"n":2`, "{\"n\":\n3}", "{\"s\":\"\xff\"}"} {
		file = reject.Append(file, reject.Line{Key: "k", Record: int64(i), Reason: failure.Undecodable, Detail: "decode json", Bytes: []byte(r)})
	}
	file = reject.Append(file, reject.Line{Key: "k", Record: 9, Reason: failure.Undecodable, Detail: "over the limit"})
	write(t, filepath.Join(dir, "rejects.ndjson"), bytes.Replace(file, []byte(`{\"n\":2"`), []byte(`{\"n\":2}"`), 1))
	res := run{}.spate(t, "run", framed(t, dir, out, "{rejects: {}}", "decode: {json: {}}"))
	if res.Code != 0 || res.Report.Records != (report.Records{In: 5, Out: 4, Rejected: 1}) {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	exactly(t, out, []byte("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"s\":\"\xff\"}\n"))
}

// INV-6 for an array, all of it on one line.
func TestAnArrayOfOneGiBIsReadInLittleMemory(t *testing.T) {
	const elements, size = 50_000, 1 << 30 / 50_000
	for _, framing := range []string{"{json_array: {}}", "{auto: {}}"} {
		t.Run(framing, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, "array"))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriterSize(f, mib)
			if err := oneLine(w, elements, size); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			path := framed(t, dir, filepath.Join(t.TempDir(), "out"), framing, "decode: {json: {on_error: fail}}\nchain:\n  - select: [id]")
			res := run{Binary: plainBinary}.spate(t, "run", path)
			if res.Code != 0 || res.Report.Records.Out != elements {
				t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
			}
			if res.Peak > 128*mib {
				t.Errorf("peak memory %d MiB", res.Peak/mib)
			}
			t.Logf("peak %d MiB, %v of CPU", res.Peak/mib, res.CPU)
		})
	}
}

// oneLine writes an array of n objects of about size bytes each.
func oneLine(w io.Writer, n, size int) error {
	part := `{"k":"\"` + strings.Repeat("x", 80) + `","v":[1,2.5,null,{"a":"}]"}]},`
	rest := `"parts":[` + strings.Repeat(part, size/len(part)) + `0]}`
	sep := "["
	for i := range n {
		if _, err := fmt.Fprintf(w, `%s{"id":%d,%s`, sep, i, rest); err != nil {
			return err
		}
		sep = ","
	}
	_, err := io.WriteString(w, "]")
	return err
}
