package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/tests/lambdakit"
)

// rejecting is a pipeline whose chain takes {"n":…} alone and whose rejects go
// to url.
func rejecting(t *testing.T, source, framing, out, url, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	write(t, path, fmt.Appendf(nil, `pipeline: {name: e2e}
source: {s3: {url: "file://%s", target: 1MiB}}
feed: {memory: {attempt_cap: 2}}
framing: {%s: {max_record: 4KiB}}
decode: {json: {}}
chain: [{filter: "n / 2 > -9"}]
sink: {file: {path: %q}}
rejects: {url: %q%s}
`, source, framing, out, url, more))
	return path
}

// damaged are n records, some of them bad, and how many those are.
func damaged(n int) (data []byte, bad int64) {
	for i := range n {
		switch {
		case i%1000 == 500:
			data = fmt.Appendf(data, "{\"n\":%d,\"s\":\"\xff\xfe \\u00zz\n", i)
		case i%1000 == 600:
			data = fmt.Appendf(data, "{\"n\":\"%d\"}\n", i)
		default:
			data = fmt.Appendf(data, "{\"n\":%d}\n", i)
			continue
		}
		bad++
	}
	return data, bad
}

// directory is what the files of dir hold.
func directory(t *testing.T, dir string) (text []byte, names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text, names = append(text, data...), append(names, f.Name())
	}
	return text, names
}

func sorted(data []byte) []string {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

func TestRejectedRecordsAreRepairedAndRunAgain(t *testing.T) {
	dir := t.TempDir()
	src, out, rejects := filepath.Join(dir, "src"), filepath.Join(dir, "out"), filepath.Join(dir, "rejects")
	data, bad := damaged(100_000)
	write(t, filepath.Join(src, "a.ndjson"), data)
	write(t, filepath.Join(src, "b.ndjson.gz"), gz(t, []byte("{\"n\":-1}\n"+strings.Repeat("z", 5000)+"\n{\"n\":-2\n")))
	res := run{}.spate(t, "run", rejecting(t, src, "ndjson", out, "file://"+rejects, ""))
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	r := res.Report
	if n := r.Sinks["rejects"]; n.Records != bad+2 || r.Records.Rejected != n.Records || r.Records.Out != 100_001-bad {
		t.Fatalf("records %+v, sinks %+v; %d are bad", r.Records, r.Sinks, bad+2)
	}
	text, names := directory(t, rejects)
	for _, want := range []string{
		`{"key":"a.ndjson","etag":"`, `"bytes_base64":"`, `"bytes":"{\"n\":\"600\"}"}`, `"reason":"operator"`,
		`"record":1,"offset":9,"reason":"undecodable","detail":"record is over the framer's limit: raise max_record or skip it"}`,
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %s in the rejects", want)
		}
	}

	// What they hold is repaired by a program that knows nothing of them but
	// that they are lines.
	fixed := regexp.MustCompile(`"bytes":"\{\\"n\\":\\"(\d+)\\"\}"`).ReplaceAll(text, []byte(`"bytes":"{\"n\":$1}"`))
	fixed = regexp.MustCompile(`"bytes_base64":"[^"]*"`).ReplaceAll(fixed, []byte(`"bytes":"{\"n\":0}"`))
	fixed = bytes.ReplaceAll(fixed, []byte(`{\"n\":-2`), []byte(`{\"n\":-2}`))
	again, left := filepath.Join(dir, "again"), filepath.Join(dir, "left")
	write(t, filepath.Join(dir, "fixed", names[0]), fixed)
	res = run{}.spate(t, "run", rejecting(t, filepath.Join(dir, "fixed"), "rejects", again, "file://"+left+"/", ""))
	if r := res.Report; res.Code != 0 || r.Records.In != bad+2 || r.Records.Out != bad+1 || r.Sinks["rejects"].Records != 1 {
		t.Fatalf("code %d, %+v, %+v\n%s", res.Code, r.Records, r.Sinks, res.Stderr)
	}
	got, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte("{\"n\":-2}\n")
	for i := range 100_000 {
		switch i % 1000 {
		case 500:
			want = append(want, "{\"n\":0}\n"...)
		case 600:
			want = fmt.Appendf(want, "{\"n\":%d}\n", i)
		}
	}
	if !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("%d bytes of repaired records, want %d", len(got), len(want))
	}
}

func TestRejectsOfTwoRunsAreTheSame(t *testing.T) {
	dir := t.TempDir()
	src, rejects := filepath.Join(dir, "src"), filepath.Join(dir, "rejects")
	data, _ := damaged(50_000)
	write(t, filepath.Join(src, "a"), data)
	p := rejecting(t, src, "ndjson", filepath.Join(dir, "out"), "file://"+rejects, "")
	if res := (run{}).spate(t, "run", p); res.Code != 0 {
		t.Fatal(res.Stderr)
	}
	text, names := directory(t, rejects)
	res := run{}.spate(t, "run", p, "--set", "sink.file.path="+filepath.Join(dir, "other"))
	if res.Code != 2 || !strings.Contains(res.Stderr, "rejects.url: ") || !strings.Contains(res.Stderr, "--overwrite") {
		t.Errorf("code %d: %s", res.Code, res.Stderr)
	}
	if res := (run{}).spate(t, "run", p, "--overwrite"); res.Code != 0 {
		t.Fatal(res.Stderr)
	}
	if again, same := directory(t, rejects); !bytes.Equal(again, text) || !slices.Equal(same, names) {
		t.Errorf("files %v and %v", names, same)
	}
}

func TestRejectsBeyondTheLimitAreCounted(t *testing.T) {
	dir := t.TempDir()
	src, rejects := filepath.Join(dir, "src"), filepath.Join(dir, "rejects")
	data, _ := damaged(3000)
	for i := range 5 {
		write(t, filepath.Join(src, fmt.Sprint(i)), append(data, bytes.Repeat([]byte("\n"), 1<<20)...))
	}
	res := run{}.spate(t, "run", rejecting(t, src, "ndjson", filepath.Join(dir, "out"), "file://"+rejects, ", limit: 4KiB"))
	if res.Code != 0 {
		t.Fatal(res.Stderr)
	}
	s := res.Report.Sinks
	written, dropped := s["rejects"], s["rejects_dropped"]
	text, _ := directory(t, rejects)
	if written.Records == 0 || written.Records+dropped.Records != 30 || int64(len(text)) != written.Bytes || len(text) > 4<<10 {
		t.Errorf("%d bytes of rejects, sinks %+v", len(text), s)
	}
	want := fmt.Sprintf("spate: warning: %d rejected records are beyond rejects.limit", dropped.Records)
	if strings.Count(res.Stderr, "beyond rejects.limit") != 1 || !strings.Contains(res.Stderr, want) {
		t.Errorf("want %q once in\n%s", want, res.Stderr)
	}
}

func TestAPlaceForRejectsIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out")+"/"
	write(t, filepath.Join(src, "a"), []byte("{}\n"))
	for _, c := range []struct {
		url, want string
		set       []string
	}{
		{"file://" + src + "/rejects/", "lies inside the source", nil},
		{"file://" + out, "rejects.url: is where sink writes", nil},
		{"ftp://x", `rejects.url: "ftp://x" is neither`, nil},
		{"s3:///x", "rejects.url:", nil},
		{"file://" + filepath.Join(src, "a"), "lies inside the source", nil},
		{"s3://b/in/rejects/", "rejects.url: s3://b/in/rejects/ lies inside the source", []string{"--set", "source.s3.url=s3://b/in/"}},
	} {
		p := rejecting(t, src, "ndjson", out, c.url, "")
		for _, command := range []string{"run", "check"} {
			res := run{}.spate(t, append([]string{command, p}, c.set...)...)
			if res.Code == 0 || !strings.Contains(res.Stdout+res.Stderr, c.want) {
				t.Errorf("%s with %s: code %d\n%s%s", command, c.url, res.Code, res.Stdout, res.Stderr)
			}
			if _, err := os.Stat(out); err == nil {
				t.Fatalf("%s with %s made the output", command, c.url)
			}
		}
	}
}

func TestRejectsGoToABucket(t *testing.T) {
	b, out := newBucket(t), filepath.Join(t.TempDir(), "out")
	data, bad := damaged(20_000)
	src := t.TempDir()
	write(t, filepath.Join(src, "a"), data)
	p := rejecting(t, src, "ndjson", out, "s3://"+b.name+"/rejects", ", region: us-east-1, endpoint: \""+b.proxy.URL+"\"")
	prefix, first := "rejects/", []string(nil)
	for range 2 {
		res := run{}.spate(t, "run", p, "--overwrite")
		if res.Code != 0 || res.Report.Sinks["rejects"].Records != bad {
			t.Fatalf("code %d, %+v\n%s", res.Code, res.Report, res.Stderr)
		}
		page, err := b.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
		if err != nil {
			t.Fatal(err)
		}
		lines, keys := 0, []string(nil)
		for _, o := range page.Contents {
			text, err := lambdakit.Object(t.Context(), b.client, b.name, *o.Key)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
			keys = append(keys, *o.Key+" "+*o.ETag)
		}
		if first == nil {
			first = keys
		}
		if int64(lines) != bad || !slices.Equal(keys, first) {
			t.Errorf("%d lines in %v, before %v", lines, keys, first)
		}
	}
}
