package finalizer_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// The traps are numbered as the model of the protocol numbers them.

// The finalizer writes failed, an operator redrives, and the finalizer then
// removes the live item, or overwrites the later report; or it crashes in
// between and leaves none.
func TestTrap2ARedriveDuringTheReport(t *testing.T) {
	t.Run("before any of the finalizer's calls leaves the job live, and its last report last", func(t *testing.T) {
		for n := 1; ; n++ {
			w := newWorld(t)
			w.listed("j", "a", "b")
			w.dead("j", "a")
			w.done("j", "b")
			redriven := false
			w.at, w.meanwhile = n, func() {
				redriven = true
				_, err := w.l.Redrive(t.Context(), "j", 1)
				if err != nil {
					t.Errorf("redrive before call %d: %v", n, err)
				}
			}
			w.must(nil, w.tick())
			if !redriven {
				w.ended("j", ledger.Failed)
				return
			}
			if !slices.Contains(w.live(), "j") {
				t.Fatalf("redriven before call %d (%s): no longer live", n, w.calls[n-1])
			}
			w.must(nil, w.tick())
			if sent := w.out(); !slices.Contains(strings.Fields(sent), "a") {
				t.Errorf("redriven before call %d: sent %q", n, sent)
			}
			w.done("j", "a")
			w.must(nil, w.tick())
			if r := w.ended("j", ledger.Completed); r.Generation != 1 {
				t.Errorf("redriven before call %d: generation %d", n, r.Generation)
			}
			for name, body := range w.reports {
				if old := strings.HasSuffix(name, "report-0.json"); old && !strings.Contains(string(body), `"missing": 0`) {
					t.Errorf("redriven before call %d: the report of generation 0 shows units of generation 1:\n%s", n, body)
				}
			}
		}
	})
	t.Run("a crash between verdict and report leaves none for a minute", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.dead("j", "a")
		w.fail = func(call, _ string) error {
			if call == "Put" {
				return errFault
			}
			return nil
		}
		if w.tick() == nil {
			t.Fatal("no error")
		}
		w.wantState("j", ledger.Failed)
		w.fail = nil
		w.must(nil, w.tick())
		w.ended("j", ledger.Failed)
	})
}

// The proof reads a unit dead, and it is opened or done before the verdict.
func TestTrap3AVerdictThatWasOvertaken(t *testing.T) {
	for what, leave := range map[string]func(*world){
		"redriven":     func(w *world) { w.must(w.l.Redrive(w.Context(), "j", 1)) },
		"done at last": func(w *world) { w.done("j", "a") },
	} {
		t.Run(what, func(t *testing.T) {
			for n := 1; ; n++ {
				w := newWorld(t)
				w.listed("j", "a", "b")
				w.dead("j", "a")
				w.done("j", "b")
				left, failed := false, false
				w.at, w.meanwhile = n, func() {
					left, failed = true, w.meta("j").State == ledger.Failed
					leave(w)
				}
				w.trigger("j")
				if w.called("Send") > 0 { // INV-8
					t.Errorf("before call %d (%s): a trigger sent", n, w.calls[n-1])
				}
				if !left {
					return
				}
				if s := w.meta("j").State; s == ledger.Failed && !failed {
					t.Errorf("before call %d (%s): %s all the same", n, w.calls[n-1], s)
				}
			}
		})
	}
}

// An item that was written and whose message never was, or was purged.
func TestTrap4AUnitWhoseMessageIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b", "c")
		w.done("j", "a")
		w.receive("j", "b", 1) // and its reader died, and the message with it
		w.ticks(10)
		w.wantOut("")
		w.ticks(1) // ten minutes after it was first seen to stand
		w.wantOut("b c")
		if m := w.meta("j"); m.Resends != 1 || m.Ask != m.Swept {
			t.Errorf("meta %+v", m)
		}
		w.done("j", "b", "c")
		w.ticks(1)
		w.ended("j", ledger.Completed)
	})
}

// A halted job is always quiet: it must not be settled to death.
func TestTrap6AHaltedJobNeverSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b")
		w.receive("j", "a", limit) // at its last delivery
		w.ticks(2)
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}))
		time.Sleep(5 * 24 * time.Hour)
		w.ticks(30)
		w.wantOut("")
		if m := w.meta("j"); m.State != ledger.Running || m.Resends != 0 {
			t.Errorf("meta %+v", m)
		}
		// It has its whole window again when it goes on.
		w.must(w.l.Resume(w.Context(), "j", failure.Denied))
		w.ticks(10)
		w.wantOut("a b")
		c, err := w.l.Prove(t.Context(), "j", 1)
		w.must(c, err)
		if c.Open != 2 {
			t.Errorf("settled too early: %+v", c)
		}
	})
}

// A reader acks whatever it gets of a halted job: what is sent is lost time.
func TestTrap6WhatIsDueOfAHaltedJobWaits(t *testing.T) {
	for _, reason := range []failure.Reason{failure.Denied, failure.SinkDown} {
		w := newWorld(t)
		w.listed("j", "a", "b", "c")
		w.done("j", "a")
		i := w.receive("j", "b", 1)
		w.must(nil, w.l.Pause(t.Context(), w.ref("j", "b"), i.Serial, ledger.Cursor{Record: 1}, ledger.Counts{}))
		w.must(w.l.Redrive(t.Context(), "j", 1))
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: reason}))
		w.must(nil, w.tick())
		if got := w.out(); got != map[failure.Reason]string{failure.SinkDown: "b?"}[reason] {
			t.Errorf("%s: sent %q", reason, got)
		}
		w.must(w.l.Resume(t.Context(), "j", reason))
		w.must(nil, w.tick())
		w.wantOut("b b c") // as a todo, and with all that is open
	}
}

// A halt that comes before settling's last look stops it.
func TestTrap6AHaltThatComesWhileSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settle := func(n int) *world { // at call n the job is halted
			w := newWorld(t)
			w.listed("j", "a", "b")
			w.receive("j", "a", limit)
			w.ticks(10)
			w.calls = nil
			w.at, w.meanwhile = n, func() {
				w.must(w.l.Halt(w.Context(), "j", ledger.Halt{Reason: failure.Denied}))
			}
			w.must(nil, w.tick())
			return w
		}
		calls := settle(0).calls
		last := slices.Index(calls, "Body") // of what it gives up
		if last < 0 || calls[last-1] != "Meta" || !slices.Contains(calls, "Resend") {
			t.Fatalf("settling calls %v", calls)
		}
		for n := 1; n <= last; n++ {
			w := settle(n)
			c, err := w.l.Prove(w.Context(), "j", 1)
			w.must(c, err)
			if c.Dead > 0 || w.meta("j").Resends > 0 {
				t.Errorf("halted before call %d (%s): %+v, %d re-sends", n, calls[n-1], c, w.meta("j").Resends)
			}
		}
	})
}

// A reader that was frozen at its last delivery wakes.
func TestTrap7AReaderThatWakesKeepsItsUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Resends = -1
		w.listed("j", "a")
		w.receive("j", "a", limit)
		w.ticks(10)
		w.fail = func(call, _ string) error {
			if call == "Dead" { // the query showed serial 1
				w.receive("j", "a", 1)
			}
			return nil
		}
		w.must(nil, w.tick())
		c, err := w.l.Prove(t.Context(), "j", 1)
		w.must(c, err)
		if c.Dead != 0 {
			t.Error("a unit that a reader took up again is dead")
		}
	})
}

// Resume has every open unit sent; and a todo that is put again while it is sent
// stays.
func TestTrap8WhatIsDueAgainIsNotForgotten(t *testing.T) {
	t.Run("resume", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b", "c")
		w.done("j", "b")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
		w.must(w.l.Resume(t.Context(), "j", failure.SinkDown))
		w.must(nil, w.tick())
		w.wantOut("a c")
		w.must(nil, w.tick())
		w.wantOut("")
	})
	t.Run("resume again, before any call of the sweep", func(t *testing.T) {
		for n := 1; ; n++ {
			w := newWorld(t)
			w.listed("j", "a", "b")
			resume := func() {
				w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}))
				w.must(w.l.Resume(t.Context(), "j", failure.Denied))
			}
			resume()
			again := false
			w.at, w.meanwhile = n, func() { again = true; w.out(); resume() }
			w.must(nil, w.tick())
			if !again {
				return
			}
			w.must(nil, w.tick())
			if got := w.out(); !strings.Contains(got, "a b") {
				t.Errorf("resumed before call %d (%s): sent %q since", n, w.calls[n-1], got)
			}
		}
	})
	t.Run("a todo", func(t *testing.T) {
		for n := 1; ; n++ {
			w := newWorld(t)
			w.listed("j", "a")
			pause := func() {
				i := w.receive("j", "a", 1)
				w.must(nil, w.l.Pause(t.Context(), w.ref("j", "a"), i.Serial, ledger.Cursor{Record: int64(i.Serial)}, ledger.Counts{}))
			}
			pause()
			again := false
			w.at, w.meanwhile = n, func() { again = true; w.out(); pause() }
			w.must(nil, w.tick())
			if !again {
				w.wantOut("a")
				return
			}
			w.must(nil, w.tick())
			if got := w.out(); !strings.Contains(got, "a") {
				t.Errorf("put again before call %d (%s): not sent since", n, w.calls[n-1])
			}
		}
	})
}

// A probe that is always the same faulty unit never clears the flag.
func TestTrap9ProbesTakeTurns(t *testing.T) {
	bubble(t, "each minute the next open unit goes out, by this halt alone", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b", "c", "d")
		w.done("j", "b")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
		w.ticks(5)
		w.wantOut("a? c? d? a? c?")
		w.dead("j", "c") // it was the last one
		w.ticks(2)
		w.wantOut("d? a?")
		w.done("j", "a")
		w.ticks(2)
		w.wantOut("d? d?")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied}))
		w.ticks(3)
		w.wantOut("")
	})
	t.Run("a unit whose message cannot be made does not keep the turn", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a", "b")
		w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
		w.at, w.fault = slices.Index(probed(t), "Body")+1, crashBefore
		if w.tick() == nil {
			t.Error("no error")
		}
		w.must(nil, w.tick())
		w.wantOut("b?")
	})
}

// probed are the calls of a tick that sends a probe.
func probed(t *testing.T) []string {
	w := newWorld(t)
	w.listed("j", "a", "b")
	w.must(w.l.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}))
	w.must(nil, w.tick())
	return w.calls
}

// A backlog, a throttle, or a mapping that is off for some windows.
func TestTrap10AStarvedJobIsNotFailed(t *testing.T) {
	bubble(t, "until no message can be waiting any more", func(t *testing.T) {
		w := newWorld(t)
		w.opt.Resends = -1
		w.backlog = true
		w.listed("j", "a")
		w.ticks(60)
		w.wantState("j", ledger.Running)
		if n := w.called("Prove"); n > 9+6 {
			t.Errorf("proved %d times in an hour", n)
		}
		time.Sleep(4*24*time.Hour - 61*time.Minute)
		w.ticks(1)
		w.wantState("j", ledger.Running)
		w.ticks(1)
		r := w.ended("j", ledger.Failed)
		if len(r.Missing) != 1 || r.Missing[0] != (report.Missing{Unit: "a", Key: "key-a", Reason: failure.Missing}) {
			t.Errorf("missing %+v", r.Missing)
		}
	})
	bubble(t, "nor when nobody can say whether the feed is empty", func(t *testing.T) {
		w := newWorld(t)
		w.opt = finalizer.Options{Resends: -1, Empty: w.opt.Empty}
		w.listed("j", "a")
		w.ticks(10)
		w.fail = func(call, _ string) error {
			if call == "Empty" {
				return errFault
			}
			return nil
		}
		if w.tick() == nil {
			t.Error("no error")
		}
		w.wantState("j", ledger.Running)
	})
	bubble(t, "a message that is found again starts the window anew", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.ticks(10)
		w.receive("j", "a", 1)
		w.must(nil, w.l.Touch(t.Context(), w.ref("j", "a"))) // as readers do in their course
		w.ticks(10)
		w.wantOut("")
		w.ticks(1)
		w.wantOut("a")
	})
}
