package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

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
}

func TestAUnitThatIsNotSettledYet(t *testing.T) {
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
		for name, m := range map[string]struct {
			before    string
			meanwhile func(*world)
		}{
			"done":      {"Repeat", func(w *world) { w.done("j", "a") }},
			"repeated":  {"Repeat", func(w *world) { w.must(nil, w.l.Repeat(t.Context(), w.ref("j", "a"), 0)) }},
			"halted":    {"Empty", func(w *world) { w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied})) }},
			"redriven":  {"Empty", func(w *world) { w.must(w.l.Redrive(t.Context(), "j", 1)) }},
			"cancelled": {"Empty", func(w *world) { w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled)) }},
		} {
			w := newWorld(t)
			w.opened("j", "a")
			time.Sleep(11 * time.Minute)
			w.fail = func(call, _ string) error {
				if call == m.before {
					m.meanwhile(w)
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
