package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/boltledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
	"github.com/spate-go/spate/pkg/unit"
)

// outage is a job whose sink answers as its script says, over a feed that holds
// less than a page of what is listed.
type outage struct {
	*Job
	data  *dataSet
	rows  *capturesink.Sink
	calls atomic.Int64 // of the sink
	tries atomic.Int64 // of them while it was down
	told  []string     // what it was told of the sink, and when
	began time.Time
}

const feedHolds = 3

func newOutage(t *testing.T, disk bool, outcome func(time.Duration) capturesink.Outcome) *outage {
	t.Helper()
	return newFaultyOutage(t, new(spatetest.Faults), manyUnits(), disk, outcome)
}

func newFaultyOutage(t *testing.T, f *spatetest.Faults, data *dataSet, disk bool, outcome func(time.Duration) capturesink.Outcome) *outage {
	t.Helper()
	o := &outage{data: data, began: time.Now()}
	bucket := &memobject.Bucket{PageSize: 7}
	for key, b := range o.data.objects {
		bucket.Put(key, b)
	}
	o.rows = spatetest.Capture(t, capturesink.Options{Dedup: true, Script: func(int, capturesink.Call) capturesink.Outcome {
		o.calls.Add(1)
		is := outcome(time.Since(o.began))
		if is != capturesink.OK {
			o.tries.Add(1)
		}
		return is
	}})
	fd := memfeed.New(memfeed.Options{Cap: 4, Capacity: feedHolds})
	d := drivers{bucket: bucket, ledger: memledger.New(), feed: fd, sender: f.Sender(fd), sink: o.rows, sinkType: "capture"}
	if disk {
		b, err := boltledger.Open(filepath.Join(t.TempDir(), "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		d.state, d.ledger = state{dir: t.TempDir(), ledger: b}, b
	}
	opt := Options{Log: slog.New(slog.DiscardHandler), down: func(h *ledger.Halt) {
		o.told = append(o.told, fmt.Sprintf("%v %t", time.Since(o.began).Round(time.Second), h != nil))
	}}
	j, err := join(t.Context(), testConfig(t), Pipeline{}, opt.withDefaults(), location{Place: s3url.Place{Bucket: "b"}}, &d)
	if err != nil {
		t.Fatal(err)
	}
	o.Job = j
	return o
}

// manyUnits are objects that are a unit each.
func manyUnits() *dataSet {
	d := &dataSet{map[string][]byte{}, map[string]bool{}, false}
	pad := strings.Repeat("x", 1<<17)
	for i := range 21 {
		var b bytes.Buffer
		for n := range 9 {
			row := fmt.Sprintf(`{"file":%d,"n":%d,"pad":%q}`, i, n, pad)
			d.rows[row] = true
			b.WriteString(row + "\n")
		}
		d.objects[fmt.Sprintf("k-%02d", i)] = b.Bytes()
	}
	return d
}

func (o *outage) ends(t *testing.T, ctx context.Context) *report.Report {
	t.Helper()
	r, err := o.Run(ctx)
	if err := errors.Join(err, o.Close()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (o *outage) exact(t *testing.T) {
	t.Helper()
	got := o.rows.Counts()
	for row := range o.data.rows {
		if got[row] != 1 {
			t.Fatalf("row %.40s is there %d times", row, got[row])
		}
	}
}

// down is a sink that is down from one time to another.
func down(from, to time.Duration) func(time.Duration) capturesink.Outcome {
	return func(now time.Duration) capturesink.Outcome {
		if from <= now && now < to {
			return capturesink.Down
		}
		return capturesink.OK
	}
}

func TestAJobWaitsForASinkThatIsDown(t *testing.T) {
	for _, disk := range []bool{false, true} {
		t.Run(fmt.Sprintf("on disk %t", disk), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(t, disk, down(0, 10*time.Minute+30*time.Second))
				r := o.ends(t, t.Context())
				checkVerdict(t, r, false, int64(len(o.data.rows)))
				o.exact(t)
				if fmt.Sprint(o.told) != "[0s true 11m0s false]" {
					t.Errorf("told %q", o.told)
				}
				// What was at hand when it went down, and one unit a minute.
				if n := o.tries.Load(); n < 11 || n > int64(10+o.held) {
					t.Errorf("the sink was tried %d times while it was down", n)
				}
			})
		})
	}
}

func TestASinkThatIsDownAgainIsWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, second = 3*time.Minute + 30*time.Second, 7 * time.Minute
		var up, again atomic.Int64
		o := newOutage(t, false, func(now time.Duration) capturesink.Outcome {
			switch {
			case now < first:
				return capturesink.Down
			case up.Add(1) > 5 && now < second:
				again.Add(1)
				return capturesink.Down
			}
			return capturesink.OK
		})
		r := o.ends(t, t.Context())
		checkVerdict(t, r, false, int64(len(o.data.rows)))
		o.exact(t)
		if len(o.told) != 4 {
			t.Errorf("told %q", o.told)
		}
		// What was a probe is none when it is sent with the others.
		if n := again.Load(); n > int64(o.held)+3 {
			t.Errorf("the sink was tried %d times while it was down again", n)
		}
	})
}

func TestTheEndOfTheWaitIsToldThoughAProbeIsTheLastUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all atomic.Int64
		var o *outage
		o = newOutage(t, false, func(now time.Duration) capturesink.Outcome {
			p, _ := o.ledger.Progress(t.Context(), o.name, 1)
			if m, err := o.ledger.Meta(t.Context(), o.name); err == nil && m.Listed && p.Planned-p.Done == 1 && all.Add(1) == 1 {
				return capturesink.Down
			}
			return capturesink.OK
		})
		o.held = 1 // so that some write sees one unit left
		checkVerdict(t, o.ends(t, t.Context()), false, int64(len(o.data.rows)))
		if fmt.Sprint(o.told) != "[0s true 1m0s false]" {
			t.Errorf("told %q", o.told)
		}
	})
}

// What cannot be sent waits on (INV-7).
func TestNoSingleFaultOfASendShowsWhileTheSinkIsDown(t *testing.T) {
	data := newDataSet(t, false)
	for _, applied := range []bool{false, true} {
		n := 1
		for ; ; n++ {
			f := &spatetest.Faults{Op: spatetest.OpSend, At: n, Applied: applied}
			synctest.Test(t, func(t *testing.T) {
				o := newFaultyOutage(t, f, data, false, down(0, 90*time.Second))
				checkVerdict(t, o.ends(t, t.Context()), false, int64(len(o.data.rows)))
				o.exact(t)
			})
			if t.Failed() {
				t.Fatalf("send %d, applied %t", n, applied)
			}
			if f.Seen() < n {
				break
			}
		}
		t.Logf("%d sends failed", n-1)
	}
}

// sends is a feed.Sender.
type sends func(feed.Message)

func (s sends) Send(_ context.Context, ms ...feed.Message) error {
	for _, m := range ms {
		s(m)
	}
	return nil
}

func TestWhatIsHaltedAgainWhileItIsSentWaits(t *testing.T) {
	var w waiting
	w.feed = sends(func(m feed.Message) {
		if m.Probe {
			t.Error("a probe that failed is sent as one again")
		}
		w.add(m)
	})
	w.add(feed.Message{Job: "j", Probe: true})
	if err := w.release(t.Context()); err != nil || !w.any() {
		t.Errorf("it is lost: %v", err)
	}
}

// A page is listed at once, and a halt may last: what waits in this process is what
// the feed and the readers held.
func TestNothingMoreIsSentWhileTheSinkIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, false, down(0, 5*time.Minute))
		ended := make(chan *report.Report)
		go func() { ended <- o.ends(t, t.Context()) }()
		for range 4 {
			time.Sleep(time.Minute)
			synctest.Wait()
			o.waits.mu.Lock()
			n := len(o.waits.messages)
			o.waits.mu.Unlock()
			if n < 1 || n > feedHolds+o.held+1 {
				t.Errorf("%d units wait", n)
			}
		}
		checkVerdict(t, <-ended, false, int64(len(o.data.rows)))
	})
}

func TestAProbeIsAnotherUnitEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, false, down(0, 4*time.Minute+30*time.Second))
		r := o.ends(t, t.Context())
		checkVerdict(t, r, false, int64(len(o.data.rows)))
		var tried []unit.ID
		for _, c := range o.rows.Calls() {
			if c.Outcome == capturesink.Down {
				tried = append(tried, c.Block.Unit)
			}
		}
		probes := tried[max(0, len(tried)-4):]
		slices.Sort(probes)
		if n := len(slices.Compact(probes)); n < feedHolds {
			t.Errorf("four probes were of %d units, and at least %d wait", n, feedHolds)
		}
	})
}

func TestAnInterruptEndsTheWaitForASink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		o := newOutage(t, false, down(0, time.Hour))
		r := o.ends(t, ctx)
		if r.State != report.Halted || !waited(r) {
			t.Errorf("report %+v", r)
		}
		var e *exitError
		if err := verdict(ctx, r, runFlags{}); !errors.As(err, &e) || e.code != exitInterrupted {
			t.Errorf("verdict %v", err)
		}
		if d := time.Since(o.began); d > 151*time.Second {
			t.Errorf("it ended after %v", d)
		}
	})
}

func TestAnotherHaltThatAProbeMeetsEndsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, false, func(now time.Duration) capturesink.Outcome {
			if now < 30*time.Second {
				return capturesink.Down
			}
			return capturesink.Fatal
		})
		r := o.ends(t, t.Context())
		if r.State != report.Halted || waited(r) {
			t.Errorf("report %+v", r)
		}
	})
}

func TestUnitsThatEndAfterTheStopMayCompleteTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var o *outage
		o = newOutage(t, false, func(time.Duration) capturesink.Outcome {
			m, err := o.ledger.Meta(t.Context(), o.name)
			if p, _ := o.ledger.Progress(t.Context(), o.name, m.Run); err == nil && m.Listed && p.Done >= p.Planned-1 {
				cancel() // the last unit is at hand
				time.Sleep(time.Second)
			}
			return capturesink.OK
		})
		r := o.ends(t, ctx)
		if ctx.Err() == nil {
			t.Fatal("the stop did not come before the end")
		}
		checkVerdict(t, r, false, int64(len(o.data.rows)))
		if err := verdict(ctx, r, runFlags{}); err != nil {
			t.Errorf("verdict %v", err)
		}
	})
}
