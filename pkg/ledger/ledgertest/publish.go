package ledgertest

import (
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var publish = []subtest{
	{"the units of a page become open, and all are to be sent", func(b bench) {
		b.started("t1")
		b.equal("to send", sorted(b.published(1, page(0, 3))), []unit.ID{id(0), id(1), id(2)})
		for n := range 3 {
			b.equal("item", b.item(1, n), ledger.Item{Planned: planned(n), Run: 1, State: ledger.Open})
		}
		b.equal("census", b.census(1), ledger.Census{Open: 3})
	}},
	{"pages add up", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 2))
		b.published(1, page(2, 5))
		m := b.meta()
		want := page(0, 2).Inventory
		want.Add(page(2, 5).Inventory)
		b.equal("inventory", m.Inventory, want)
		b.equal("planned", m.Planned, 5)
		b.equal("page", m.Page, "in/005.json")
		b.equal("listed", m.Listed, false)
		b.equal("state", m.State, ledger.Listing)
	}},
	{"a page may be empty", func(b bench) {
		b.started("t1")
		b.equal("to send", len(b.published(1, page(0, 0))), 0)
		b.ok(b.Finish(b.ctx, b.job, 1))
		b.equal("complete", b.census(1).Complete(b.meta()), true)
	}},
	{"a repeated page counts its units and objects once, and is to be sent again", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 2))
		b.published(1, page(2, 4))
		before := b.meta()
		b.equal("to send", sorted(b.published(1, page(0, 2))), []unit.ID{id(0), id(1)})
		b.equal("to send", sorted(b.published(1, page(2, 4))), []unit.ID{id(2), id(3)})
		b.equal("meta", b.meta(), before)
		b.equal("census", b.census(1), ledger.Census{Open: 4})
	}},
	{"a repeated page leaves alone what is under way, and sends all but the done", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 4))
		b.begun(1, 1)
		b.ok(b.Fault(b.ctx, b.ref(1, 1), 1, ledger.Fault{Member: 1, Record: 4}))
		b.killed(1, 2)
		b.done(1, 3)
		items, gen := b.items(1), b.meta().Generation
		b.equal("to send", sorted(b.published(1, page(0, 4))), []unit.ID{id(0), id(1), id(2)})
		b.equal("items", b.items(1), items)
		b.equal("generation", b.meta().Generation, gen)
	}},
	{"a page may be repeated after the end marker", func(b bench) {
		b.running("t1", 3)
		b.done(1, 1)
		before := b.meta()
		b.equal("to send", sorted(b.published(1, page(0, 3))), []unit.ID{id(0), id(2)})
		b.equal("meta", b.meta(), before)
	}},
	{"the end marker freezes the plan: no other page is taken", func(b bench) {
		b.running("t1", 2)
		before := b.meta()
		_, err := b.Publish(b.ctx, b.job, 1, page(2, 3))
		b.is(err, ledger.ErrState)
		grown := page(0, 3) // the page of before, as a changed listing gives it
		_, err = b.Publish(b.ctx, b.job, 1, grown)
		b.is(err, ledger.ErrState)
		elsewhere := page(0, 2) // the same units, listed after another key
		elsewhere.After = "in/777.json"
		_, err = b.Publish(b.ctx, b.job, 1, elsewhere)
		b.is(err, ledger.ErrState)
		b.equal("meta", b.meta(), before)
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"a unit that two pages hold counts once", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 2))
		twin := page(2, 3)
		twin.Units = append(twin.Units, planned(1), planned(2))
		b.published(1, twin)
		b.equal("planned", b.meta().Planned, 3)
		b.equal("census", b.census(1), ledger.Census{Open: 3})
	}},
	{"a page of another run or of an ended job is refused", func(b bench) {
		b.started("t1")
		for _, run := range []int{0, 2} {
			_, err := b.Publish(b.ctx, b.job, run, page(0, 1))
			b.is(err, ledger.ErrState)
		}
		b.over()
		_, err := b.Publish(b.ctx, b.job, 1, page(0, 1))
		b.is(err, ledger.ErrState)
		b.started("t2")
		_, err = b.Publish(b.ctx, b.job, 1, page(0, 1))
		b.is(err, ledger.ErrState)
		b.equal("planned", b.meta().Planned, 0)
	}},
	{"Finish sets the end marker, and may be repeated", func(b bench) {
		b.started("t1")
		b.published(1, page(0, 2))
		b.ok(b.Finish(b.ctx, b.job, 1))
		m := b.meta()
		b.equal("state", m.State, ledger.Running)
		b.equal("listed", m.Listed, true)
		b.equal("planned", m.Planned, 2)
		b.ok(b.Finish(b.ctx, b.job, 1))
		b.done(1, 0)
		b.done(1, 1)
		b.ok(b.Conclude(b.ctx, b.job, 1, 0, ledger.Completed))
		b.ok(b.Finish(b.ctx, b.job, 1)) // its answer came late
		b.equal("state", b.meta().State, ledger.Completed)
	}},
	{"Finish of another run or of a job that ended meanwhile is refused", func(b bench) {
		b.started("t1")
		b.is(b.Finish(b.ctx, b.job, 2), ledger.ErrState)
		b.over()
		b.is(b.Finish(b.ctx, b.job, 1), ledger.ErrState)
		b.started("t2")
		b.is(b.Finish(b.ctx, b.job, 1), ledger.ErrState)
		b.equal("state", b.meta().State, ledger.Listing)
		b.equal("listed", b.meta().Listed, false)
	}},
	{"the next run takes over what is done and opens the rest anew, its faults kept", func(b bench) {
		b.running("t1", 5)
		b.done(1, 0)
		b.begun(1, 1)
		b.ok(b.Fault(b.ctx, b.ref(1, 1), 1, ledger.Fault{Member: 2, Record: 9, Detail: "bad"}))
		b.ok(b.RestDone(b.ctx, b.ref(1, 1), 1, one))
		b.killed(1, 2)
		_, err := b.Begin(b.ctx, b.ref(1, 3), 5, 5)
		b.ok(err)
		b.over()
		b.started("t2")
		b.equal("to send", sorted(b.published(2, page(0, 4))), []unit.ID{id(1), id(2), id(3)})
		b.equal("census of run 2", b.census(2), ledger.Census{Done: 1, Open: 3, Counts: one})
		b.equal("census of run 1", b.census(1), ledger.Census{Open: 1}) // not listed again
		b.equal("faulty item", b.item(2, 1), ledger.Item{
			Planned: planned(1), Run: 2, State: ledger.Open, Serial: 1, RestDone: true, Counts: one,
			Faults: []ledger.Fault{{Member: 2, Record: 9, Detail: "bad"}},
		})
		b.equal("dead item", b.item(2, 2), ledger.Item{Planned: planned(2), Run: 2, State: ledger.Open, Serial: 1})
		b.equal("last item", b.item(2, 3), ledger.Item{Planned: planned(3), Run: 2, State: ledger.Open, Serial: 1})
		b.equal("planned", b.meta().Planned, 4)
	}},
	{"what a run took over as done stays done and counts in its tally", func(b bench) {
		b.running("t1", 3)
		b.done(1, 0)
		b.done(1, 1)
		b.over()
		b.running("t2", 3)
		b.equal("tally", b.done(2, 2), ledger.Tally{Done: 3, Planned: 3, Listed: true})
		b.equal("census", b.census(2), ledger.Census{Done: 3, Counts: times(3, one)})
		b.equal("census of run 1", b.census(1), ledger.Census{})
		b.ok(b.Conclude(b.ctx, b.job, 2, 0, ledger.Completed))
	}},
	{"a dead unit that a new run opens raises the generation", func(b bench) {
		b.running("t1", 2)
		b.killed(1, 0)
		b.over()
		gen := b.started("t2").Generation
		b.published(2, page(0, 2))
		if g := b.meta().Generation; g <= gen {
			b.Errorf("generation %d, was %d", g, gen)
		}
	}},
}

func sorted(ids []unit.ID) []unit.ID {
	slices.Sort(ids)
	return ids
}
