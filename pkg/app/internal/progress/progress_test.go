package progress_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/app/internal/progress"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const mib = 1 << 20

// job says where a made-up job stands after a time.
type job func(t time.Duration) progress.Snapshot

func TestLines(t *testing.T) {
	for _, tc := range []struct {
		name string
		runs time.Duration
		job  job
	}{
		{"steady", 45 * time.Second, func(t time.Duration) progress.Snapshot {
			s := int64(t.Seconds())
			return progress.Snapshot{
				ListedObjects: 5000, DoneObjects: 5000 * s / 45, ListedBytes: 45 * 40 * mib, DoneBytes: s * 40 * mib, Records: 46_500 * s,
			}
		}},
		{"listing", 45 * time.Second, func(t time.Duration) progress.Snapshot {
			s := int64(t.Seconds())
			listed := min(1000+500*s, 16_000)
			return progress.Snapshot{
				ListedObjects: listed, ListedBytes: listed * mib, DoneObjects: 350 * s, DoneBytes: 350 * s * mib,
				Records: 12 * s, Listing: listed < 16_000,
			}
		}},
		{"slows_down", 95 * time.Second, func(t time.Duration) progress.Snapshot {
			s := int64(t.Seconds())
			done := min(s, 30)*100 + max(s-30, 0)*10
			return progress.Snapshot{ListedObjects: 10, ListedBytes: 20_000 * mib, DoneBytes: done * mib}
		}},
		{"failures_and_halt", 35 * time.Second, func(t time.Duration) progress.Snapshot {
			s := progress.Snapshot{ListedObjects: 3000, ListedBytes: 3000, DoneObjects: 10, DoneBytes: 1200, FailedObjects: 1190, Records: 99_999}
			if t >= 20*time.Second {
				s.Halted = "sink_down"
			}
			return s
		}},
		{"nothing_to_do", 15 * time.Second, func(time.Duration) progress.Snapshot { return progress.Snapshot{} }},
		{"empty_objects", 15 * time.Second, func(time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: 7, DoneObjects: 7}
		}},
		{"very_slow", 25 * time.Second, func(t time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: 1, ListedBytes: 1 << 50, DoneBytes: int64(t.Seconds())}
		}},
		{"hours_left", 25 * time.Second, func(t time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: 1, ListedBytes: 100_000, DoneBytes: 10 * int64(t.Seconds())}
		}},
		{"waits", 125 * time.Second, func(t time.Duration) progress.Snapshot {
			s := min(int64(t.Seconds()), 5)
			return progress.Snapshot{ListedObjects: 97, DoneObjects: 64 * s / 5, ListedBytes: 33 * mib, DoneBytes: 22 * mib * s / 5}
		}},
		{"impossible", 25 * time.Second, func(t time.Duration) progress.Snapshot {
			s := int64(t.Seconds())
			return progress.Snapshot{ListedObjects: 3, DoneObjects: 9, ListedBytes: 5, DoneBytes: 1000 - 40*s, Records: s}
		}},
		{"nearly_done", 15 * time.Second, func(t time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: 2, DoneObjects: 1, ListedBytes: 100_000, DoneBytes: 99_999}
		}},
		{"negative", 15 * time.Second, func(t time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: -1, DoneObjects: -1, ListedBytes: -5, DoneBytes: -5, Records: -1}
		}},
		{"short", 3 * time.Second, func(t time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: 2, DoneObjects: 2, ListedBytes: 6 * mib, DoneBytes: 6 * mib, Records: 1234}
		}},
		{"at_once", 0, func(t time.Duration) progress.Snapshot {
			return progress.Snapshot{ListedObjects: 2, DoneObjects: 2, ListedBytes: 6 * mib, DoneBytes: 6 * mib, Records: 1234}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := play(t, tc.runs, tc.job)
			for _, bad := range []string{"NaN", "Inf", "-"} {
				if strings.Contains(got, bad) {
					t.Errorf("the output has %s:\n%s", bad, got)
				}
			}
			golden := filepath.Join("testdata", tc.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// play lets a job run with a clock of its own and returns what was shown.
func play(t *testing.T, runs time.Duration, j job) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		begun := time.Now()
		d := progress.Start(&out, progress.Auto, func() progress.Snapshot { return j(time.Since(begun)) }, progress.Options{})
		time.Sleep(runs)
		synctest.Wait()
		d.Stop()
	})
	return out.String()
}

func TestTheIntervalIsAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := progress.Start(&out, progress.Plain, func() progress.Snapshot { return progress.Snapshot{} }, progress.Options{Interval: time.Second})
		time.Sleep(5500 * time.Millisecond)
		d.Stop()
		if n := strings.Count(out.String(), "\n"); n != 6 {
			t.Errorf("%d lines in 5.5 s, want 5 and the last:\n%s", n, out.String())
		}
	})
}

func TestNoneShowsNothingAndLetsOtherLinesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		calls := 0
		d := progress.Start(&out, progress.None, func() progress.Snapshot { calls++; return progress.Snapshot{} }, progress.Options{})
		if _, err := io.WriteString(d, "a warning\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls != 0 {
			t.Errorf("asked %d times", calls)
		}
		d.Stop()
		if out.String() != "a warning\n" {
			t.Errorf("got %q", out.String())
		}
	})
}

func TestStop(t *testing.T) {
	t.Run("shows the last state once, and nothing runs after it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
			var out bytes.Buffer
			calls := 0
			d := progress.Start(&out, progress.Plain, func() progress.Snapshot { calls++; return progress.Snapshot{} }, progress.Options{})
			time.Sleep(time.Second)
			d.Stop()
			d.Stop()
			after := calls
			time.Sleep(time.Minute)
			if after != 1 || calls != 1 || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%d calls, then %d; output\n%s", after, calls, out.String())
			}
		})
	})
	t.Run("waits for a snapshot that is being taken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var taking bool
			d := progress.Start(io.Discard, progress.Plain, func() progress.Snapshot {
				if taking {
					t.Error("two snapshots at once")
				}
				taking = true
				time.Sleep(3 * time.Second)
				taking = false
				return progress.Snapshot{}
			}, progress.Options{Interval: time.Second})
			time.Sleep(2 * time.Second)
			d.Stop()
			if taking {
				t.Error("Stop did not wait")
			}
		})
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestABrokenOutputStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := progress.Start(broken{}, progress.Plain, func() progress.Snapshot { return progress.Snapshot{} }, progress.Options{})
		time.Sleep(time.Minute)
		d.Stop()
	})
}

func TestAModeIsGivenByItsName(t *testing.T) {
	for name, want := range map[string]progress.Mode{"auto": progress.Auto, "plain": progress.Plain, "none": progress.None} {
		if got, err := progress.ParseMode(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := progress.ParseMode("fancy"); err == nil || err.Error() != `progress "fancy": choose auto, plain or none` {
		t.Errorf("got %v", err)
	}
}
