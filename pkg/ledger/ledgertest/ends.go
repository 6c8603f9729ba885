package ledgertest

import (
	"github.com/spate-go/spate/pkg/ledger"
)

var ends = []subtest{
	{"Done marks a unit and tells how far the run is", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 3))
		b.begun(1, 0)
		b.equal("tally", b.done(1, 0), ledger.Tally{Done: 1, Planned: 3})
		b.ok(b.Finish(b.ctx, b.job, 1))
		b.equal("tally", b.done(1, 1), ledger.Tally{Done: 2, Planned: 3, Listed: true})
		b.equal("census", b.census(1), ledger.Census{Done: 2, Open: 1, Counts: times(2, one)})
	}},
	{"Done twice counts once", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		first := b.done(1, 0)
		b.equal("tally", b.done(1, 0), first)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Open: 1, Counts: one})
	}},
	{"Done needs neither a start of work nor the last one", func(b bench) {
		b.running("t1", 2)
		b.done(1, 0)
		b.begun(1, 1)
		b.begun(1, 1)
		b.done(1, 1)
		b.equal("census", b.census(1), ledger.Census{Done: 2, Counts: times(2, one)})
	}},
	{"Done adds to what the rest amounted to", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		_, err := b.Done(b.ctx, b.ref(1, 0), ledger.Counts{BytesRead: 4, Sinks: map[string]ledger.SinkCounts{"third": {Blocks: 1}}})
		b.ok(err)
		want := times(1, one)
		want.BytesRead += 4
		want.Sinks["third"] = ledger.SinkCounts{Blocks: 1}
		b.equal("census", b.census(1), ledger.Census{Done: 1, Counts: want})
	}},
	{"Dead marks an open unit, keeps why, and may be repeated", func(b bench) {
		b.running("t1", 2)
		s := b.begun(1, 0).Serial
		for range 2 {
			tally, err := b.Dead(b.ctx, b.ref(1, 0), s, cause)
			b.ok(err)
			b.equal("tally", tally, ledger.Tally{Dead: 1, Planned: 2, Listed: true})
		}
		b.equal("cause", b.item(1, 0).Cause, &cause)
		b.equal("census", b.census(1), ledger.Census{Dead: 1, Open: 1})
		b.equal("generation", b.meta().Generation, 0)
	}},
	{"a cause may be without an object or a record", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		none := ledger.Cause{Reason: "crashed", Record: -1}
		_, err := b.Dead(b.ctx, b.ref(1, 0), s, none)
		b.ok(err)
		b.equal("cause", b.item(1, 0).Cause, &none)
	}},
	{"done beats dead, and raises the generation in the same step", func(b bench) {
		b.running("t1", 2)
		b.killed(1, 0)
		gen := b.meta().Generation
		b.equal("tally", b.done(1, 0), ledger.Tally{Done: 1, Planned: 2, Listed: true})
		after := b.meta().Generation
		if after <= gen {
			b.Errorf("generation %d, was %d", after, gen)
		}
		b.equal("census", b.census(1), ledger.Census{Done: 1, Open: 1, Counts: one})
		b.done(1, 0)
		b.done(1, 1)
		b.equal("generation, nothing having left dead", b.meta().Generation, after)
	}},
	{"done is never undone", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.done(1, 0)
		_, err := b.Dead(b.ctx, b.ref(1, 0), s, cause)
		b.is(err, ledger.ErrFenced)
		b.published(1, page(0, 1))
		b.begun(1, 0)
		b.ok(b.Conclude(b.ctx, b.job, 1, 0, ledger.Cancelled))
		b.running("t2", 1)
		b.equal("census", b.census(2), ledger.Census{Done: 1, Counts: one})
	}},
	{"a run seems settled when every planned unit is done or dead", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 2))
		b.done(1, 0)
		b.equal("before the end marker", b.done(1, 1).Settled(), false)
		b.ok(b.Finish(b.ctx, b.job, 1))
		b.equal("after it", b.done(1, 1).Settled(), true)
		c := newBench(b.T, b.Store)
		c.running("t1", 2)
		c.killed(1, 0)
		c.equal("one open", c.done(1, 0).Settled(), false)
		c.killed(1, 1)
		c.equal("none open", c.done(1, 0).Settled(), true)
	}},
	{"a late done of an earlier run's unit counts there until the run takes it over", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		b.over()
		b.started("t2")
		b.equal("tally of run 2", b.done(1, 0), ledger.Tally{})
		b.equal("to send", len(b.published(2, page(0, 2))), 1)
		b.equal("census of run 2", b.census(2), ledger.Census{Done: 1, Open: 1, Counts: one})
		b.ok(b.Finish(b.ctx, b.job, 2))
		b.equal("tally of run 2", b.done(2, 1), ledger.Tally{Done: 2, Planned: 2, Listed: true})
	}},
}
