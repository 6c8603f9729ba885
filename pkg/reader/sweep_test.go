package reader_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// mode is what becomes of the call that a fault hits.
type mode struct {
	name    string
	applied bool // and only its answer is lost
	crash   bool // nothing that the process calls after it is answered
}

func modes() []mode {
	return []mode{{"not applied", false, false}, {"its answer lost", true, false}, {"a crash before", false, true}, {"a crash after", true, true}}
}

// life is a way in which a unit comes to its end.
type life struct {
	name  string
	setup func(w *world)
	end   func(t *testing.T, w *world)
}

func lives() []life {
	once := func(member, record int) func(int) int { // the member is bad in the first reading
		reads := 0
		return func(m int) int {
			if m != member {
				return 2
			}
			if reads++; reads > 1 {
				return 2
			}
			return record
		}
	}
	exact := func(_ *testing.T, w *world) { w.exact() }
	return []life{
		{"all goes well", func(w *world) { w.opt.Pipeline = "pipeline" }, exact},
		{"a member is bad once", func(w *world) { w.bad = once(1, 1) }, exact},
		{"the first record is bad once", func(w *world) { w.bad = once(0, 0) }, exact},
		{"a member stays bad", func(w *world) { w.bad = func(m int) int { return 2 - m%2 } }, func(t *testing.T, w *world) {
			items := w.items()
			if len(items) != 1 || items[0].State != ledger.Dead || items[0].Cause.Reason != failure.Undecodable && items[0].Cause.Reason != failure.Crashed {
				t.Fatalf("items %+v", items)
			}
			if len(w.rows) != 5 || items[0].Counts.In != 5 {
				t.Errorf("rows %v, counts %+v", w.rows, items[0].Counts)
			}
		}},
		{"time is up after every segment", func(w *world) { w.writing, w.time = 50*time.Second, time.Minute }, exact},
		{"time is up and a member bad", func(w *world) {
			w.writing, w.time, w.bad = 50*time.Second, time.Minute, once(1, 1)
		}, exact},
		{"denied once", func(w *world) {
			w.sink = func() error { return failure.Errorf(failure.Job, failure.Denied, "denied") }
		}, exact},
		{"a probe whose sink is up again", func(w *world) { halt(w, failure.SinkDown); w.messages = nil; w.send(true) }, exact},
	}
}

func halt(w *world, r failure.Reason) {
	if _, err := w.ledger.Halt(w.t.Context(), "j", ledger.Halt{Reason: r}); err != nil {
		w.t.Fatal(err)
	}
}

// INV-1, INV-7: whichever call fails, in whatever way, no row is lost or counted
// twice, and the verdict is right.
func TestAFaultAtAnyCallLosesAndRepeatsNothing(t *testing.T) {
	for _, l := range lives() {
		for _, m := range modes() {
			t.Run(l.name+", "+m.name, func(t *testing.T) {
				for n := 1; ; n++ {
					hit := ""
					synctest.Test(t, func(t *testing.T) { hit = sweep(t, l, m, n) })
					if t.Failed() {
						t.Fatalf("at call %d, %s", n, hit)
					}
					if hit == "" {
						if n < 4 {
							t.Fatalf("only %d calls", n)
						}
						return
					}
				}
			})
		}
	}
}

// sweep lives l with its call n hit, and returns which call that was.
func sweep(t *testing.T, l life, m mode, n int) (hit string) {
	w := newWorld(t)
	l.setup(w)
	down := false
	w.start = func() { down = false }
	w.step = func(call string, apply func() error) error {
		if down {
			return errAway
		}
		if n--; n != 0 {
			return apply()
		}
		hit, down = call, m.crash
		if m.applied {
			if err := apply(); err != nil {
				return err
			}
		}
		return errAway
	}
	w.settle()
	l.end(t, w)
	return hit
}

// A reader that stood still for as long as you like changes nothing that a later
// one found.
func TestAReaderFrozenAtAnyCallWakesWithoutHarm(t *testing.T) {
	for _, l := range lives() {
		t.Run(l.name, func(t *testing.T) {
			for n := 1; ; n++ {
				hit := ""
				synctest.Test(t, func(t *testing.T) { hit = freeze(t, l, n, func(w *world) { w.send(false); _ = w.receive() }) })
				if t.Failed() {
					t.Fatalf("at call %d, %s", n, hit)
				}
				if hit == "" {
					return
				}
			}
		})
	}
}

// freeze lives l, the first reader standing still at its call n for as long as
// others do what meanwhile says.
func freeze(t *testing.T, l life, n int, meanwhile func(w *world)) (hit string) {
	w := newWorld(t)
	l.setup(w)
	asleep := false
	w.step = func(call string, apply func() error) error {
		if asleep {
			return apply()
		}
		if n--; n != 0 {
			return apply()
		}
		hit, asleep = fmt.Sprint(call), true
		meanwhile(w)
		return apply()
	}
	_ = w.receive()
	w.settle()
	l.end(t, w)
	return hit
}
