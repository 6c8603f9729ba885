package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

func TestEvents(t *testing.T) {
	var a, b, other bytes.Buffer
	d, err := fill(&a, 7, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fill(&b, 7, 1<<20)
	_, _ = fill(&other, 8, 1<<20)

	t.Run("the same seed gives the same bytes, another seed others", func(t *testing.T) {
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Error("the same seed gave other bytes")
		}
		_, id, _ := bytes.Cut(a.Bytes(), []byte(`"trace_id":"`))
		if bytes.Contains(other.Bytes(), id[:32]) {
			t.Error("two seeds share a record")
		}
	})
	t.Run("the size is a bound, and the counts are right", func(t *testing.T) {
		if int64(a.Len()) != d.Bytes || d.Bytes > 1<<20 || d.Bytes < 1<<20-1000 {
			t.Errorf("%d bytes, %d counted", a.Len(), d.Bytes)
		}
		if n := int64(bytes.Count(a.Bytes(), []byte("\n"))); n != d.Records {
			t.Errorf("%d lines, %d counted", n, d.Records)
		}
		if mean := d.Bytes / d.Records; mean < 440 || mean > 520 {
			t.Errorf("a record has %d bytes on average, want about 480", mean)
		}
	})
	t.Run("every record is JSON with 17 values", func(t *testing.T) {
		nulls := 0
		for line := range bytes.Lines(a.Bytes()) {
			var v map[string]any
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			n := len(v) - 1 + len(v["http"].(map[string]any)) // http is no value itself
			if v["error"] == nil {
				nulls++
			} else if len(v["error"].(map[string]any)) != 2 {
				t.Fatalf("error is %v", v["error"])
			}
			if n != 16 || v["tags"] == nil {
				t.Fatalf("%d values in %s", n, line)
			}
		}
		if share := float64(nulls) / float64(d.Records); share < 0.7 || share > 0.8 {
			t.Errorf("error is null in %.0f %%", share*100)
		}
	})
	t.Run("a bound of nothing still gives a record", func(t *testing.T) {
		if d, err := fill(io.Discard, 1, 1); err != nil || d.Records != 1 {
			t.Errorf("%d records, %v", d.Records, err)
		}
	})
}

func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	sets, err := generate(dir, 0.0005)
	if errors.Is(err, unix.ENOTSUP) {
		t.Skipf("no extended attributes here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Run("plain, gzip and zstd hold the same records", func(t *testing.T) {
		if sets["plain"] != sets["gz"] || sets["plain"] != sets["zst"] {
			t.Errorf("sets differ: %v", sets)
		}
		plain, err := os.ReadFile(filepath.Join(dir, bucket, "plain", "part-03.ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		for set, ext := range map[string]string{"gz": ".gz", "zst": ".zst"} {
			packed, err := os.ReadFile(filepath.Join(dir, bucket, set, "part-03.ndjson"+ext))
			if err != nil {
				t.Fatal(err)
			}
			if got := unpack(t, ext, packed); !bytes.Equal(got, plain) {
				t.Errorf("%s holds other bytes", set)
			}
		}
	})
	t.Run("no two small objects are alike, and each has its ETag", func(t *testing.T) {
		etags := map[string]bool{}
		files, _ := filepath.Glob(filepath.Join(dir, bucket, "small", "*"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			etag := make([]byte, 64)
			n, err := unix.Getxattr(f, "user.etag", etag)
			if want := fmt.Sprintf(`"%x"`, md5.Sum(b)); err != nil || string(etag[:n]) != want {
				t.Errorf("ETag %s, want %s: %v", etag[:max(n, 0)], want, err)
			}
			etags[string(etag)] = true
		}
		if len(files) < 2 || len(etags) != len(files) {
			t.Errorf("%d objects with %d ETags", len(files), len(etags))
		}
	})
	t.Run("the counts are those of the files", func(t *testing.T) {
		for _, set := range []string{"plain", "small"} {
			var records int64
			files, _ := filepath.Glob(filepath.Join(dir, bucket, set, "*"))
			for _, f := range files {
				b, _ := os.ReadFile(f)
				records += int64(bytes.Count(b, []byte("\n")))
			}
			if records == 0 || records != sets[set].Records {
				t.Errorf("%s: %d lines, %d counted", set, records, sets[set].Records)
			}
		}
	})
	t.Run("a second call makes nothing anew", func(t *testing.T) {
		if err := os.RemoveAll(filepath.Join(dir, bucket)); err != nil {
			t.Fatal(err)
		}
		again, err := generate(dir, 0.0005)
		if err != nil || again["small"] != sets["small"] {
			t.Errorf("got %v, %v", again, err)
		}
		if _, err := os.Stat(filepath.Join(dir, bucket)); err == nil {
			t.Error("made anew")
		}
	})
}

func unpack(t *testing.T, ext string, b []byte) []byte {
	t.Helper()
	var r io.Reader
	var err error
	if ext == ".gz" {
		r, err = gzip.NewReader(bytes.NewReader(b))
	} else {
		r, err = zstd.NewReader(bytes.NewReader(b))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestComplete(t *testing.T) {
	want := dataset{Records: 3}
	for name, c := range map[string]struct {
		report string
		ok     bool
	}{
		"a report of every record":    {`{"state":"completed","records":{"in":3,"rejected":0}}`, true},
		"a record too few":            {`{"state":"completed","records":{"in":2,"rejected":0}}`, false},
		"a rejected record":           {`{"state":"completed","records":{"in":3,"rejected":1}}`, false},
		"a job that did not end well": {`{"state":"failed","records":{"in":3,"rejected":0}}`, false},
		"no report":                   {`oops`, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(c.report), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := complete(path, want); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
			if err := complete(path, want); err == nil {
				t.Error("the same report passed twice")
			}
		})
	}
}

func TestPair(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	say := func(line string) command { return baseline(line, "raw", "gz", "http://s3", os.Environ()) }
	p := pair{ours: say("echo A{case} >>" + log), baseline: say("echo B{mode}{endpoint} >>" + log), runs: 2, timeout: time.Minute}
	r, err := p.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the commands take turns and the first turn is not counted", func(t *testing.T) {
		b, _ := os.ReadFile(log)
		if got, want := string(b), strings.Repeat("Agz\nBrawhttp://s3\n", 3); got != want {
			t.Errorf("ran %q, want %q", got, want)
		}
		if len(r.ours) != 2 || len(r.baseline) != 2 {
			t.Errorf("%d and %d runs counted", len(r.ours), len(r.baseline))
		}
	})
	t.Run("a run is accounted for", func(t *testing.T) {
		s, err := say(`i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`).run(t.Context(), time.Minute)
		if err != nil || s.cpu < 20*time.Millisecond || s.wall <= 0 || s.peak < 1<<19 || s.peak > 1<<30 {
			t.Errorf("got %+v, %v", s, err)
		}
	})
	t.Run("a failing run is an error that shows what it said", func(t *testing.T) {
		_, err := say("echo because; exit 3").run(t.Context(), time.Minute)
		if err == nil || !strings.Contains(err.Error(), "because") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an incomplete run is an error", func(t *testing.T) {
		c := command{
			make:  func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "true") },
			check: func() error { return complete(filepath.Join(t.TempDir(), "none"), dataset{}) },
		}
		if _, err := c.run(t.Context(), time.Minute); err == nil {
			t.Error("passed")
		}
	})
}

func TestTable(t *testing.T) {
	second := func(walls ...int) []usage {
		var s []usage
		for _, w := range walls {
			s = append(s, usage{wall: time.Duration(w) * time.Second, cpu: time.Second, peak: 1 << 20})
		}
		return s
	}
	r := result{ours: second(1, 2, 4), baseline: second(4, 4, 4)}
	t.Run("the ratio is the median of the pairs', not that of the medians", func(t *testing.T) {
		r := result{ours: second(1, 2, 10), baseline: second(3, 2, 40)}
		if got := r.ratio(wall); got != 3 {
			t.Errorf("got %v, want 3", got)
		}
	})
	t.Run("a row has medians, throughput and ratios", func(t *testing.T) {
		got := strings.Fields(r.row("gz", "raw", dataset{Bytes: 10 << 20}))
		want := strings.Fields("gz raw 2.00 1.00 1 5 4.00 1.00 1 2.00 1.00 1.00")
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("of an even number the median is in the middle", func(t *testing.T) {
		if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
			t.Errorf("got %v", got)
		}
	})
}
