package sim_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// The traps that a model of the protocol found in earlier wordings of it, each
// with all the parts that fall into it. Their numbers are the model's; those of
// jobs without an end are in a file of their own.

// play is a world in which only that goes wrong which a script says.
type play struct {
	*world
	lines []line
}

// line is what becomes of the first effect of an actor's kind that begins so.
type line struct {
	actor, what string
	then        func() // beside it
	kind        string // of its fate
	slow        time.Duration
	freeze      time.Duration
	said        bool
}

// scripted runs a script in a bubble, to the job's end. Objects have eight
// records, so far apart.
func scripted(t *testing.T, objects []int64, script func(p *play), after func(p *play)) {
	t.Helper()
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(1)
		defer w.stop()
		p := &play{world: w}
		w.script = p.fate
		for i, stride := range objects {
			w.store.put("k"+string(rune('a'+i)), 8, stride)
		}
		w.operator("start")
		script(p)
		w.run(w, time.Now().Add(24*time.Hour), func() bool { return len(w.events) == 0 && w.still() })
		w.laws.rest()
		after(p)
		for _, l := range p.lines {
			if !l.said {
				w.law("nothing came to be %q of %s", l.what, l.actor)
			}
		}
	})
	if len(w.broken) > 0 {
		t.Errorf("%s\n%s", strings.Join(w.broken, "\n"), w.trace())
	}
}

func (p *play) fate(k *ask) (fate, time.Duration, bool) {
	for i := range p.lines {
		l := &p.lines[i]
		if l.said || !strings.HasPrefix(k.name, l.actor) || !strings.HasPrefix(k.what, l.what) {
			continue
		}
		l.said = true
		if l.then != nil {
			l.then()
		}
		return fate{kind: l.kind}, max(l.slow, l.freeze), l.freeze > 0
	}
	return fate{}, 0, false
}

func (p *play) says(l line) { p.lines = append(p.lines, l) }

// spoil makes the n-th object bad from a record on; -1 mends it.
func (p *play) spoil(n int, reason failure.Reason, from int) {
	etag := p.store.current["k"+string(rune('a'+n))].ETag
	if from < 0 {
		delete(p.store.faults, etag)
		return
	}
	p.store.faults[etag] = badness{reason, from}
}

// last makes the first delivery the last one.
func (p *play) last() {
	p.mapped = false
	p.at(time.Second, func() {
		p.mapped = true
		for _, m := range p.queue.messages {
			m.receives = limit - 1
		}
	})
}

// again has the first message of all delivered once more.
func (p *play) again() { p.queue.messages[0].visible = time.Now() }

func (p *play) wants(s ledger.State, resends int) {
	if m := p.meta(); m.State != s || p.laws.allResends != resends {
		p.law("the job is %s after %d re-sends, want %s after %d", m.State, p.laws.allResends, s, resends)
	}
}

// received is how often units were begun.
func (p *play) count(what string) (n int) {
	for _, e := range p.record {
		if strings.HasPrefix(e.what, what) && e.fate == applied {
			n++
		}
	}
	return n
}

func TestTrap1TwoReadersFindAMemberFaultyAtDifferentRecords(t *testing.T) {
	scripted(t, []int64{headBytes, headBytes}, func(p *play) {
		p.spoil(0, failure.Undecodable, 1)
		p.says(line{actor: "reader", what: "Fault", freeze: 3 * time.Minute, then: func() {
			p.spoil(0, failure.Undecodable, 0)
			p.again()
		}})
		p.says(line{actor: "reader", what: "RestDone", then: func() { p.spoil(0, "", -1) }})
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

// The same for a cursor: another reader has meanwhile delivered the rest, and
// counted it.
func TestTrap1AReaderWakesWithACursor(t *testing.T) {
	scripted(t, []int64{9 * mib}, func(p *play) {
		p.timeout = 3 * time.Minute
		p.spoil(0, failure.Undecodable, 6)
		p.says(line{actor: "reader", what: "write", slow: 170 * time.Second})
		p.says(line{actor: "reader", what: "Pause", freeze: 5 * time.Second, then: func() { p.again(); p.timeout = 0 }})
		p.says(line{actor: "reader", what: "RestDone", then: func() { p.spoil(0, "", -1) }})
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

func TestTrap2ARedriveBetweenVerdictReportAndRetirement(t *testing.T) {
	for _, where := range []string{"Meta", "put", "announce", "Retire"} {
		t.Run("before "+where, func(t *testing.T) {
			scripted(t, []int64{headBytes}, func(p *play) {
				p.spoil(0, failure.NotFound, 0)
				p.says(line{actor: "proof", what: "Conclude failed", then: func() {
					p.says(line{actor: "proof", what: where, freeze: 30 * time.Second})
					p.at(time.Since(epoch)+10*time.Second, func() { p.spoil(0, "", -1); p.operator("redrive") })
					p.at(time.Since(epoch)+10*time.Minute, func() {}) // not over before
				}})
			}, func(p *play) { p.wants(ledger.Completed, 0) })
		})
	}
}

func TestTrap3AUnitLeavesDeadBeforeTheVerdict(t *testing.T) {
	scripted(t, []int64{headBytes}, func(p *play) {
		p.spoil(0, failure.NotFound, 0)
		p.says(line{actor: "proof", what: "Conclude failed", freeze: 30 * time.Second, then: func() {
			p.at(time.Since(epoch)+10*time.Second, func() { p.spoil(0, "", -1); p.operator("redrive") })
		}})
	}, func(p *play) {
		p.wants(ledger.Completed, 0)
		if p.meta().Generation != 1 {
			p.law("generation %d", p.meta().Generation)
		}
	})
}

// A halt at the last delivery takes neither attempt nor mark, so that no quiet
// window gives the unit up.
func TestTrap5AHaltAtTheLastDeliveryAndThenAPurge(t *testing.T) {
	scripted(t, []int64{headBytes}, func(p *play) {
		p.last()
		p.says(line{actor: "reader", what: "get", then: func() { p.store.denied, p.mapped = true, false }})
		p.at(time.Hour, func() { p.store.denied = false; p.operator("resume") })
		p.at(time.Hour+2*time.Minute, func() { p.queue.lose(slices.Clone(p.queue.messages)...); p.mapped = true })
	}, func(p *play) { p.wants(ledger.Completed, 1) })
}

func TestTrap6NothingBecomesOfAHaltedJob(t *testing.T) {
	scripted(t, []int64{headBytes, 5 * mib, 5 * mib, 5 * mib}, func(p *play) {
		p.store.denied = true
		p.says(line{actor: "operator", what: "list", then: func() { p.store.denied = false }})
		p.says(line{actor: "reader", what: "get", then: func() { p.store.denied = true }})
		p.at(5*time.Hour, func() {
			if n := p.count("Halt"); n == 0 || p.meta().Halt == nil || p.count("Dead") > 0 || p.queue.sent > len(p.laws.units[1]) {
				p.law("halted %d times, sent %d", n, p.queue.sent)
			}
			p.store.denied = false
			p.operator("resume")
		})
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

func TestTrap7AReaderWakesAtItsLastDeliveryAfterARedrive(t *testing.T) {
	scripted(t, []int64{headBytes}, func(p *play) {
		p.spoil(0, failure.NotFound, 0)
		p.says(line{actor: "reader", what: "Dead", freeze: 40 * time.Minute})
		p.at(20*time.Minute, func() { // settled, as crashed
			if p.meta().State != ledger.Failed {
				p.law("the job is %s", p.meta().State)
			}
			p.mapped = false
			p.operator("redrive")
		})
		p.at(45*time.Minute, func() {
			if p.count("Dead") != 2 || p.meta().State == ledger.Failed {
				p.law("the reader that woke was let: the job is %s", p.meta().State)
			}
			p.spoil(0, "", -1)
			p.mapped = true
		})
	}, func(p *play) {
		if p.meta().State != ledger.Completed {
			p.law("the job is %s", p.meta().State)
		}
	})
}

// A cursor at the last delivery takes the mark off, so that a message that is
// lost afterwards is no crash.
func TestTrap7ACursorAndThenAPurge(t *testing.T) {
	scripted(t, []int64{9 * mib}, func(p *play) {
		p.timeout = 3 * time.Minute
		p.last()
		p.says(line{actor: "reader", what: "write", slow: 170 * time.Second})
		p.says(line{actor: "reader", what: "Pause", then: func() { p.mapped = false }})
		p.at(10*time.Minute, func() { p.queue.lose(slices.Clone(p.queue.messages)...); p.mapped = true })
	}, func(p *play) { p.wants(ledger.Completed, 1) })
}

func TestTrap8AResumeThatAReaderDoesNotKnowOf(t *testing.T) {
	scripted(t, []int64{2 * mib, 2 * mib}, func(p *play) {
		p.mapped = false
		p.at(56*time.Second, func() { // one reader halts the job, and another one remembers that
			p.mapped, p.queue.messages[1].visible = true, epoch.Add(57*time.Second)
		})
		p.says(line{actor: "reader", what: "get", then: func() { p.store.denied = true }})
		p.at(58*time.Second, func() {
			if n := p.count("ack"); n != 2 || p.meta().Halt == nil {
				p.law("%d messages acked", n)
			}
			p.store.denied = false
			p.operator("resume")
		})
		p.says(line{actor: "tick", what: "Swept", then: func() { // in the same minute, by whoever remembers
			if since := time.Since(epoch); since > time.Minute {
				p.law("sent after %v", since)
			}
		}})
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

// A todo that is put again between the send of the one before and its removal
// stays.
func TestTrap8ATodoIsPutAgainWhileItIsSent(t *testing.T) {
	scripted(t, []int64{9 * mib}, func(p *play) {
		p.timeout = 3 * time.Minute
		p.says(line{actor: "reader", what: "write", slow: 170 * time.Second})
		p.says(line{actor: "tick", what: "Sent", freeze: 175 * time.Second, then: func() {
			p.tick = epoch.Add(6 * time.Minute) // no other one sends it meanwhile
			p.says(line{actor: "reader", what: "write", slow: 170 * time.Second})
		}})
	}, func(p *play) {
		p.wants(ledger.Completed, 0)
		if n := p.count("Pause"); n != 2 {
			p.law("paused %d times", n)
		}
	})
}

// The end of sink_down has everything sent that was acked meanwhile.
func TestTrap8And9TheProbeThatIsFineSendsTheRest(t *testing.T) {
	scripted(t, []int64{headBytes, 13 * mib, 13 * mib, 13 * mib}, func(p *play) {
		p.sink.down = true
		p.at(30*time.Minute, func() { p.sink.down = false })
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

// A unit that is bad itself is no probe that fails for ever, nor the only one.
func TestTrap9ABadUnitIsTheProbe(t *testing.T) {
	scripted(t, []int64{13 * mib, 13 * mib}, func(p *play) {
		p.sink.down = true
		p.at(20*time.Minute, func() { p.spoil(0, failure.NotFound, 0); p.spoil(1, failure.NotFound, 0) })
		p.at(30*time.Minute, func() { p.sink.down = false })
		p.at(50*time.Minute, func() {
			if p.meta().Halt != nil {
				p.law("the flag stands")
			}
			p.spoil(0, "", -1)
			p.spoil(1, "", -1)
		})
	}, func(p *play) {
		if m := p.meta(); m.Halt != nil || !m.State.Ended() {
			p.law("the job is %s, halted %+v", m.State, m.Halt)
		}
	})
}

func TestTrap9ADenialTakesThePlaceOfSinkDown(t *testing.T) {
	scripted(t, []int64{headBytes}, func(p *play) {
		p.sink.down = true
		p.at(20*time.Minute, func() { p.store.denied = true })
		p.at(30*time.Minute, func() {
			if h := p.meta().Halt; h == nil || h.Reason != failure.Denied {
				p.law("halted %+v", h)
			}
			p.sink.down, p.store.denied = false, false
		})
		p.at(40*time.Minute, func() {
			if p.meta().Halt == nil {
				p.law("the halt for denied ended by itself")
			}
			p.operator("resume")
		})
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

func TestTrap10AJobThatWaitsForItsTurn(t *testing.T) {
	scripted(t, []int64{headBytes, 13 * mib}, func(p *play) {
		p.mapped = false
		p.at(9*time.Hour, func() { p.mapped = true })
	}, func(p *play) { p.wants(ledger.Completed, 0) })
}

// A redrive gives a run all its re-sends again.
func TestARedriveCountsResendsAfresh(t *testing.T) {
	scripted(t, []int64{headBytes}, func(p *play) {
		purge := func() { p.queue.lose(slices.Clone(p.queue.messages)...) }
		p.mapped = false
		for m := range 45 {
			p.at(time.Duration(m)*time.Minute+30*time.Second, purge)
		}
		p.at(50*time.Minute, func() {
			p.wants(ledger.Failed, resends)
			p.operator("redrive")
		})
		p.at(51*time.Minute+30*time.Second, func() { purge(); p.mapped = true })
	}, func(p *play) { p.wants(ledger.Completed, resends+1) })
}
