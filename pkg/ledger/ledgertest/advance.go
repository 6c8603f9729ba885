package ledgertest

import (
	"github.com/spate-go/spate/pkg/ledger"
)

var advance = []subtest{
	{"a page counts when it is advanced, not before", func(b bench) {
		b.listing("t1")
		before := b.meta()
		b.entered(1, page(0, 2))
		b.equal("meta", b.meta(), before)
		b.ok(b.Advance(b.ctx, b.lister(1), page(0, 2)))
		m := b.meta()
		b.equal("page", m.Page, page(0, 2).Last)
		b.equal("planned", m.Planned, 2)
		b.equal("inventory", m.Inventory, page(0, 2).Inventory)
		b.equal("state", m.State, ledger.Listing)
		b.equal("listed", m.Listed, false)
	}},
	{"pages add up", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.sent(1, page(2, 5))
		m := b.meta()
		want := page(0, 2).Inventory
		want.Add(page(2, 5).Inventory)
		b.equal("inventory", m.Inventory, want)
		b.equal("planned", m.Planned, 5)
		b.equal("page", m.Page, "in/005.json")
	}},
	{"a page that is advanced again counts once", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.sent(1, page(2, 4))
		before := unleased(b.meta())
		b.ok(b.Advance(b.ctx, b.lister(1), page(2, 4)))
		b.equal("meta", unleased(b.meta()), before)
		b.finished(1)
		before = b.meta()
		b.ok(b.Advance(b.ctx, b.lister(1), page(2, 4))) // its answer came late
		b.equal("meta", b.meta(), before)
	}},
	{"a page elsewhere, of another run or of an ended job is not advanced", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.entered(1, page(2, 4))
		before := b.meta()
		b.is(b.Advance(b.ctx, b.lister(1), page(4, 5)), ledger.ErrState)
		b.is(b.Advance(b.ctx, b.lister(2), page(2, 4)), ledger.ErrState)
		b.equal("meta", b.meta(), before)
		b.over()
		b.is(b.Advance(b.ctx, b.lister(1), page(2, 4)), ledger.ErrState)
		b.equal("planned", b.meta().Planned, 2)
	}},
	{"Finish sets the end marker, and may be repeated", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.finished(1)
		m := b.meta()
		b.equal("state", m.State, ledger.Running)
		b.equal("listed", m.Listed, true)
		b.equal("planned", m.Planned, 2)
		b.finished(1)
		b.done(1, 0)
		b.done(1, 1)
		b.ok(b.Conclude(b.ctx, b.job, 1, 0, ledger.Completed))
		b.finished(1) // its answer came late
		b.equal("state", b.meta().State, ledger.Completed)
	}},
	{"the plan is not frozen without the page that was published last", func(b bench) {
		b.listing("t1")
		b.entered(1, page(0, 2))
		before := b.meta()
		b.is(b.Finish(b.ctx, b.lister(1)), ledger.ErrState)
		b.equal("meta", b.meta(), before)
		b.sent(1, page(0, 2))
		b.finished(1)
		b.equal("planned", b.meta().Planned, 2)
	}},
	{"Finish of another run or of a job that ended meanwhile is refused", func(b bench) {
		b.listing("t1")
		b.is(b.Finish(b.ctx, b.lister(2)), ledger.ErrState)
		b.over()
		b.is(b.Finish(b.ctx, b.lister(1)), ledger.ErrState)
		b.listing("t2")
		b.is(b.Finish(b.ctx, b.lister(1)), ledger.ErrState)
		b.equal("state", b.meta().State, ledger.Listing)
		b.equal("listed", b.meta().Listed, false)
	}},
}

// runs is what the next run does with the units of earlier ones.
var runs = []subtest{
	{"the next run takes over what is done and opens the rest anew, what was acked of it kept", func(b bench) {
		b.running("t1", 6)
		b.done(1, 0)
		s := b.begun(1, 1).Serial
		b.faulty(1, 1, s, ledger.Fault{Member: 2, Record: 9, Detail: "bad"})
		b.ok(b.RestDone(b.ctx, b.ref(1, 1), s, one))
		b.killed(1, 2)
		b.lastly(1, 3)
		s = b.begun(1, 4).Serial
		b.paused(1, 4, s, place)
		b.over()
		b.listing("t2")
		b.equal("to send", b.sent(2, page(0, 5)), ids(1, 2, 3, 4))
		b.equal("census of run 2", b.census(2), ledger.Census{Done: 1, Open: 4, Counts: one})
		b.equal("census of run 1", b.census(1), ledger.Census{Open: 1}) // not listed again
		cursor := place
		b.equal("items", b.items(2), []ledger.Item{
			{
				Planned: planned(1), Run: 2, State: ledger.Open, Serial: 1, RestDone: true, Counts: one,
				Faults: []ledger.Fault{{Member: 2, Record: 9, Detail: "bad"}},
			},
			{Planned: planned(2), Run: 2, State: ledger.Open, Serial: 1},
			{Planned: planned(3), Run: 2, State: ledger.Open, Serial: 1},
			{Planned: planned(4), Run: 2, State: ledger.Open, Serial: 1, Cursor: &cursor, Counts: one},
		})
		b.equal("planned", b.meta().Planned, 5)
	}},
	{"what an earlier run began or finished and the run does not list is counted apart", func(b bench) {
		b.running("t1", 5)
		b.done(1, 0)
		b.done(1, 1)
		b.begun(1, 2)
		b.killed(1, 3)
		b.over()
		b.running("t2", 1)
		b.equal("census", b.census(2), ledger.Census{Done: 1, Counts: one, Unlisted: 3})
		b.equal("census of run 1", b.census(1), ledger.Census{Done: 1, Dead: 1, Open: 2, Counts: one})
		b.ok(b.Conclude(b.ctx, b.job, 2, 0, ledger.Completed))
		b.running("t3", 3)
		b.equal("census of run 3", b.census(3), ledger.Census{Done: 2, Open: 1, Counts: times(2, one), Unlisted: 1})
	}},
	{"what a run took over as done stays done and counts in its progress", func(b bench) {
		b.running("t1", 3)
		b.done(1, 0)
		b.done(1, 1)
		b.over()
		b.running("t2", 3)
		b.tells(b.done(2, 2), ledger.Tally{Done: 3, Planned: 3, Listed: true})
		b.equal("progress", b.progress(2).Tally, ledger.Tally{Done: 3, Planned: 3, Listed: true})
		b.equal("census", b.census(2), ledger.Census{Done: 3, Counts: times(3, one)})
		b.equal("census of run 1", b.census(1), ledger.Census{})
		b.ok(b.Conclude(b.ctx, b.job, 2, 0, ledger.Completed))
	}},
	{"what a repeated page took over counts once", func(b bench) {
		b.running("t1", 2)
		b.done(1, 0)
		b.over()
		b.listing("t2")
		for range 3 {
			b.equal("to send", b.entered(2, page(0, 2)), ids(1))
		}
		b.sent(2, page(0, 2))
		b.equal("progress", b.progress(2).Tally, ledger.Tally{Done: 1, Planned: 2})
	}},
	{"a dead unit that a new run opens raises the generation", func(b bench) {
		b.running("t1", 2)
		b.killed(1, 0)
		b.over()
		gen := b.listing("t2").Generation
		b.entered(2, page(0, 2))
		after := b.meta().Generation
		if after <= gen {
			b.Errorf("generation %d, was %d", after, gen)
		}
		b.sent(2, page(0, 2))
		b.equal("generation, nothing having left dead", b.meta().Generation, after)
	}},
	{"a late done of an earlier run's unit counts there until the run takes it over", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		b.over()
		b.listing("t2")
		b.done(1, 0)
		b.equal("progress of run 2", b.progress(2).Tally, ledger.Tally{})
		b.equal("to send", b.sent(2, page(0, 2)), ids(1))
		b.equal("census of run 2", b.census(2), ledger.Census{Done: 1, Open: 1, Counts: one})
		b.finished(2)
		b.tells(b.done(2, 1), ledger.Tally{Done: 2, Planned: 2, Listed: true})
	}},
}
