package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
)

// archive is a bucket with an object of every kind.
func archive(t *testing.T) (*memobject.Bucket, string) {
	t.Helper()
	b := &memobject.Bucket{PageSize: 3}
	b.Put("p/a.ndjson", []byte("{}\n"))
	b.Put("p/b.ndjson", bytes.Repeat([]byte("{}\n"), 1<<20)) // 3 MiB, cut
	b.Put("p/c.ndjson.gz", append([]byte("\x1f\x8b\x08\x00"), make([]byte, 3<<20)...))
	b.Put("p/cold.ndjson", []byte("{\"a\":1}\n"))
	b.Archive("p/cold.ndjson", true)
	b.Put("p/d.ndjson", []byte("{\"a\":2}\n")) // in one unit with it
	b.Put("p/empty.ndjson", nil)
	b.Put("p/dir/", nil)
	b.Put("p/notes.txt", []byte("x"))
	path := filepath.Join(t.TempDir(), "p.yaml")
	text := `pipeline: {name: x}
source: {s3: {url: "s3://b/p/", include: ["*.ndjson*"], target: 1MiB}}
feed: {memory: {}}
sink: {file: {path: ` + filepath.Join(t.TempDir(), "out") + "}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, path
}

func TestAPlanSaysWhatAJobWouldRead(t *testing.T) {
	for policy, want := range map[string]planned{
		"fail": {
			Objects:  plannedObjects{Listed: 8, Planned: 5, Skipped: report.Skipped{Empty: 1, Directory: 1, Excluded: 1}},
			Bytes:    3 + 3<<20 + 3<<20 + 4 + 8 + 8,
			Units:    plannedUnits{Planned: 6, Ranges: 3, Cut: 1},
			Archived: plannedArchived{Objects: 1, Bytes: 8, Policy: "fail"},
		},
		"skip": {
			Objects:  plannedObjects{Listed: 8, Planned: 4, Skipped: report.Skipped{Empty: 1, Directory: 1, Excluded: 1, Archived: 1}},
			Bytes:    3 + 3<<20 + 3<<20 + 4 + 8,
			Units:    plannedUnits{Planned: 6, Ranges: 3, Cut: 1},
			Archived: plannedArchived{Objects: 1, Bytes: 8, Policy: "skip"},
		},
	} {
		b, path := archive(t)
		code, stdout, stderr := cliOf(t, Pipeline{Source: b}, "plan", path, "-o", "json", "--set", "source.s3.archived="+policy, "--concurrency", "2", "--memory", "1024")
		if code != exitOK || stderr != "" {
			t.Fatalf("code %d: %s", code, stderr)
		}
		var got planned
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		l := got.Lambda
		if l.Architecture != "arm64" || l.MemoryMB != 1024 || l.Concurrency != 2 || l.Minutes <= 0 || l.Dollars.Total <= 0 ||
			l.Usage.Invocations != got.Units.Planned || l.Usage.Gets != got.Objects.Planned+2 { // two ranges more than objects
			t.Errorf("%s: %+v", policy, l)
		}
		want.Job, want.URL, want.Lambda = "x", "s3://b/p/", l
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", policy, d)
		}
		for _, r := range b.Requests() {
			if r.N > frame.ContainerBytes {
				t.Errorf("%s: it read %d bytes of %s", policy, r.N, r.Key)
			}
		}
	}
}

func TestAContainerIsNotCutIntoLines(t *testing.T) {
	for _, head := range []string{"PAR1\x15\x04", "ORC" + strings.Repeat("x", 500)} {
		b, path := archive(t)
		b.Put("p/b.ndjson", append([]byte(head), make([]byte, 3<<20)...))
		code, stdout, stderr := cliOf(t, Pipeline{Source: b}, "plan", path, "-o", "json")
		var got planned
		if err := json.Unmarshal([]byte(stdout), &got); code != exitOK || err != nil {
			t.Fatalf("code %d, %v: %s", code, err, stderr)
		}
		if got.Units.Cut != 0 || got.Units.Ranges != 0 {
			t.Errorf("%q: %+v", head, got.Units)
		}
	}
}

func TestAPlanIsWrittenForPeople(t *testing.T) {
	b, path := archive(t)
	code, stdout, stderr := cliOf(t, Pipeline{Source: b}, "plan", path)
	if code != exitOK || stderr != "" {
		t.Fatalf("code %d: %s", code, stderr)
	}
	golden(t, "plan.out", stdout)
}

func TestAListingThatFailsIsNoPlan(t *testing.T) {
	b, path := archive(t)
	b.Hook = func(op memobject.Op, _ string, _ int64) error {
		return failure.New(failure.Job, failure.Denied, errors.New("allow s3:ListBucket"))
	}
	code, stdout, stderr := cliOf(t, Pipeline{Source: b}, "plan", path)
	if code != exitIncomplete || stdout != "" || !strings.Contains(stderr, "allow s3:ListBucket") {
		t.Errorf("code %d, %q, %q", code, stdout, stderr)
	}
}

func TestFiguresAreForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", time.Second: "1 s", 59 * time.Second: "59 s", 90 * time.Second: "1.5 min", 119 * time.Minute: "119.0 min", 150 * time.Minute: "2.5 h",
	} {
		if got := minutes(d.Minutes()); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for d, want := range map[float64]string{0: "0.0000", 0.000001: "0.0001", 0.00002: "0.0001", 0.05: "0.0500", 0.1: "0.10", 12.341: "12.35", 12.34: "12.34"} {
		if got := dollars(d); got != want {
			t.Errorf("$%g: %s, want %s", d, got, want)
		}
	}
}
