package ledgertest

import (
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

var backlogs = []sharedTest{
	{"it counts what is open and dead, and knows the oldest open one", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		l, err := s.Backlog(b.ctx, b.job, 1)
		b.ok(err)
		b.equal("backlog", l, ledger.Backlog{})
		for u := range 4 {
			b.enters(s, b.entry(1, u, u))
			b.lapse(aWhile)
		}
		b.backlog(s, 1, 4, 0)
		oldest := func(u int) {
			b.Helper()
			b.soon("oldest", func() any {
				l, err := s.Backlog(b.ctx, b.job, 1)
				b.ok(err)
				return l.Oldest.UnixMilli()
			}, b.look(s, u).Entered.UnixMilli())
		}
		oldest(0)
		b.begun(1, 0)
		oldest(0) // touched is not done
		b.done(1, 0)
		b.backlog(s, 1, 3, 0)
		oldest(1)
		b.killed(1, 1)
		b.backlog(s, 1, 2, 1)
		oldest(2)
		b.paused(1, 2, b.begun(1, 2).Serial, place)
		b.done(1, 3)
		b.backlog(s, 1, 1, 1)
		oldest(2)
		b.done(1, 2)
		b.backlog(s, 1, 0, 1)
		l, err = s.Backlog(b.ctx, b.job, 1)
		b.ok(err)
		b.equal("oldest", l.Oldest, time.Time{})
		b.equal("dead ones do not count twice", b.progress(1).Dead, 1)
	}},
	{"it is of one run", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.over()
		b.opened(s, "t2")
		b.enters(s, b.entry(2, 5, 5))
		b.backlog(s, 2, 1, 0)
		b.backlog(s, 1, 2, 0)
		b.stales(s, 2, time.Now().Add(aWhile), 5)
		b.stales(s, 1, time.Now().Add(aWhile), 0, 1)
	}},
	{"a redrive puts what was dead into it again", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.killed(1, 0)
		b.backlog(s, 1, 1, 1)
		b.redriven(1, 1)
		b.backlog(s, 1, 2, 0)
		b.stales(s, 1, time.Now().Add(aWhile), 0, 1)
		b.done(1, 0)
		b.backlog(s, 1, 1, 0)
	}},
	{"a late done of a dead unit takes it off", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.killed(1, 0)
		b.backlog(s, 1, 0, 1)
		b.done(1, 0)
		b.backlog(s, 1, 0, 0)
		b.stales(s, 1, time.Now().Add(aWhile))
	}},
	{"a listed job's units are in none", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		c := b.another()
		c.running("t1", 3)
		c.begun(1, 0)
		for _, it := range c.items(1) {
			b.equal("times", []time.Time{it.Entered, it.Touched, it.Ended}, make([]time.Time, 3))
		}
		b.backlog(s, 1, 1, 0)
	}},
}
