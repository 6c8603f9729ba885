package ledgertest

import (
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var proof = []subtest{
	{"a run is complete when its end marker stands and every unit is done", func(b bench) {
		complete := func(want bool) {
			b.Helper()
			b.equal("complete", b.census(1).Complete(b.meta()), want)
		}
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.done(1, 0)
		b.done(1, 1)
		complete(false) // another page may come
		b.sent(1, page(2, 3))
		b.finished(1)
		complete(false)
		b.killed(1, 2)
		complete(false)
		b.done(1, 2)
		complete(true)
	}},
	{"a run of which nothing is known proves nothing", func(b bench) {
		b.running("t1", 2)
		b.done(1, 0)
		b.equal("census", b.census(2), ledger.Census{Unlisted: 1})
		b.equal("items", len(b.items(2)), 0)
	}},
	{"Unfinished yields what is not done, in an order that stays", func(b bench) {
		b.running("t1", 12)
		for n := range 12 {
			switch n % 3 {
			case 0:
				b.done(1, n)
			case 1:
				b.killed(1, n)
			}
		}
		var first []unit.ID
		for range 2 {
			var got []unit.ID
			b.ok(b.Unfinished(b.ctx, b.job, 1, func(it ledger.Item) error {
				got = append(got, it.ID)
				if it.State == ledger.Done || it.FirstKey == "" || it.Objects == 0 || (it.Cause != nil) != (it.State == ledger.Dead) {
					b.Errorf("item %+v", it)
				}
				return nil
			}))
			if first == nil {
				first = got
			}
			b.equal("ids, in their order", got, first)
		}
		b.equal("ids", sorted(first), ids(1, 2, 4, 5, 7, 8, 10, 11))
	}},
	{"Unfinished ends with the error of yield, which may use the ledger", func(b bench) {
		b.running("t1", 3)
		stop, n := errors.New("enough"), 0
		err := b.Unfinished(b.ctx, b.job, 1, func(it ledger.Item) error {
			n++
			if _, err := b.Done(b.ctx, ledger.Ref{Job: b.job, Run: 1, ID: it.ID}, one); err != nil {
				return err
			}
			if n == 2 {
				return stop
			}
			return nil
		})
		b.is(err, stop)
		b.equal("calls", n, 2)
		b.equal("census", b.census(1), ledger.Census{Done: 2, Open: 1, Counts: times(2, one)})
	}},
	{"Conclude ends the job, and concluding alike again is no error", func(b bench) {
		for _, s := range []ledger.State{ledger.Completed, ledger.Failed, ledger.Cancelled} {
			c := b.another()
			c.running("t1", 1)
			c.done(1, 0)
			before := time.Now().Add(-time.Minute)
			c.ok(c.Conclude(c.ctx, c.job, 1, 0, s))
			m := c.meta()
			c.equal("state", m.State, s)
			if m.Ended.Before(before) || m.Ended.After(time.Now().Add(time.Minute)) {
				b.Errorf("ended at %v", m.Ended)
			}
			c.ok(c.Conclude(c.ctx, c.job, 1, 0, s))
			c.equal("meta", c.meta(), m)
		}
	}},
	{"a verdict stands: no other follows it", func(b bench) {
		b.running("t1", 1)
		b.killed(1, 0)
		b.over()
		before := b.meta()
		b.is(b.Conclude(b.ctx, b.job, 1, 0, ledger.Cancelled), ledger.ErrState)
		b.is(b.Conclude(b.ctx, b.job, 1, 0, ledger.Completed), ledger.ErrState)
		b.equal("meta", b.meta(), before)
	}},
	{"a verdict of another run or generation is refused", func(b bench) {
		m := b.running("t1", 1)
		b.is(b.Conclude(b.ctx, b.job, 2, m.Generation, ledger.Failed), ledger.ErrState)
		b.is(b.Conclude(b.ctx, b.job, 1, m.Generation+1, ledger.Failed), ledger.ErrState)
		b.equal("state", b.meta().State, ledger.Running)
		b.over()
		b.running("t2", 1)
		b.is(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Failed), ledger.ErrState)
		b.equal("state", b.meta().State, ledger.Running)
	}},
	{"a job that is listing may fail or be cancelled", func(b bench) {
		for _, s := range []ledger.State{ledger.Failed, ledger.Cancelled} {
			c := b.another()
			c.listing("t1")
			c.ok(c.Conclude(c.ctx, c.job, 1, 0, s))
			c.equal("state", c.meta().State, s)
		}
	}},
	{"a job does not end in a state that is no end", func(b bench) {
		b.running("t1", 1)
		for _, s := range []ledger.State{ledger.Running, ledger.Listing, "other"} {
			b.is(b.Conclude(b.ctx, b.job, 1, 0, s), ledger.ErrState)
		}
		b.equal("state", b.meta().State, ledger.Running)
	}},
}
