package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/spatetest"
)

// TestAProcessThatDiesAtAnyCallIsContinued ends a job at the first call that it
// makes of its store, ledger, feed or sink, then at the second and so on until it
// ends by itself, and lets another process go on: every row is in the output
// once, and the verdict is that of a job that nothing happened to (INV-1, INV-7).
func TestAProcessThatDiesAtAnyCallIsContinued(t *testing.T) {
	bucket, units := &memobject.Bucket{PageSize: 2}, 0
	rows := map[string]bool{}
	for i := 0; units < 6; i++ {
		key := fmt.Sprintf("k-%05d", i)
		if sum := sha256.Sum256([]byte(key)); sum[0] > 0 || sum[1] >= 1<<6 {
			continue
		}
		units++ // one begins at every such key
		for _, name := range []string{key, key + "-2", key + "-3"} {
			row := fmt.Sprintf(`{"key":%q}`+"\n", name)
			rows[row] = true
			bucket.Put(name, []byte(row))
		}
	}
	for n, struck := 1, true; struck; n++ {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			f := &spatetest.Faults{At: n, Dies: true}
			_, err := keptRun(t, dir, f, bucket)
			if struck = f.Seen() >= n; !struck && err != nil {
				t.Fatalf("nothing happened, and the job says %v", err)
			}
			r, err := keptRun(t, dir, &spatetest.Faults{}, bucket)
			if err != nil || r.State != report.Completed || r.Units.Done != units || r.Records.Out != int64(len(rows)) {
				t.Fatalf("verdict %+v, %v", r, err)
			}
			once(t, filepath.Join(dir, "out"), rows)
		})
		if t.Failed() {
			t.Fatalf("died at call %d", n)
		}
		if !struck {
			t.Logf("%d calls", n-1)
		}
	}
}

// keptRun runs a job on the state in dir, until f.
func keptRun(t *testing.T, dir string, f *spatetest.Faults, bucket *memobject.Bucket) (*report.Report, error) {
	t.Helper()
	s, err := openState(filepath.Join(dir, "state"), location{Place: s3url.Place{Bucket: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t)
	out, err := filesink.New(filesink.Options{Path: filepath.Join(dir, "out"), Journal: s.journal("sweep", defaultSink)})
	if err != nil {
		t.Fatal(err)
	}
	fd := memfeed.New(memfeed.Options{Cap: 4})
	d := drivers{
		bucket: f.Bucket(bucket), ledger: f.Ledger(s.ledger), state: s,
		feed: fd, sender: slowSender{f.Sender(fd)}, sink: f.Sink(out), sinkType: "file",
	}
	j, err := join(t.Context(), c, Pipeline{}, Options{Log: slog.New(slog.DiscardHandler)}.withDefaults(), location{Place: s3url.Place{Bucket: "b"}}, &d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	return j.Run(t.Context())
}

// slowSender leaves the feed empty for longer than a job may be idle.
type slowSender struct{ feed.Sender }

func (s slowSender) Send(ctx context.Context, ms ...feed.Message) error {
	time.Sleep(5 * time.Second)
	return s.Sender.Send(ctx, ms...)
}

// once checks that the file holds each of the rows once and nothing else.
func once(t *testing.T, path string, rows map[string]bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for row := range strings.Lines(string(data)) {
		if seen[row] || !rows[row] {
			t.Fatalf("row %.40s is there twice, or not one of ours", row)
		}
		seen[row] = true
	}
	if len(seen) != len(rows) {
		t.Errorf("%d rows, want %d", len(seen), len(rows))
	}
}

func TestARunWarnsThatItKeepsNoProgress(t *testing.T) {
	const lost = "spate: warning: progress is lost with this process: "
	b, path := archive(t)
	nothing := []string{"run", path, "--overwrite", "--progress", "none", "--set", `source.s3.include=["none"]`}
	for _, c := range []struct {
		args []string
		want bool
	}{{nil, true}, {[]string{"--state", t.TempDir()}, false}} {
		code, _, stderr := cliOf(t, Pipeline{Source: b}, append(nothing, c.args...)...)
		if code != exitOK || strings.Contains(stderr, lost) != c.want {
			t.Errorf("%v: code %d, %s", c.args, code, stderr)
		}
	}
}
