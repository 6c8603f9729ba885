package reader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

// The traps that a model of the protocol found in earlier wordings of it. Their
// numbers are the model's; those of other parts are tested there.

// asleep runs meanwhile once, before the first call of that name is made.
func asleep(w *world, call string, meanwhile func()) {
	slept := false
	w.step = func(c string, apply func() error) error {
		if c == call && !slept {
			slept = true
			meanwhile()
		}
		return apply()
	}
}

// Two readers find a member faulty, the one that is late at a later record: what
// lies between the two would never be acked.
func TestTrap1TheLaterRecordOfAFaultyMemberIsNotWritten(t *testing.T) {
	w := newWorld(t)
	record := 1
	w.bad = func(m int) int {
		if m == 1 {
			return record
		}
		return 2
	}
	asleep(w, "fault", func() {
		record = 0
		w.send(false)
		w.messages[0], w.messages[len(w.messages)-1] = w.messages[len(w.messages)-1], w.messages[0]
		_ = w.receive()
	})
	if err := w.receive(); !errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("the reader that was late: %v", err)
	}
	if f := w.items()[0].Faults; len(f) != 1 || f[0].Record != 0 {
		t.Errorf("faults %+v", f)
	}
	record = 2
	w.settle()
	w.exact()
}

// An attempt that is counted and marked as the last one, and then a fault that
// no unit can help: at the next quiet window it would be dead, crashed.
func TestTrap5WhatNoUnitCanHelpLeavesNeitherAttemptNorMark(t *testing.T) {
	for _, reason := range []failure.Reason{failure.Denied, failure.Schema, failure.SinkDown} {
		w := newWorld(t)
		w.messages[0].Receives = attempts - 1
		w.sink = func() error { return failure.Errorf(failure.Job, reason, "no") }
		calls := ""
		w.step = func(c string, apply func() error) error {
			calls += c + " "
			return apply()
		}
		if err := w.receive(); err != nil {
			t.Fatalf("%s: not acked: %v", reason, err)
		}
		if i := w.items()[0]; i.State != ledger.Open || i.Attempts != 0 || i.Last {
			t.Errorf("%s: item %+v", reason, i)
		}
		if !strings.Contains(calls, "give back halt") { // a crash between the two leaves no attempt
			t.Errorf("%s: %s", reason, calls)
		}
	}
}

// A reader freezes at its last delivery; settling, a redrive and a later start
// go over it. Then it wakes and gives the unit up.
func TestTrap7AReaderThatWakesAfterARedriveGivesNothingUp(t *testing.T) {
	for name, working := range map[string]bool{"before the next start": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.messages[0].Receives = attempts - 1
			broken := true
			w.bad = func(m int) int {
				if broken && m == 1 {
					return 1
				}
				return 2
			}
			asleep(w, "dead", func() {
				w.dead(w.items()[0])
				if _, err := w.ledger.Redrive(t.Context(), "j", 1); err != nil {
					t.Fatal(err)
				}
				if broken = false; working {
					if _, err := w.ledger.Begin(t.Context(), w.ref(), 1, attempts); err != nil {
						t.Fatal(err)
					}
				}
			})
			err := w.receive()
			if !errors.Is(err, ledger.ErrFenced) {
				t.Errorf("it was let: %v", err)
			}
			w.settle()
			w.exact()
		})
	}
}

// A cursor that advanced, at the last delivery, and a message that is lost then:
// with the mark left standing the unit would be dead without a crash.
func TestTrap7ACursorTakesTheMarkOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.messages[0].Receives = attempts - 1
		w.writing, w.time = 50*time.Second, time.Minute
		if err := w.receive(); err != nil {
			t.Fatal(err)
		}
		if i := w.items()[0]; i.Last || i.Attempts != 0 || i.Cursor == nil || i.State != ledger.Open {
			t.Errorf("item %+v", i)
		}
		w.settle()
		w.exact()
	})
}

// Resume sends a message, and the meta that the reader remembers says halted
// still: acked, the unit would be open for ever.
func TestTrap8NothingIsAckedOnTheWordOfARememberedMeta(t *testing.T) {
	remembered := map[string]struct {
		before func(k *kit) // what the reader gets to know
		after  func(k *kit) // and what it does not
	}{
		"a halt that is over": {
			func(k *kit) { k.halt(failure.Denied) },
			func(k *kit) {
				if ok, err := k.ledger.Resume(k.t.Context(), "j", failure.Denied); !ok || err != nil {
					k.t.Fatal(ok, err)
				}
			},
		},
		"a halt of its own that is over": {
			func(k *kit) {
				k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
					k.pipe.rest = nil
					return failure.Errorf(failure.Job, failure.Denied, "denied")
				}
			},
			func(k *kit) {
				if ok, err := k.ledger.Resume(k.t.Context(), "j", failure.Denied); !ok || err != nil {
					k.t.Fatal(ok, err)
				}
			},
		},
		"a run that ended, and was followed": {
			func(k *kit) {
				if err := k.ledger.Conclude(k.t.Context(), "j", 1, 0, ledger.Cancelled); err != nil {
					k.t.Fatal(err)
				}
			},
			func(k *kit) { k.list("again", k.unit) },
		},
	}
	for name, c := range remembered {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				o := quiet()
				o.Cache = 5 * time.Second
				k.use(o)
				c.before(k)
				if err := k.deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.after(k)
				if err := k.deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c := k.census(); c.Done != 1 {
					t.Errorf("acked, and not done: %+v", c)
				}
			})
		})
	}
}

func TestAJobsMetaIsReadOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		metas := 0
		count := stage{w.ledger, func(c string, apply func() error) error {
			if c == "meta" {
				metas++
			}
			return apply()
		}}
		for cache, want := range map[time.Duration]int{0: 8, 5 * time.Second: 2} {
			metas = 0
			r := reader.New(count, &script{rest: failing}, reader.Options{ReadDigest: "r", Cache: cache, Log: quiet().Log})
			for range 8 { // a second each, none of them acked
				d := w.messages[0]
				d.Cap = 100
				if err := r.Handle(t.Context(), d); err == nil {
					t.Fatal("acked")
				}
				time.Sleep(time.Second)
			}
			if metas != want {
				t.Errorf("with %v: read %d times, want %d", cache, metas, want)
			}
		}
	})
}

func failing(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
	return errors.New("unknown")
}

// The probe is always one faulty unit, and the flag never clears; or a job that
// is halted because its sink is down cannot be halted for more.
func TestTrap9AProbeClearsTheFlagAsSoonAsItShowsThatTheSinkIsUp(t *testing.T) {
	sinkDown := failure.Errorf(failure.Job, failure.SinkDown, "down")
	for name, c := range map[string]struct {
		sink    error
		bad     bool // a member is
		flag    failure.Reason
		acked   bool
		counted int // attempts
		state   ledger.UnitState
	}{
		"its blocks are acked":             {nil, false, "", true, 0, ledger.Done},
		"it fails by a fault of its own":   {errors.New("rejected"), false, "", false, 1, ledger.Open},
		"the sink is down still":           {sinkDown, false, failure.SinkDown, true, 0, ledger.Open},
		"another fault halts the job":      {failure.Errorf(failure.Job, failure.Denied, "403"), false, failure.Denied, true, 0, ledger.Open},
		"a block is acked, a member fails": {nil, true, "", false, 1, ledger.Open},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			halt(w, failure.SinkDown)
			if err := w.receive(); err != nil || len(w.rows) > 0 { // one that is no probe
				t.Fatalf("%v, rows %v", err, w.rows)
			}
			w.send(true)
			w.sink = func() error { return c.sink }
			if c.bad {
				w.bad = func(m int) int { return 2 - m%2 }
			}
			if err := w.receive(); (err == nil) != c.acked {
				t.Errorf("got %v", err)
			}
			meta, err := w.ledger.Meta(t.Context(), "j")
			if err != nil {
				t.Fatal(err)
			}
			if c.flag == "" && (meta.Halt != nil || meta.Ask == 0) || c.flag != "" && (meta.Halt == nil || meta.Halt.Reason != c.flag) {
				t.Errorf("halt %+v, asked %d times for a send", meta.Halt, meta.Ask)
			}
			if items := w.items(); c.state == ledger.Done && len(items) > 0 || c.state == ledger.Open && items[0].Attempts != c.counted {
				t.Errorf("items %+v", items)
			}
		})
	}
}

func TestTrap9TheFirstBlockClearsTheFlagBeforeTheUnitEnds(t *testing.T) {
	w := newWorld(t)
	halt(w, failure.SinkDown)
	w.messages = nil
	w.send(true)
	order := ""
	w.step = func(c string, apply func() error) error {
		order += c + " "
		return apply()
	}
	if err := w.receive(); err != nil {
		t.Fatal(err)
	}
	if want := "extend meta begin write resume write write done "; order != want {
		t.Errorf("calls: %s\nwant:  %s", order, want)
	}
}

func TestAProbeOfAJobThatIsHaltedForMoreIsAcked(t *testing.T) {
	w := newWorld(t)
	halt(w, failure.Denied)
	w.messages = nil
	w.send(true)
	if err := w.receive(); err != nil || len(w.rows) > 0 {
		t.Errorf("%v, rows %v", err, w.rows)
	}
	if meta, err := w.ledger.Meta(t.Context(), "j"); err != nil || meta.Halt == nil {
		t.Errorf("%v, halt %+v", err, meta.Halt)
	}
}

func TestAHaltOfItsOwnIsKnownToAReaderAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		o := quiet()
		o.Cache = 5 * time.Second
		k.use(o)
		k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
			return failure.Errorf(failure.Job, failure.Denied, "denied")
		}
		for range 3 {
			if err := k.deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(k.pipe.read) != 1 {
			t.Errorf("read %d times", len(k.pipe.read))
		}
	})
}

func TestAMessageOfAnEarlierRunIsNotReadThoughThatRunIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		o := quiet()
		o.Cache = 5 * time.Second
		k.use(o)
		k.pipe.rest = failing
		d := k.delivery()
		if err := k.reader.Handle(t.Context(), d); err == nil {
			t.Fatal("acked")
		}
		if err := k.ledger.Conclude(t.Context(), "j", 1, 0, ledger.Cancelled); err != nil {
			t.Fatal(err)
		}
		k.list("again", k.unit)
		d.Receives++
		if err := k.reader.Handle(t.Context(), d); err != nil || len(k.pipe.read) != 1 {
			t.Errorf("%v, read %d times", err, len(k.pipe.read))
		}
	})
}

func TestAProbeDoesNotTrustARememberedMeta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		o := quiet()
		o.Cache = 5 * time.Second
		resumed := 0
		o.Resume = func(context.Context, string) error { resumed++; return nil }
		k.use(o)
		k.pipe.rest = failing
		if err := k.deliver(t.Context()); err == nil {
			t.Fatal("acked")
		}
		k.halt(failure.SinkDown)
		k.pipe.rest = nil
		d := k.delivery()
		d.Probe = true
		if err := k.reader.Handle(t.Context(), d); err != nil || resumed != 1 {
			t.Errorf("%v, resumed %d times", err, resumed)
		}
	})
}

// A message whose flag cannot be cleared leaves its unit open to probe with.
func TestAUnitEndsWellOnlyAfterTheFlagThatItClears(t *testing.T) {
	for name, limit := range map[string]time.Duration{"done": 0, "paused": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				halt(w, failure.SinkDown)
				w.messages = nil
				w.send(true)
				if limit > 0 {
					w.time, w.writing = limit, 45*time.Second
				}
				w.step = func(c string, apply func() error) error {
					if c == "resume" {
						return errAway
					}
					return apply()
				}
				if err := w.receive(); err == nil || feed.Delay(err) <= 0 {
					t.Errorf("got %v", err)
				}
				if items := w.items(); len(items) != 1 || items[0].State != ledger.Open || items[0].Cursor != nil {
					t.Errorf("items %+v", items)
				}
			})
		})
	}
}
