package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is generated is planned, checked and read, and all three agree.
func TestGeneratedObjectsArePlannedCheckedAndRead(t *testing.T) {
	for _, c := range []struct{ format, framing, compression string }{
		{"ndjson", "{ndjson: {}}", "none"},
		{"ndjson", "{auto: {}}", "zstd"},
		{"json-array", "{json_array: {}}", "gzip"},
		{"json-array", "{auto: {}}", "none"},
		{"csv", "{lines: {}}", "gzip"},
	} {
		t.Run(c.format+" "+c.compression, func(t *testing.T) {
			src, out := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "out")
			res := run{Binary: plainBinary}.spate(t, "gen", src, "--format", c.format, "--compression", c.compression, "--objects", "3", "--size", "1200KiB")
			var objects, records int
			if _, err := fmt.Sscanf(strings.ReplaceAll(res.Stdout, ",", ""), "%d objects in "+src+": %d records", &objects, &records); err != nil || res.Code != 0 {
				t.Fatalf("code %d, %q: %v\n%s", res.Code, res.Stdout, err, res.Stderr)
			}
			p := pipeline(t, src, out, "")
			set := []string{"--set", "source.s3.target=1MiB", "--set", "framing=" + c.framing}

			res = run{}.spate(t, append([]string{"check", p}, set...)...)
			if res.Code != 0 || strings.Count(res.Stdout, "ok ") != 3 {
				t.Errorf("check: code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("the check wrote")
			}

			res = run{}.spate(t, append([]string{"plan", p, "-o", "json"}, set...)...)
			var plan struct {
				Objects struct{ Listed, Planned int64 }
				Units   struct{ Planned int }
				Bytes   int64
				Lambda  struct{ Minutes float64 }
			}
			if err := json.Unmarshal([]byte(res.Stdout), &plan); err != nil || res.Code != 0 {
				t.Fatalf("plan: code %d, %v\n%s", res.Code, err, res.Stderr)
			}

			res = run{}.spate(t, append([]string{"run", p}, set...)...)
			if res.Code != 0 {
				t.Fatalf("run: code %d\n%s", res.Code, res.Stderr)
			}
			r := res.Report
			if plan.Units.Planned != r.Units.Planned || plan.Objects.Listed != r.Objects.Listed || plan.Objects.Planned != r.Objects.Done || plan.Bytes > r.Bytes.Read {
				t.Errorf("planned %+v, and it was %+v %+v %+v", plan, r.Units, r.Objects, r.Bytes)
			}
			want := int64(records)
			if c.format == "csv" {
				return // a header, and quoted line breaks: lines are no records of it
			}
			if r.Records.In != want || objects != 3 {
				t.Errorf("%d records of %d objects were made, %d read", want, objects, r.Records.In)
			}
		})
	}
}

func TestTheSameSeedGivesTheSameObjects(t *testing.T) {
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "c")}
	for i, seed := range []string{"7", "7", "8"} {
		res := run{}.spate(t, "gen", dirs[i], "--seed", seed, "--objects", "2", "--size", "64KiB")
		if res.Code != 0 {
			t.Fatal(res.Stderr)
		}
	}
	sums := make([]string, len(dirs))
	for i, dir := range dirs {
		h := sha256.New()
		for _, name := range []string{"part-00000.ndjson", "part-00001.ndjson"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			h.Write(data)
		}
		sums[i] = hex.EncodeToString(h.Sum(nil))
	}
	const golden = "f922e6a9e2d2919d6116914201b164ee5012f9055405c25a0a2c8c4385c7fc1b"
	if sums[0] != golden || sums[1] != golden || sums[2] == golden {
		t.Errorf("got %v, want %s, the same, and another", sums, golden)
	}
}

func TestGenReplacesNothingUnasked(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "part-00002.ndjson")
	write(t, precious, []byte("precious\n"))
	res := run{}.spate(t, "gen", dir, "--objects", "4", "--size", "1KiB")
	if res.Code != 2 || !strings.Contains(res.Stderr, precious) || !strings.Contains(res.Stderr, "--overwrite") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("it left %v, %v", entries, err)
	}
	res = run{}.spate(t, "gen", dir, "--objects", "4", "--size", "1KiB", "--overwrite")
	if entries, err := os.ReadDir(dir); res.Code != 0 || err != nil || len(entries) != 4 {
		t.Errorf("code %d, it left %v, %v", res.Code, entries, err)
	}
	if data, err := os.ReadFile(precious); err != nil || strings.Contains(string(data), "precious") {
		t.Errorf("%q, %v", data, err)
	}
}

func TestGenThatIsInterruptedLeavesWholeObjects(t *testing.T) {
	dir := t.TempDir()
	interrupt := func(cmd *exec.Cmd) {
		for range 12_000 {
			if entries, _ := os.ReadDir(dir); len(entries) > 2 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		_ = cmd.Process.Signal(syscall.SIGINT)
	}
	res := run{Begun: interrupt}.spate(t, "gen", dir, "--objects", "100000", "--size", "200KiB")
	if res.Code != 130 || !strings.Contains(res.Stderr, "interrupted") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || strings.HasPrefix(e.Name(), ".") || len(data) < 190<<10 || data[len(data)-1] != '\n' {
			t.Errorf("%s has %d bytes, %v", e.Name(), len(data), err)
		}
	}
}

func TestAnObjectIsInspected(t *testing.T) {
	dir := t.TempDir()
	good, lies := filepath.Join(dir, "good.ndjson.gz"), filepath.Join(dir, "lies.csv")
	write(t, good, gz(t, records("a", 5)))
	write(t, lies, gz(t, []byte("[{\"a\":\"\x1b[2J\"}]")))
	res := run{}.spate(t, "inspect", "file://"+good)
	if res.Code != 0 || strings.Contains(res.Stdout, "MISMATCH") || strings.Count(res.Stdout, "record ") != 3 {
		t.Errorf("code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	res = run{}.spate(t, "inspect", "file://"+good, "file://"+lies, "file://"+filepath.Join(dir, "gone"), "-o", "json")
	var all []struct {
		URL, Error string
		Content    struct{ Compression, Format string }
		Mismatches []string
		Records    []string
	}
	if err := json.Unmarshal([]byte(res.Stdout), &all); err != nil || len(all) != 3 {
		t.Fatalf("%v\n%s", err, res.Stdout)
	}
	if res.Code != 1 || !strings.Contains(res.Stderr, "1 of 3 objects could not be read") || !strings.Contains(all[2].Error, "no such file") {
		t.Errorf("code %d, %+v\n%s", res.Code, all[2], res.Stderr)
	}
	if l := all[1]; l.Content.Compression != "gzip" || l.Content.Format != "json_array" || len(l.Mismatches) != 2 || len(l.Records) != 1 || strings.Contains(l.Records[0], "\x1b") {
		t.Errorf("%+v", l)
	}
}

func TestABucketIsPlannedCheckedAndInspected(t *testing.T) {
	b, out := newBucket(t), filepath.Join(t.TempDir(), "out")
	b.put("p/a.ndjson", records("a", 10))
	b.put("p/b é+%.json", gz(t, records("b", 10)))
	b.put("p/large.ndjson", records("large", 100_000))
	p := pipeline(t, t.TempDir(), out, "")
	args := []string{p, "--set", "source.s3.url=s3://" + b.name + "/p/", "--set", "source.s3.region=us-east-1", "--set", "source.s3.target=1MiB"}

	res := run{}.spate(t, append([]string{"plan"}, args...)...)
	if res.Code != 0 || !strings.Contains(res.Stdout, "3 listed, 3 to read") || !strings.Contains(res.Stdout, "ranges of large objects") {
		t.Errorf("plan: code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	rows := []string{"--set", "sink.file=null", "--set", "sink.s3.url=s3://" + b.name + "/out/"}
	res = run{}.spate(t, append(append([]string{"check"}, args...), rows...)...)
	if res.Code != 0 || strings.Count(res.Stdout, "ok ") != 3 {
		t.Errorf("check: code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	rows[3] = "sink.s3.url=s3://" + b.name + "-gone/out/"
	res = run{}.spate(t, append(append([]string{"check"}, args...), rows...)...)
	if res.Code != 1 || !strings.Contains(res.Stdout, "failed    sink") {
		t.Errorf("check of a bucket that is not there: code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}

	region := run{Env: []string{"AWS_REGION=us-east-1"}}
	res = region.spate(t, "inspect", "s3://"+b.name+"/p/b é+%.json")
	if res.Code != 0 || !strings.Contains(res.Stdout, "compression gzip, format ndjson") || !strings.Contains(res.Stdout, "MISMATCH") {
		t.Errorf("inspect: code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	res = region.spate(t, "inspect", "s3://"+b.name+"/p/gone")
	if res.Code != 1 || !strings.Contains(res.Stderr, "p/gone") {
		t.Errorf("inspect of what is not there: code %d\n%s", res.Code, res.Stderr)
	}
	if entries, _ := os.ReadDir(filepath.Dir(out)); len(entries) > 0 {
		t.Errorf("something was written: %v", entries)
	}
}

func TestTheVersionIsTold(t *testing.T) {
	res := run{}.spate(t, "--version")
	if res.Code != 0 || !strings.HasPrefix(res.Stdout, "spate version ") || !strings.Contains(res.Stdout, "go1.") {
		t.Errorf("code %d, %q", res.Code, res.Stdout)
	}
}

func TestTheSchemaIsJSON(t *testing.T) {
	res := run{}.spate(t, "schema")
	var s map[string]any
	if err := json.Unmarshal([]byte(res.Stdout), &s); err != nil || res.Code != 0 || s["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("code %d, %v", res.Code, err)
	}
}
