package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func TestAUnitOfAContinuousJobThatNobodyWorksOn(t *testing.T) {
	bubble(t, "is sent again three times, a window apart, and then given up as missing", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a")
		w.ticks(11)
		w.wantOut("")
		for n := 1; n <= 3; n++ {
			w.ticks(1)
			w.wantOut("a")
			w.wantUnit("j", "a", ledger.Open, n)
			w.ticks(10)
			w.wantOut("")
		}
		w.wantUnit("j", "a", ledger.Open, 3)
		w.ticks(1)
		if c := w.wantUnit("j", "a", ledger.Dead, 3).Cause; c == nil || c.Reason != failure.Missing || c.Objects[0].Key != "key-a" || c.Record != -1 || !strings.Contains(c.Detail, "3 times") {
			t.Errorf("cause %+v", c)
		}
		w.ticks(60)
		w.wantOut("")
		w.wantState("j", ledger.Running)
	})
	bubble(t, "is given up at once with re-sends off", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Resends = -1
		w.opened("j", "a")
		w.ticks(12)
		w.wantOut("")
		w.wantUnit("j", "a", ledger.Dead, 0)
	})
	bubble(t, "has a window of its own, whatever others do", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b")
		for range 12 {
			w.ticks(1)
			w.must(nil, w.l.Touch(t.Context(), w.ref("j", "b")))
		}
		w.wantOut("a")
		w.enter("j", "c")
		w.ticks(5)
		w.wantOut("")
		w.ticks(7)
		w.wantOut("a b c")
	})
	bubble(t, "at its last delivery crashed, and its faulty members alone are named where the rest is delivered", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a")
		i := w.receive("j", "a", limit)
		w.must(nil, w.l.Fault(t.Context(), w.ref("j", "a"), i.Serial, ledger.Fault{Record: 7, Reason: failure.Undecodable, Detail: "bad"}))
		w.must(nil, w.l.RestDone(t.Context(), w.ref("j", "a"), i.Serial, ledger.Counts{}))
		w.ticks(10)
		w.wantUnit("j", "a", ledger.Open, 0)
		w.ticks(2)
		if c := w.wantUnit("j", "a", ledger.Dead, 0).Cause; c == nil || c.Reason != failure.Crashed || len(c.Faults) != 1 || c.Record != 7 {
			t.Errorf("cause %+v", c)
		}
		w.wantOut("")
	})
	bubble(t, "waits while the feed is not empty, at most for its retention", func(t *testing.T) {
		w := newWorld(t)
		w.backlog = true
		w.opt.Retention = 3 * time.Hour
		w.opened("j", "a")
		w.ticks(180)
		w.wantOut("")
		w.ticks(2)
		w.wantOut("a")
	})
	bubble(t, "is not known to wait where the feed cannot be asked", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Empty = nil
		w.opened("j", "a")
		w.ticks(12)
		w.wantOut("a")
		w.opt.Empty = func(context.Context) (bool, error) { return true, errFault }
		time.Sleep(15 * time.Minute)
		if err := w.tick(); !errors.Is(err, errFault) {
			t.Errorf("tick: %v", err)
		}
		w.wantOut("")
	})
	bubble(t, "is not settled while the job is halted, nor for a window after it was resumed", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}))
		w.ticks(60)
		w.wantOut("")
		w.must(w.l.Resume(t.Context(), "j", failure.Denied))
		w.ticks(9)
		w.wantOut("a") // by the sweep
		w.wantUnit("j", "a", ledger.Open, 0)
		w.ticks(2)
		w.wantOut("a")
		w.wantUnit("j", "a", ledger.Open, 1)
	})
	bubble(t, "is left alone when it turns out to be at work, done, or of a job that moved on", func(t *testing.T) {
		for name, meanwhile := range map[string]func(*world){
			"done":      func(w *world) { w.done("j", "a") },
			"repeated":  func(w *world) { w.must(nil, w.l.Repeat(t.Context(), w.ref("j", "a"), 0)) },
			"halted":    func(w *world) { w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied})) },
			"redriven":  func(w *world) { w.must(w.l.Redrive(t.Context(), "j", 1)) },
			"cancelled": func(w *world) { w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled)) },
		} {
			w := newWorld(t)
			w.opened("j", "a")
			time.Sleep(11 * time.Minute)
			w.fail = func(call, _ string) error {
				if call == "Empty" {
					meanwhile(w)
				}
				return nil
			}
			w.must(nil, w.tick())
			if got := w.out(); got != "" {
				t.Errorf("%s: sent %q", name, got)
			}
		}
	})
	bubble(t, "that woke keeps its unit", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a")
		w.receive("j", "a", limit)
		time.Sleep(11 * time.Minute)
		w.fail = func(call, _ string) error {
			if call == "Dead" {
				w.receive("j", "a", 1)
			}
			return nil
		}
		w.must(nil, w.tick())
		w.wantUnit("j", "a", ledger.Open, 0)
	})
	bubble(t, "keeps none from being sent by its body, which cannot be read", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j", "a", "b")
		time.Sleep(11 * time.Minute)
		n := 0
		w.fail = func(call, _ string) error {
			if n++; call == "Body" && n > 0 {
				n = -100
				return errFault
			}
			return nil
		}
		if err := w.tick(); !errors.Is(err, errFault) {
			t.Errorf("tick: %v", err)
		}
		w.wantOut("b")
		w.wantUnit("j", "a", ledger.Open, 0)
		w.fail = nil
		w.ticks(1)
		w.wantOut("a")
	})
}

// What is counted and not sent waits for the next window; what cannot be counted
// is not sent.
func TestARepeatIsCountedBeforeItIsSent(t *testing.T) {
	for call, want := range map[string]int{"Repeat": 0, "Send": 1} {
		bubble(t, "where "+call+" fails", func(t *testing.T) {
			w := newWorld(t)
			w.opened("j", "a")
			time.Sleep(11 * time.Minute)
			w.fail = func(c, _ string) error {
				if c == call {
					return errFault
				}
				return nil
			}
			for range 5 {
				if err := w.tick(); want == 0 && !errors.Is(err, errFault) {
					t.Errorf("tick: %v", err)
				}
				time.Sleep(time.Minute)
			}
			w.wantOut("")
			w.wantUnit("j", "a", ledger.Open, want)
		})
	}
}

func TestManyUnitsOfAContinuousJobAreSettledInBatches(t *testing.T) {
	bubble(t, "and at most so many a look", func(t *testing.T) {
		w := newWorld(t)
		w.opened("j")
		const n = 10_250
		for i := range n {
			w.enter("j", unit.ID(fmt.Sprintf("u%05d", i)))
		}
		time.Sleep(11 * time.Minute)
		w.must(nil, w.tick())
		if len(w.sent) != 10_000 || w.called("Send") != 100 {
			t.Errorf("sent %d in %d batches", len(w.sent), w.called("Send"))
		}
		w.must(nil, w.tick())
		if len(w.sent) != n {
			t.Errorf("sent %d", len(w.sent))
		}
	})
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
		w.ticks(60)
		w.wantState("j", ledger.Running)
		if w.called("Prove")+w.called("Conclude") != 0 || len(w.live()) != 1 {
			t.Errorf("calls %v", w.calls)
		}
	})
}

func TestKeysThatAreToBeLookedAtAgain(t *testing.T) {
	again := func(w *world, keys ...string) {
		w.Helper()
		for _, k := range keys {
			w.must(nil, w.l.Again(w.Context(), "j", unit.Object{Key: k, ETag: "e", Again: 1}))
		}
	}
	left := func(w *world) (keys []string) {
		w.Helper()
		w.must(nil, w.l.Keys(w.Context(), "j", func(k ledger.KeyTodo) error { keys = append(keys, k.Object.Key); return nil }))
		return keys
	}
	taking := func(t *testing.T, why func(key string) error) (*world, *[]string) {
		w, taken := newWorld(t), &[]string{}
		w.opened("j")
		w.opt.Take = func(_ context.Context, m ledger.Meta, objects []unit.Object) ([]error, error) {
			return call(w, "Take", m.Job, func() (errs []error, err error) {
				for _, o := range objects {
					if o.Again != 1 || len(objects) > ledger.MaxClaims {
						t.Errorf("took %+v of %d", o, len(objects))
					}
					errs = append(errs, why(o.Key))
					*taken = append(*taken, o.Key)
				}
				return errs, nil
			})
		}
		return w, taken
	}
	fine := func(string) error { return nil }
	bubble(t, "are taken, once", func(t *testing.T) {
		w, taken := taking(t, fine)
		again(w, "a", "b")
		w.ticks(3)
		if !slices.Equal(*taken, []string{"a", "b"}) || len(left(w)) > 0 {
			t.Errorf("took %v, left %v", *taken, left(w))
		}
	})
	bubble(t, "in batches", func(t *testing.T) {
		w, taken := taking(t, fine)
		for i := range 2*ledger.MaxClaims + 1 {
			again(w, fmt.Sprint(i))
		}
		w.ticks(1)
		if len(*taken) != 2*ledger.MaxClaims+1 || w.called("Take") != 3 || len(left(w)) > 0 {
			t.Errorf("took %d in %d", len(*taken), w.called("Take"))
		}
	})
	bubble(t, "stay if they were put again meanwhile", func(t *testing.T) {
		w, taken := taking(t, nil)
		w.opt.Take = func(context.Context, ledger.Meta, []unit.Object) ([]error, error) {
			if *taken = append(*taken, "a"); len(*taken) == 1 {
				again(w, "a")
			}
			return []error{nil}, nil
		}
		again(w, "a")
		w.ticks(3)
		if len(*taken) != 2 || len(left(w)) > 0 {
			t.Errorf("took %v, left %v", *taken, left(w))
		}
	})
	bubble(t, "stay if they could not be taken, and keep no other", func(t *testing.T) {
		w, _ := taking(t, func(key string) error {
			switch key {
			case "b":
				return errFault
			case "c":
				return failure.Errorf(failure.Member, failure.NotFound, "gone")
			}
			return nil
		})
		again(w, "a", "b", "c", "d")
		if err := w.tick(); !errors.Is(err, errFault) {
			t.Errorf("tick: %v", err)
		}
		if got := left(w); !slices.Equal(got, []string{"b"}) {
			t.Errorf("left %v", got)
		}
	})
	bubble(t, "stay while the job is halted, and where nobody takes them", func(t *testing.T) {
		w, taken := taking(t, fine)
		again(w, "a")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}))
		w.ticks(3)
		w.must(w.l.Resume(t.Context(), "j", failure.Denied))
		w.opt.Take = nil
		w.ticks(3)
		if len(*taken) > 0 || len(left(w)) != 1 {
			t.Errorf("took %v, left %v", *taken, left(w))
		}
	})
	bubble(t, "are removed only after they were taken", func(t *testing.T) {
		w, taken := taking(t, fine)
		again(w, "a")
		w.fail = func(c, _ string) error {
			if c == "Take" {
				return errFault
			}
			return nil
		}
		if err := w.tick(); !errors.Is(err, errFault) || w.called("KeySent") > 0 || len(*taken) > 0 {
			t.Errorf("tick: %v", err)
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
		w.lag = 1
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
