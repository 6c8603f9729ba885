package finalizer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// life is a job from where the finalizer takes it up to its end.
type life struct {
	says   string
	set    func(*world)
	units  report.Units // at the end
	state  ledger.State
	resent int
}

// lives are jobs of units a, b and c. A unit that is sent is done, but for a,
// where it begins as crashed.
func lives() []life {
	done := report.Units{Planned: 3, Done: 3}
	return []life{
		{"all done", func(w *world) { w.done("j", "a", "b", "c") }, done, ledger.Completed, 0},
		{"all done, and counters behind", func(w *world) { w.done("j", "a", "b", "c"); w.lag = 1 }, done, ledger.Completed, 0},
		{"one dead", func(w *world) { w.dead("j", "a"); w.done("j", "b", "c") }, report.Units{Planned: 3, Done: 2, Dead: 1}, ledger.Failed, 0},
		{"messages purged", func(w *world) { w.done("j", "a") }, done, ledger.Completed, 1},
		{"messages purged, and one crashed", func(w *world) { w.receive("j", "a", limit) }, report.Units{Planned: 3, Done: 2, Dead: 1}, ledger.Failed, 1},
		{"messages purged, and re-sends off", func(w *world) {
			w.opt.Resends = -1
			w.receive("j", "a", limit)
			w.done("j", "b")
		}, report.Units{Planned: 3, Done: 1, Dead: 1, Missing: 1}, ledger.Failed, 0},
		{"paused", func(w *world) {
			for _, id := range []unit.ID{"a", "b"} {
				i := w.receive("j", id, 1)
				w.must(nil, w.l.Pause(w.Context(), w.ref("j", id), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
			}
			w.done("j", "c")
		}, done, ledger.Completed, 0},
		{"resumed", func(w *world) {
			w.must(w.l.Halt(w.Context(), "j", ledger.Halt{Reason: failure.Denied}))
			w.must(w.l.Resume(w.Context(), "j", failure.Denied))
		}, done, ledger.Completed, 0},
		{"its sink down", func(w *world) {
			w.must(w.l.Halt(w.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
		}, done, ledger.Completed, 0},
		{"cancelled", func(w *world) {
			w.done("j", "a")
			w.must(nil, w.l.Conclude(w.Context(), "j", 1, 0, ledger.Cancelled))
		}, report.Units{Planned: 3, Done: 1, Missing: 2}, ledger.Cancelled, 0},
	}
}

// read is what readers do with what was sent.
func (w *world) read() {
	w.Helper()
	for _, m := range w.sent {
		if m.Probe {
			w.must(w.l.Resume(w.Context(), "j", failure.SinkDown))
			continue
		}
		w.done("j", m.ID)
	}
	w.out()
}

// live is the job's life under the disturbance that w holds, to its end.
func (l life) live(w *world) {
	w.Helper()
	w.opt.Window = 2 * time.Minute
	w.listed("j", "a", "b", "c")
	l.set(w)
	w.toEnd()
}

// toEnd goes on until the job is retired.
func (w *world) toEnd() {
	w.Helper()
	for range 80 {
		_ = w.tick() // the next one makes it good
		w.read()
		time.Sleep(time.Minute)
		if len(w.live()) == 0 {
			return
		}
	}
	w.Fatalf("never ends: %+v", w.meta("j"))
}

func TestEveryCallMayFailOrBeTheLast(t *testing.T) {
	for _, l := range lives() {
		t.Run(l.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for kind, what := range faults {
					for n := 1; ; n++ {
						w := newWorld(t)
						w.at, w.fault = n, kind
						l.live(w)
						r := w.ended("j", l.state)
						if r.Units != l.units || w.meta("j").Resends != l.resent {
							t.Errorf("units %+v after %d re-sends, want %+v after %d", r.Units, w.meta("j").Resends, l.units, l.resent)
						}
						if t.Failed() {
							t.Fatalf("%s at call %d of %v", what, n, w.calls)
						}
						if n > len(w.calls) {
							break
						}
					}
				}
			})
		})
	}
}

// meddlers are who may come between any two calls of the finalizer.
func meddlers() map[string]func(*world) {
	return map[string]func(*world){
		"a redrive": func(w *world) { _, _ = w.l.Redrive(w.Context(), "j", 1) },
		"a late a":  func(w *world) { w.done("j", "a") },
		"late all":  func(w *world) { w.done("j", "a", "b", "c") },
		"a cancel":  func(w *world) { _ = w.l.Conclude(w.Context(), "j", 1, w.meta("j").Generation, ledger.Cancelled) },
		"a reader":  func(w *world) { w.receive("j", "a", 1) },
		"a halt, resumed": func(w *world) {
			_, _ = w.l.Halt(w.Context(), "j", ledger.Halt{Reason: failure.Denied})
			_, _ = w.l.Resume(w.Context(), "j", failure.Denied)
		},
		"another tick": func(w *world) {
			at := w.at
			w.at = 0
			w.must(nil, w.shared().Tick(w.Context()))
			w.at = at
		},
		"a trigger": func(w *world) {
			at := w.at
			w.at = 0
			w.trigger("j")
			w.at = at
		},
	}
}

// What a verdict says was so when it was written, and the last report says how
// the job stands: the world's laws.
func TestAnythingMayHappenBetweenTwoCalls(t *testing.T) {
	for _, l := range lives() {
		t.Run(l.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for who, meddle := range meddlers() {
					for n := 1; ; n++ {
						w := newWorld(t)
						w.at, w.meanwhile = n, func() { meddle(w) }
						l.live(w)
						m := w.meta("j")
						r := w.ended("j", m.State)
						c, err := w.l.Prove(t.Context(), "j", 1)
						w.must(c, err)
						// What is not in the last report came after it was written.
						if m.State == ledger.Completed && !c.Complete(m) || c.Dead != r.Units.Dead {
							t.Errorf("%s: ledger %+v, report %+v", m.State, c, r.Units)
						}
						if m.State == ledger.Failed && l.state == ledger.Completed {
							t.Errorf("failed: %s", r.Reason)
						}
						if meta := w.meta("j"); (who == "another tick" || who == "a trigger") && (meta.State != l.state || meta.Resends != l.resent) {
							t.Errorf("%s after %d re-sends, want %s after %d", meta.State, meta.Resends, l.state, l.resent)
						}
						if t.Failed() {
							t.Fatalf("%s before call %d of %v", who, n, w.calls)
						}
						if n > len(w.calls) {
							break
						}
					}
				}
			})
		})
	}
}

// Two ticks of two processes, of which one stops before each of its calls in
// turn until the other went through.
func TestATickThatSleepsChangesNothingWhenItWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, l := range lives() {
			for n := 1; ; n++ {
				w := newWorld(t)
				w.at, w.meanwhile = n, func() {
					w.at = 0
					for range 30 {
						_ = w.shared().Tick(t.Context())
						w.read()
						time.Sleep(time.Minute)
					}
				}
				l.live(w)
				r := w.ended("j", l.state)
				if r.Units != l.units {
					t.Errorf("units %+v, want %+v", r.Units, l.units)
				}
				if t.Failed() {
					t.Fatalf("%s: asleep before call %d of %v", l.says, n, w.calls)
				}
				if n > len(w.calls) || w.at != 0 {
					break
				}
			}
		}
	})
}
