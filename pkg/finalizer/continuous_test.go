package finalizer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// opened opens a continuous job and enters units of one object each.
func (w *world) opened(job string, ids ...unit.ID) {
	w.Helper()
	m, err := w.l.Open(w.Context(), job, ledger.Start{Token: "t"})
	w.must(m, err)
	w.enter(job, ids...)
}

func (w *world) enter(job string, ids ...unit.ID) {
	w.Helper()
	for _, id := range ids {
		p := planned(w, job, 1, id, 1)
		held, err := w.l.Enter(w.Context(), ledger.Entry{
			Job: job, Run: 1, Units: []ledger.Planned{p}, Claims: []ledger.Claim{{ID: unit.ObjectID("o-" + id), Unit: id}},
		})
		w.must(held, err)
	}
}

func (w *world) item(job string, id unit.ID) ledger.Item {
	w.Helper()
	i, err := w.l.Look(w.Context(), ledger.Ref{Job: job, Run: 1, ID: id})
	w.must(i, err)
	return i
}

func (w *world) wantUnit(job string, id unit.ID, s ledger.UnitState, repeats int) ledger.Item {
	w.Helper()
	i := w.item(job, id)
	if i.State != s || i.Repeats != repeats {
		w.Errorf("unit %s is %s after %d re-sends, want %s after %d", id, i.State, i.Repeats, s, repeats)
	}
	return i
}

func TestWhatIsDueOfAContinuousJob(t *testing.T) {
	bubble(t, "goes out, and does not put off the settling of others", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b")
		for range 11 {
			i := w.receive("j", "b", 1)
			w.must(nil, w.l.Pause(t.Context(), w.ref("j", "b"), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
			w.ticks(1)
			w.wantOut("b")
		}
		w.ticks(1)
		w.wantOut("a")
	})
	bubble(t, "is a probe while its sink is down", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
		w.ticks(3)
		w.wantOut("a? b? a?")
	})
	bubble(t, "is never a verdict", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b")
		w.done("j", "a")
		w.dead("j", "b")
		w.trigger("j")
		if got := strings.Join(w.calls, " "); got != "Meta" {
			t.Errorf("calls %s", got)
		}
		w.ticks(60)
		w.wantState("j", ledger.Running)
		if w.called("Prove")+w.called("Conclude") != 0 || len(w.live()) != 1 {
			t.Errorf("calls %v", w.calls)
		}
	})
}

func TestWhatGoesThroughAContinuousJob(t *testing.T) {
	bubble(t, "is measured from look to look", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b", "c")
		watch := func() ledger.Watch {
			got, err := w.l.Watch(t.Context(), "j")
			w.must(got, err)
			return got
		}
		w.done("j", "a")
		w.must(nil, w.tick())
		if got := watch(); got.PerMinute != (ledger.Flow{}) || got.Flow != (ledger.Flow{Units: 1, Objects: 1, Bytes: 100, Records: 5}) || !got.At.Equal(time.Now()) {
			t.Errorf("at first %+v", got)
		}
		time.Sleep(2 * time.Minute)
		for _, id := range []unit.ID{"b", "c"} {
			w.must(w.l.Done(t.Context(), w.ref("j", id), unit.Counts{Counts: record.Counts{In: 5}, BytesRead: 100}))
		}
		w.must(nil, w.tick())
		want := watch()
		if want.PerMinute != (ledger.Flow{Units: 1, Objects: 1, Bytes: 100, Records: 5}) {
			t.Errorf("then %+v", want)
		}
		time.Sleep(10 * time.Second) // another schedule, soon after
		w.must(nil, w.tick())
		if diff := cmp.Diff(want, watch()); diff != "" {
			t.Errorf("measured again: %s", diff)
		}
		time.Sleep(time.Minute)
		w.must(nil, w.tick())
		if got := watch(); got.PerMinute != (ledger.Flow{}) || got.Flow.Units != 3 {
			t.Errorf("at last %+v", got)
		}
	})
	bubble(t, "is measured anew in another run, and by counters that fall as nothing", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a")
		w.done("j", "a")
		w.must(nil, w.l.Watched(t.Context(), "j", ledger.Watch{Run: 7, At: time.Now().Add(-time.Minute), Since: time.Now()}))
		w.must(nil, w.tick())
		got, err := w.l.Watch(t.Context(), "j")
		if err != nil || got.PerMinute != (ledger.Flow{}) || got.Run != 1 || !got.Since.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
		time.Sleep(time.Minute)
		w.lag = 5
		w.must(nil, w.tick())
		if got, err = w.l.Watch(t.Context(), "j"); err != nil || got.PerMinute != (ledger.Flow{}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestTheReportOfAContinuousJob(t *testing.T) {
	bubble(t, "says that it runs", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b", "c", "d")
		w.done("j", "a")
		w.must(w.l.Done(t.Context(), w.ref("j", "b"), unit.Counts{Overwritten: 1}))
		w.dead("j", "c")
		r, err := finalizer.New(w.l).Report(t.Context(), "j")
		w.must(r, err)
		if r.State != report.Running || !r.Continuous || r.Units != (report.Units{Done: 2, Dead: 1, Missing: 1}) ||
			r.Objects != (report.Objects{Done: 1, Overwritten: 1, Failed: 1}) || r.Missing[0].Key != "key-d" {
			t.Errorf("%+v", r)
		}
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied, Detail: "403"}))
		if r, err = finalizer.New(w.l).Report(t.Context(), "j"); err != nil || r.State != report.Halted || r.Reason != "denied: 403" || r.Missing[0].Reason != failure.Denied {
			t.Errorf("%+v, %v", r, err)
		}
	})
	for _, who := range []string{"the schedule", "who cancelled it"} {
		bubble(t, "that was cancelled is written by "+who+", with all that was not done", func(t *testing.T) {
			w := newWorld(t)
			w.opened("j", "a", "b")
			w.done("j", "a")
			w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled))
			if who == "the schedule" {
				w.ticks(1)
			} else {
				w.trigger("j")
			}
			r := w.report("j")
			if r.State != report.Cancelled || r.Units != (report.Units{Done: 1, Missing: 1}) || r.Missing[0].Key != "key-b" || r.Missing[0].Reason != failure.Missing {
				t.Errorf("%+v", r)
			}
			if len(w.live()) > 0 || len(w.announced) != 1 {
				t.Errorf("live %v, announced %v", w.live(), w.announced)
			}
		})
	}
}

// One look finds all that can be due of a continuous job. Whichever of its calls
// fails, in whatever way, nothing is forgotten by the looks after it, and none
// gives up what is only late.
func TestEveryCallOfALookAtAContinuousJobMayFailOrBeTheLast(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		for kind, what := range faults {
			for n := 1; ; n++ {
				w := newWorld(t)
				w.opened("j", "a", "b", "c")
				i := w.receive("j", "c", 1)
				w.receive("j", "b", limit)
				w.must(nil, w.l.Again(t.Context(), "j", unit.Object{Key: "k", ETag: "e"}))
				time.Sleep(11 * time.Minute)
				w.must(nil, w.l.Pause(t.Context(), w.ref("j", "c"), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
				taken := 0
				w.opt.Take = func(context.Context, ledger.Meta, []unit.Object) ([]error, error) {
					return call(w, "Take", "j", func() ([]error, error) { taken++; return make([]error, 1), nil })
				}
				w.at, w.fault = n, kind
				_ = w.tick()
				looked := len(w.calls)
				w.read()
				for range 13 {
					time.Sleep(time.Minute)
					_ = w.tick()
					w.read()
				}
				w.must(nil, w.l.Keys(t.Context(), "j", func(ledger.KeyTodo) error { t.Error("a key is left"); return nil }))
				if b := w.wantUnit("j", "b", ledger.Dead, 0); w.item("j", "a").State != ledger.Done || w.item("j", "c").State != ledger.Done || taken == 0 || b.Cause.Reason != failure.Crashed {
					t.Errorf("a %+v, b %+v, c %+v, taken %d times", w.item("j", "a"), b, w.item("j", "c"), taken)
				}
				if t.Failed() {
					t.Fatalf("%s at call %d of %v", what, n, w.calls)
				}
				if n > looked {
					break
				}
			}
		}
	})
}
