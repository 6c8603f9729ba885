package ledgertest

import (
	"github.com/spate-go/spate/pkg/ledger"
)

var ends = []subtest{
	{"Done marks a unit and tells how far the run is", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 3))
		b.begun(1, 0)
		b.tells(b.done(1, 0), ledger.Tally{Done: 1, Planned: 3})
		b.finished(1)
		b.tells(b.done(1, 1), ledger.Tally{Done: 2, Planned: 3, Listed: true})
		b.equal("census", b.census(1), ledger.Census{Done: 2, Open: 1, Counts: times(2, one)})
	}},
	{"Done twice counts once, as it counted first", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		first := b.done(1, 0)
		again, err := b.Done(b.ctx, b.ref(1, 0), times(3, one))
		b.ok(err)
		b.equal("tally", again, first)
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
	{"the counts of Done take the place of what the unit amounted to before", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, times(5, one)))
		all := ledger.Counts{BytesRead: 4, Sinks: map[string]ledger.SinkCounts{"third": {Blocks: 1}}}
		_, err := b.Done(b.ctx, b.ref(1, 0), all)
		b.ok(err)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Counts: all})
	}},
	{"Dead marks an open unit, keeps why, and may be repeated", func(b bench) {
		b.running("t1", 2)
		s := b.begun(1, 0).Serial
		for range 2 {
			tally, err := b.Dead(b.ctx, b.ref(1, 0), s, cause)
			b.ok(err)
			b.tells(tally, ledger.Tally{Dead: 1, Planned: 2, Listed: true})
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
		b.tells(b.done(1, 0), ledger.Tally{Done: 1, Planned: 2, Listed: true})
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
		b.listing("t1")
		b.entered(1, page(0, 1))
		s := b.begun(1, 0).Serial
		b.done(1, 0)
		_, err := b.Dead(b.ctx, b.ref(1, 0), s, cause)
		b.is(err, ledger.ErrFenced)
		b.sent(1, page(0, 1))
		b.finished(1)
		b.begun(1, 0)
		b.redriven(1, 0)
		b.ok(b.Conclude(b.ctx, b.job, 1, b.meta().Generation, ledger.Cancelled))
		b.running("t2", 1)
		b.equal("census", b.census(2), ledger.Census{Done: 1, Counts: one})
	}},
	{"a run seems settled when every planned unit is done or dead", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.done(1, 0)
		b.equal("before the end marker", b.done(1, 1).Settled(), false)
		b.finished(1)
		b.equal("after it", b.done(1, 1).Settled(), true)
		c := b.another()
		c.running("t1", 2)
		c.killed(1, 0)
		c.equal("one open", c.progress(1).Settled(), false)
		s := c.begun(1, 1).Serial
		tally, err := c.Dead(c.ctx, c.ref(1, 1), s, cause)
		c.ok(err)
		c.equal("none open, told", tally.Settled(), true)
		c.equal("none open", c.progress(1).Settled(), true)
	}},
}
