package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// flowing runs a script over a continuous job in a bubble, until nothing is due.
func flowing(t *testing.T, script, after func(p *play)) {
	t.Helper()
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(1)
		defer w.stop()
		w.inbox = &inbox{w: w}
		p := &play{world: w}
		w.script = p.fate
		script(p)
		w.run(w, time.Now().Add(24*time.Hour), func() bool { return len(w.events) == 0 && w.flowed() })
		after(p)
		w.laws.streamed()
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

// puts makes a new version current, which is announced.
func (p *play) puts(key string) *version {
	v := p.store.put(key, 8, headBytes)
	p.inbox.announce(v)
	return v
}

// back makes a version current once more.
func (p *play) back(v *version) {
	p.store.current[v.Key] = v
	p.inbox.announce(v)
}

// state is that of the only unit that v is in.
func (p *play) state(v *version) ledger.Item {
	h, err := p.ledger.Claimed(context.Background(), job, v.ID())
	if err != nil {
		p.law("no claim on %s: %v", v.ETag, err)
		return ledger.Item{}
	}
	i, err := p.ledger.Look(context.Background(), ledger.Ref{Job: job, Run: 1, ID: h.Unit})
	if err != nil {
		p.law("no unit of %s: %v", v.ETag, err)
	}
	return i
}

func TestTrap4ClaimedAndEnteredAndNeverSent(t *testing.T) {
	flowing(t, func(p *play) {
		p.puts("ka")
		p.says(line{actor: "intake", what: "send", kind: crashBefore, then: func() { p.inbox.messages = nil }})
	}, func(p *play) {
		if n := p.count("Repeat"); n != 1 {
			p.law("sent again %d times", n)
		}
	})
}

// The notice comes again and finds the claim: that is quicker than the schedule.
func TestTrap4ANoticeThatComesAgainSendsItsUnit(t *testing.T) {
	flowing(t, func(p *play) {
		p.puts("ka")
		p.says(line{actor: "intake", what: "send", kind: crashBefore})
		p.at(8*time.Minute, func() {
			if !p.laws.whole(p.store.current["ka"]) {
				p.law("nothing was sent")
			}
		})
	}, func(p *play) {
		if n := p.count("Repeat"); n != 0 {
			p.law("sent again %d times", n)
		}
	})
}

func TestTrap4AMessageThatIsLost(t *testing.T) {
	flowing(t, func(p *play) {
		p.puts("ka")
		p.mapped = false
		p.at(time.Minute, func() { p.queue.lose(slices.Clone(p.queue.messages)...); p.mapped = true })
	}, func(p *play) {
		if n := p.count("Repeat"); n != 1 {
			p.law("sent again %d times", n)
		}
	})
}

// What is lost each time is given up, by name, and a redrive sends it.
func TestTrap4AMessageThatIsLostEachTime(t *testing.T) {
	flowing(t, func(p *play) {
		v := p.puts("ka")
		p.mapped, p.kinds["purge"] = false, true
		for m := range 50 {
			p.at(time.Duration(m)*time.Minute+30*time.Second, func() { p.queue.lose(slices.Clone(p.queue.messages)...) })
		}
		p.at(51*time.Minute, func() {
			if i := p.state(v); i.State != ledger.Dead || i.Cause.Reason != failure.Missing || i.Cause.Objects[0].ETag != v.ETag || i.Repeats != resends {
				p.law("the unit is %+v", i)
			}
			p.operator("redrive")
			p.mapped = true
		})
	}, func(p *play) {
		if n := p.count("Repeat"); n != resends {
			p.law("sent again %d times", n)
		}
	})
}

// A key is put as A, B and A. The last put comes just before any of the effects
// by which a reader finds A overwritten.
func TestTrap11AKeyThatIsPutBackWhileItIsFoundOverwritten(t *testing.T) {
	for _, where := range []string{"get", "Overwritten", "RestDone", "stat", "Again", "Done", "ack"} {
		t.Run("before "+where, func(t *testing.T) {
			flowing(t, func(p *play) {
				a := p.puts("ka")
				p.says(line{actor: "reader", what: "Begin", then: func() {
					p.puts("ka")
					p.says(line{actor: "reader", what: where, slow: 30 * time.Second})
					p.at(time.Since(epoch)+10*time.Second, func() { p.back(a) })
				}})
			}, func(*play) {})
		})
	}
}

// Its notice comes late, when all of that is over, or not before the version that
// is current; or early and twice.
func TestTrap11NoticesInAnyOrder(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Second, time.Minute, time.Hour} {
		for _, again := range []bool{false, true} {
			flowing(t, func(p *play) {
				a := p.puts("ka")
				p.says(line{actor: "reader", what: "Begin", then: func() {
					b := p.puts("ka")
					p.inbox.messages[len(p.inbox.messages)-1].visible = time.Now().Add(2 * wait)
					p.back(a)
					p.inbox.messages[len(p.inbox.messages)-1].visible = time.Now().Add(wait)
					if again {
						p.inbox.announce(a)
						p.inbox.announce(b)
						p.store.current["ka"] = b
					}
				}})
			}, func(*play) {})
		}
	}
}

// The unit that is to read a version again is announced to the schedule, which
// is stopped between taking it and removing the todo.
func TestTrap11TheScheduleStopsWhereItTakesAKey(t *testing.T) {
	for _, where := range []string{"Keys", "Enter", "send", "KeySent"} {
		t.Run("before "+where, func(t *testing.T) {
			flowing(t, func(p *play) {
				a := p.puts("ka")
				p.says(line{actor: "reader", what: "Begin", then: func() {
					p.puts("ka")
					p.says(line{actor: "reader", what: "stat", then: func() {
						p.store.current["ka"] = a // and its notice came before the mark
						p.says(line{actor: "tick", what: where, kind: crashBefore})
					}})
				}})
			}, func(p *play) {
				if i := p.state(p.store.current["ka"]); i.State != ledger.Done {
					p.law("the unit is %+v", i)
				}
			})
		})
	}
}

// A key is to be looked at again for a second reason while the schedule, which
// has seen to the first one, removes that todo.
func TestTrap11AKeyIsPutAgainWhileItsTodoIsRemoved(t *testing.T) {
	flowing(t, func(p *play) {
		p.puts("ka")
		p.says(line{actor: "reader", what: "Begin", then: func() {
			b := p.puts("ka")
			p.says(line{actor: "reader", what: "Done", then: func() { p.mapped = false }})
			p.says(line{actor: "tick", what: "KeySent", slow: 3 * time.Minute, then: func() {
				p.mapped, p.tick = true, time.Now().Add(5*time.Minute) // no other one looks meanwhile
				p.says(line{actor: "reader", what: "get", then: func() { p.puts("ka") }})
				p.says(line{actor: "reader", what: "Overwritten", slow: 30 * time.Second, then: func() { p.back(b) }})
			}})
		}})
	}, func(*play) {})
}
