package ledgertest

import (
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func (b bench) redriven(run, want int) ledger.Meta {
	b.Helper()
	n, err := b.Redrive(b.ctx, b.job, run)
	b.ok(err)
	b.equal("opened", n, want)
	return b.meta()
}

var redrive = []subtest{
	{"Redrive opens what is dead, its attempts forgiven and what was acked of it kept", func(b bench) {
		b.running("t1", 3)
		s := b.begun(1, 0).Serial
		b.faulty(1, 0, s, ledger.Fault{Member: 1, Record: 2})
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		s = b.lastly(1, 0).Serial
		_, err := b.Dead(b.ctx, b.ref(1, 0), s, cause)
		b.ok(err)
		b.done(1, 1)
		b.begun(1, 2)
		open := b.item(1, 2)
		b.redriven(1, 1)
		it := b.item(1, 0)
		if it.Serial <= s {
			b.Errorf("serial %d, was %d", it.Serial, s)
		}
		b.equal("item", it, ledger.Item{
			Planned: planned(0), Run: 1, State: ledger.Open, Serial: it.Serial, RestDone: true, Counts: one,
			Faults: []ledger.Fault{{Member: 1, Record: 2}},
		})
		b.equal("open item", b.item(1, 2), open)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Open: 2, Counts: one})
		b.equal("progress", b.progress(1).Tally, ledger.Tally{Done: 1, Planned: 3, Listed: true})
	}},
	{"a failed job runs again, and a send of what is open is asked for", func(b bench) {
		b.running("t1", 2)
		b.killed(1, 0)
		b.over()
		before := b.meta()
		m := b.redriven(1, 1)
		b.equal("state", m.State, ledger.Running)
		b.equal("ended", m.Ended, time.Time{})
		if m.Generation <= before.Generation || m.Ask <= before.Ask || m.Ask == m.Swept {
			b.Errorf("from %+v to %+v", before, m)
		}
		b.done(1, 0)
		b.done(1, 1)
		b.ok(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Completed))
	}},
	{"a running job's dead units are opened too", func(b bench) {
		b.running("t1", 3)
		b.killed(1, 0)
		b.killed(1, 1)
		gen := b.meta().Generation
		m := b.redriven(1, 2)
		b.equal("state", m.State, ledger.Running)
		if m.Generation <= gen {
			b.Errorf("generation %d, was %d", m.Generation, gen)
		}
	}},
	{"it may be repeated", func(b bench) {
		b.running("t1", 2)
		b.killed(1, 0)
		b.over()
		b.redriven(1, 1)
		items := b.items(1)
		m := b.redriven(1, 0)
		b.equal("state", m.State, ledger.Running)
		b.equal("items", b.items(1), items)
		b.killed(1, 0)
		b.redriven(1, 1)
	}},
	{"a run that is listing, completed, cancelled or another is not redriven", func(b bench) {
		refused := func(c bench, run int) {
			b.Helper()
			before := c.meta()
			_, err := c.Redrive(c.ctx, c.job, run)
			b.is(err, ledger.ErrState)
			b.equal("meta", c.meta(), before)
		}
		b.listing("t1")
		b.entered(1, page(0, 2))
		b.killed(1, 0)
		refused(b, 1)
		for _, s := range []ledger.State{ledger.Completed, ledger.Cancelled} {
			c := b.another()
			c.running("t1", 1)
			c.done(1, 0)
			refused(c, 0)
			refused(c, 2)
			c.ok(c.Conclude(c.ctx, c.job, 1, 0, s))
			refused(c, 1)
		}
		b.equal("dead", b.census(1).Dead, 1)
	}},
	{"units of an earlier run stay as they are", func(b bench) {
		b.running("t1", 2)
		b.killed(1, 0)
		b.killed(1, 1)
		b.over()
		b.listing("t2")
		b.sent(2, page(0, 1))
		b.finished(2)
		b.killed(2, 0)
		b.redriven(2, 1)
		b.equal("state of run 1's", b.item(1, 1).State, ledger.Dead)
	}},
	{"a redrive leaves the halt, which is cleared by its own name", func(b bench) {
		b.running("t1", 1)
		b.killed(1, 0)
		b.halts(denied, true, &denied)
		b.equal("halt", b.redriven(1, 1).Halt, &denied)
		b.resumes(failure.Denied, true, nil)
	}},
}
