package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// INV-8: what the feed's deliveries call never feeds it.
func TestATriggerEndsItsJobAndNeverSends(t *testing.T) {
	t.Run("a job whose counters agree is proved, concluded, reported, announced and retired", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b")
		w.done("j", "a", "b")
		w.trigger("j")
		w.ended("j", ledger.Completed)
		effects := slices.DeleteFunc(slices.Clone(w.calls), func(c string) bool {
			return !slices.Contains([]string{"Conclude", "Put", "Announce", "Retire"}, c)
		})
		if got := strings.Join(effects, " "); got != "Conclude Put Put Announce Retire" {
			t.Errorf("effects %s", got)
		}
	})
	t.Run("one whose counters do not agree is not even counted", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b")
		w.done("j", "a")
		w.trigger("j")
		w.wantState("j", ledger.Running)
		if w.called("Prove") > 0 {
			t.Error("counted")
		}
	})
	t.Run("one whose listing goes on is not ended", func(t *testing.T) {
		w := newWorld(t)
		w.begun("j", "a")
		w.done("j", "a")
		w.trigger("j")
		w.wantState("j", ledger.Listing)
	})
	t.Run("one that ended is left to who ended it", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.done("j", "a")
		w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Completed))
		w.trigger("j")
		if len(w.reports)+len(w.announced) > 0 {
			t.Errorf("reports %d, announced %d", len(w.reports), len(w.announced))
		}
	})
	bubble(t, "whatever is due", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b", "c")
		i := w.receive("j", "a", 1)
		w.must(nil, w.l.Pause(t.Context(), w.ref("j", "a"), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
		w.must(w.l.Redrive(t.Context(), "j", 1))
		for range 3 {
			time.Sleep(time.Hour)
			w.trigger("j")
		}
		w.dead("j", "a")
		w.dead("j", "b")
		w.done("j", "c")
		w.trigger("j")
		w.ended("j", ledger.Failed)
		if w.called("Send") > 0 {
			t.Error("a trigger sent")
		}
	})
	t.Run("an unknown job is an error", func(t *testing.T) {
		if err := newWorld(t).shared().Triggered(t.Context(), "j"); !errors.Is(err, ledger.ErrNoJob) {
			t.Error(err)
		}
	})
}

func TestATickProves(t *testing.T) {
	t.Run("when the counters agree, at once", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.done("j", "a")
		w.must(nil, w.tick())
		w.ended("j", ledger.Completed)
	})
	var ids []unit.ID
	for n := range 20 {
		ids = append(ids, unit.ID(fmt.Sprintf("%02d", n)))
	}
	bubble(t, "when they do not, once they stood still, once", func(t *testing.T) {
		w := newWorld(t)
		w.lag = 17
		w.listed("j", ids...)
		w.done("j", ids[1:]...)
		w.ticks(5)
		if n := w.called("Prove"); n != 1 {
			t.Errorf("proved %d times", n)
		}
		w.done("j", ids[0])
		w.ticks(1)
		w.wantState("j", ledger.Running)
		w.ticks(1)
		w.ended("j", ledger.Completed)
	})
	// uncounted is how long a job takes to end whose last unit became done without
	// a count, when they had stood still for a while with some units lacking.
	uncounted := func(t *testing.T, lacking int) time.Duration {
		w := newWorld(t)
		w.backlog = true
		w.listed("j", ids...)
		w.done("j", ids[lacking:]...)
		w.ticks(3)
		p, err := w.l.Progress(t.Context(), "j", 1)
		w.must(p, err)
		w.done("j", ids[:lacking]...)
		began := time.Now()
		f := finalizer.NewShared(frozen{wired{w.l, w}, p}, w, w.opt)
		for range 9 {
			w.must(nil, f.Tick(t.Context()))
			time.Sleep(time.Minute)
		}
		w.ended("j", ledger.Completed)
		return w.meta("j").Ended.Sub(began)
	}
	bubble(t, "units that became done without a count, at the next look where they are few", func(t *testing.T) {
		if took := uncounted(t, 16); took > time.Minute {
			t.Errorf("took %v", took)
		}
	})
	bubble(t, "and when the window is over where they are many, a backlog notwithstanding", func(t *testing.T) {
		if took := uncounted(t, 17); took < 6*time.Minute || took > 8*time.Minute {
			t.Errorf("took %v", took)
		}
	})
	bubble(t, "but not each minute for ever", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: "denied"}))
		w.ticks(120)
		if n := w.called("Prove"); n > 9+12 {
			t.Errorf("proved %d times in two hours", n)
		}
	})
}

// frozen is a ledger whose counters miss whatever happens.
type frozen struct {
	finalizer.Ledger
	at ledger.Progress
}

func (f frozen) Progress(context.Context, string, int) (ledger.Progress, error) { return f.at, nil }

func TestAListingThatBrokeOffGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.begun("j", "a")
		want := func(lists int, when string) {
			t.Helper()
			w.must(nil, w.tick())
			if n := w.called("List"); n != lists {
				t.Errorf("%s: %d listers started, want %d", when, n, lists)
			}
		}
		want(0, "while the lease stands")
		time.Sleep(ledger.LeaseTime + time.Second)
		want(1, "after it ended")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: "denied"}))
		want(1, "while halted")
		w.must(w.l.Resume(t.Context(), "j", "denied"))
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
		want(2, "while its sink is down: with no unit open, only a new one can be the probe")
		w.must(w.l.Resume(t.Context(), "j", failure.SinkDown))
		w.out()
		w.fail = func(call, _ string) error {
			if call == "List" {
				return errFault
			}
			return nil
		}
		if err := w.tick(); !errors.Is(err, errFault) {
			t.Errorf("lister that does not start: %v", err)
		}
		w.wantOut("a") // what is published is sent all the same
		w.fail = nil
		w.must(w.l.Lease(t.Context(), ledger.Lease{Job: "j", Run: 1, Holder: "another"}))
		want(3, "while another holds the lease")
		w.must(nil, w.l.Finish(t.Context(), ledger.Lease{Job: "j", Run: 1, Holder: "another"}))
		time.Sleep(time.Hour)
		want(3, "once it is listed")
	})
}

func TestOneJobKeepsNoOtherFromItsTurn(t *testing.T) {
	jobs := strings.Fields("a b c d e f g h i k l m")
	t.Run("by its error", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Jobs = 2
		for _, j := range jobs {
			w.listed(j, "u")
			w.done(j, "u")
		}
		w.fail = func(_, job string) error {
			if job == "c" {
				return errFault
			}
			return nil
		}
		if err := w.tick(); !errors.Is(err, errFault) || !strings.Contains(err.Error(), "job c") || strings.Contains(err.Error(), "job d") {
			t.Errorf("tick: %v", err)
		}
		for _, j := range jobs {
			if j != "c" {
				w.ended(j, ledger.Completed)
			}
		}
		w.wantState("c", ledger.Running)
	})
	// hang makes the calls of a job last as long as they may.
	hang := func(w *world, which ...string) *finalizer.Shared {
		return finalizer.NewShared(slow{wired{w.l, w}, which}, w, w.opt)
	}
	bubble(t, "by its slowness, while there are slots", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Jobs = 4
		for _, j := range jobs {
			w.listed(j, "u")
			w.done(j, "u")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := hang(w, "a", "b", "c").Tick(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("tick: %v", err)
		}
		if ctx.Err() != nil {
			t.Error("the tick took all of its time")
		}
		for _, j := range jobs[3:] {
			w.ended(j, ledger.Completed)
		}
	})
	bubble(t, "by its slowness, where there is one slot", func(t *testing.T) {
		for range 8 { // in either order
			w := newWorld(t)
			w.opt.Jobs = 1
			for _, j := range jobs[:2] {
				w.listed(j, "u")
				w.done(j, "u")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_ = hang(w, "a").Tick(ctx)
			cancel()
			w.ended("b", ledger.Completed)
		}
	})
	bubble(t, "by its slowness, for ever", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Jobs = 1
		var stuck []string
		for n := range 60 { // more than half of what is left of a minute can be halved
			stuck = append(stuck, fmt.Sprintf("%02d", n))
		}
		for _, j := range append(stuck, jobs...) {
			w.listed(j, "u")
			w.done(j, "u")
		}
		ticks := 0
		for ; len(w.live()) > len(stuck) && ticks < 400; ticks++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_ = hang(w, stuck...).Tick(ctx)
			cancel()
		}
		for _, j := range jobs {
			w.ended(j, ledger.Completed)
		}
		t.Logf("%d ticks", ticks)
	})
	bubble(t, "and the only one has time to say why", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "u")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		began := time.Now()
		if err := hang(w, "j").Tick(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("tick: %v; its context: %v", err, ctx.Err())
		}
		if took := time.Since(began); took < 2*time.Minute || took >= 3*time.Minute {
			t.Errorf("gave up after %v of 3 minutes", took)
		}
	})
	t.Run("a tick without time says who waits", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "u")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		w.meanwhile, w.at = cancel, 1
		if err := w.shared().Tick(ctx); err == nil {
			t.Error("no error")
		}
	})
}

// slow is a ledger that does not answer for some jobs.
type slow struct {
	finalizer.Ledger
	jobs []string
}

func (s slow) Progress(ctx context.Context, job string, run int) (ledger.Progress, error) {
	if slices.Contains(s.jobs, job) {
		<-ctx.Done()
		return ledger.Progress{}, ctx.Err()
	}
	return s.Ledger.Progress(ctx, job, run)
}

func TestTicksAndTriggersAtOnceEndEveryJob(t *testing.T) {
	w := newWorld(t)
	w.opt.Resends = -1
	jobs := strings.Fields("a b c d e f")
	for _, j := range jobs {
		w.listed(j, "u", "v")
		w.must(w.l.Resume(t.Context(), j, ""))
		w.must(w.l.Redrive(t.Context(), j, 1))
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 20 {
				if err := w.shared().Tick(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, j := range jobs {
		wg.Go(func() {
			for _, id := range []string{"u", "v"} {
				if _, err := w.l.Done(t.Context(), ledger.Ref{Job: j, Run: 1, ID: unit.ID(id)}, ledger.Counts{}); err != nil {
					t.Error(err)
				}
				if err := w.shared().Triggered(t.Context(), j); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	w.must(nil, w.tick())
	for _, j := range jobs {
		w.ended(j, ledger.Completed)
	}
}

func TestWhatIsDueGoesOutInBatches(t *testing.T) {
	for says, c := range map[string]struct{ units, key, sends int }{
		"of a hundred":  {250, 4, 3},
		"of a mebibyte": {200, 12_000, 3},
	} {
		t.Run(says, func(t *testing.T) {
			w := newWorld(t)
			lease := w.begun("j")
			p := ledger.Page{After: "z", Last: "zz"}
			for n := range c.units {
				p.Units = append(p.Units, planned(t, "j", 1, unit.ID(fmt.Sprintf("%0*d", c.key, n)), 1))
			}
			p, _, err := w.l.Publish(t.Context(), lease, p)
			w.must(p, err)
			w.must(nil, w.l.Advance(t.Context(), lease, p))
			w.must(nil, w.l.Finish(t.Context(), lease))
			once := func(what string) {
				t.Helper()
				w.calls = nil
				w.must(nil, w.tick())
				if n := w.called("Send"); n != c.sends {
					t.Errorf("%s: %d sends, want %d", what, n, c.sends)
				}
				got := strings.Fields(w.out())
				slices.Sort(got)
				if n := len(slices.Compact(got)); n != c.units || len(got) != n {
					t.Errorf("%s: %d messages of %d units, want %d", what, len(got), n, c.units)
				}
			}
			w.must(w.l.Redrive(t.Context(), "j", 1))
			once("sweep")
			for _, u := range p.Units {
				i := w.receive("j", u.ID, 1)
				w.must(nil, w.l.Pause(t.Context(), w.ref("j", u.ID), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
			}
			once("todos")
			if n := w.called("Sent"); n != c.units {
				t.Errorf("%d todos removed", n)
			}
			w.must(nil, w.tick())
			w.wantOut("")
		})
	}
}

func TestATodoThatCannotBeReadKeepsNoOther(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b")
	for _, id := range []unit.ID{"a", "b"} {
		i := w.receive("j", id, 1)
		w.must(nil, w.l.Pause(t.Context(), w.ref("j", id), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
	}
	bodies := 0
	w.fail = func(call, _ string) error {
		if call == "Body" {
			if bodies++; bodies == 1 {
				return errFault
			}
		}
		return nil
	}
	if err := w.tick(); !errors.Is(err, errFault) || !strings.Contains(err.Error(), "unit a") {
		t.Errorf("tick: %v", err)
	}
	w.wantOut("b")
	w.must(nil, w.tick())
	w.wantOut("a")
}

func TestACancelledJobIsReported(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b", "c")
	w.done("j", "a")
	w.dead("j", "b")
	w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: "denied", Detail: "s3:GetObject"}))
	w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled))
	w.must(nil, w.tick())
	r := w.ended("j", ledger.Cancelled)
	if r.Units != (report.Units{Planned: 3, Done: 1, Dead: 1, Missing: 1}) || r.Missing[0].Key != "key-c" || r.Missing[0].Reason != "missing" {
		t.Errorf("units %+v, missing %+v", r.Units, r.Missing)
	}
	w.wantOut("")
}
