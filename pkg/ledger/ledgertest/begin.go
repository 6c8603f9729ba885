package ledgertest

import (
	"strings"

	"github.com/spate-go/spate/pkg/ledger"
)

var begin = []subtest{
	{"each start of work raises serial and attempts", func(b bench) {
		b.running("t1", 2)
		for n := 1; n <= 3; n++ {
			want := ledger.Item{Planned: planned(0), Run: 1, State: ledger.Open, Serial: n, Attempts: n}
			b.equal("item", b.begun(1, 0), want)
			b.equal("item, kept", b.item(1, 0), want)
		}
		b.equal("another unit", b.item(1, 1).Serial, 0)
	}},
	{"an attempt is the last one when receives or attempts reach the limit", func(b bench) {
		for _, tc := range []struct {
			earlier, receives, limit int
			last                     bool
		}{
			{0, 1, 3, false},
			{0, 2, 3, false},
			{0, 3, 3, true},
			{0, 4, 3, true},
			{1, 1, 3, false},
			{2, 1, 3, true}, // messages came and went, the item remembers
			{3, 1, 3, true},
			{0, 1, 1, true},
		} {
			c := b.another()
			c.running("t1", 1)
			for range tc.earlier {
				c.begun(1, 0)
			}
			it, err := c.Begin(c.ctx, c.ref(1, 0), tc.receives, tc.limit)
			c.ok(err)
			if it.Last != tc.last || c.item(1, 0).Last != tc.last {
				b.Errorf("%+v: last is %v, kept as %v", tc, it.Last, c.item(1, 0).Last)
			}
		}
	}},
	{"a later start of work that is not the last takes the mark off", func(b bench) {
		b.running("t1", 1)
		b.lastly(1, 0)
		b.equal("last", b.begun(1, 0).Last, false)
	}},
	{"units are read while the job is still listing", func(b bench) {
		b.listing("t1")
		b.entered(1, page(0, 1))
		b.equal("serial", b.begun(1, 0).Serial, 1)
	}},
	{"a done unit comes back untouched", func(b bench) {
		b.running("t1", 1)
		b.begun(1, 0)
		b.done(1, 0)
		for range 2 {
			it := b.begun(1, 0)
			b.equal("state", it.State, ledger.Done)
			b.equal("run", it.Run, 1)
			b.equal("id", it.ID, id(0))
		}
		b.equal("census", b.census(1), ledger.Census{Done: 1, Counts: one})
	}},
	{"a dead unit comes back untouched, with its cause", func(b bench) {
		b.running("t1", 1)
		b.killed(1, 0)
		want := ledger.Item{Planned: planned(0), Run: 1, State: ledger.Dead, Serial: 1, Attempts: 1, Cause: &cause}
		b.equal("item", b.begun(1, 0), want)
		b.equal("item, kept", b.item(1, 0), want)
	}},
	{"a unit of an earlier run is not begun", func(b bench) {
		b.running("t1", 1)
		b.begun(1, 0)
		b.over()
		b.started("t2") // which has not listed it yet
		before := b.item(1, 0)
		it, err := b.Begin(b.ctx, b.ref(1, 0), 1, 10)
		b.is(err, ledger.ErrState) // by a message of run 1: its serial may be another's
		b.equal("item given out", it, ledger.Item{})
		b.equal("by one of run 2", b.begun(2, 0), before)
		b.equal("item, kept", b.item(1, 0), before)
	}},
	{"a message of an earlier run touches no unit of a later one", func(b bench) {
		b.running("t1", 1)
		b.over()
		b.running("t2", 1)
		b.begun(2, 0)
		before := b.item(2, 0)
		b.equal("item", b.begun(1, 0), before)
		b.equal("item, kept", b.item(2, 0), before)
	}},
	{"an attempt given back does not count, nor does its mark", func(b bench) {
		b.running("t1", 1)
		b.begun(1, 0)
		s := b.lastly(1, 0).Serial
		b.ok(b.GiveBack(b.ctx, b.ref(1, 0), s))
		want := ledger.Item{Planned: planned(0), Run: 1, State: ledger.Open, Serial: 2, Attempts: 1}
		b.equal("item", b.item(1, 0), want)
		b.ok(b.GiveBack(b.ctx, b.ref(1, 0), s)) // its answer was lost
		b.equal("item, given back once", b.item(1, 0), want)
		b.equal("attempts", b.begun(1, 0).Attempts, 2)
		b.ok(b.GiveBack(b.ctx, b.ref(1, 0), 3))
		b.equal("attempts", b.item(1, 0).Attempts, 1)
	}},
	{"a unit that no page held is named", func(b bench) {
		b.running("t1", 1)
		r := b.ref(1, 7)
		_, err := b.Begin(b.ctx, r, 1, 5)
		errs := []error{err, b.Fault(b.ctx, r, 1, ledger.Fault{}), b.RestDone(b.ctx, r, 1, one), b.Recovered(b.ctx, r, 1, 0, one), b.Pause(b.ctx, r, 1, place, one), b.GiveBack(b.ctx, r, 1)}
		_, err = b.Done(b.ctx, r, one)
		errs = append(errs, err)
		_, err = b.Dead(b.ctx, r, 1, cause)
		for _, err := range append(errs, err) {
			b.is(err, ledger.ErrNoUnit)
			if err == nil || !strings.Contains(err.Error(), string(id(7))) || !strings.Contains(err.Error(), b.job) {
				b.Errorf("the error does not name unit and job: %v", err)
			}
		}
		b.equal("census", b.census(1), ledger.Census{Open: 1})
	}},
}
