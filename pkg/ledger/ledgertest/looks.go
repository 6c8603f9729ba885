package ledgertest

import (
	"context"
	"strings"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var looks = []sharedTest{
	{"Look gives an open unit with its body, whatever became of it so far", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		serial := b.begun(1, 0).Serial
		b.faulty(1, 0, serial, ledger.Fault{Member: 1, Record: 2})
		b.paused(1, 0, serial, place)
		for u := range 2 {
			it := b.look(s, u)
			b.equal("body", string(it.Body), string(published(u).Body))
			it.Body = nil
			b.equal("item", it, b.item(1, u))
		}
	}},
	{"of a dead unit it gives what Unfinished does", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.killed(1, 0)
		it := b.look(s, 0)
		it.Body = nil
		b.equal("item", it, b.item(1, 0))
		b.equal("cause", it.Cause, &cause)
	}},
	{"of a done unit it says when it came and ended, and what it amounts to", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		entered := b.item(1, 0).Entered
		b.lapse(aWhile)
		b.begun(1, 0)
		b.done(1, 0)
		it := b.look(s, 0)
		b.equal("item", []any{it.ID, it.Run, it.State, it.Counts, it.Entered}, []any{id(0), 1, ledger.Done, one, entered})
		b.recent("ended", it.Ended, aWhile)
		b.lapse(aWhile)
		b.done(1, 0)
		b.equal("item, done again", b.look(s, 0), it)
	}},
	{"an unknown unit is named, and an object that nobody claimed", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		_, err := s.Look(b.ctx, b.ref(1, 7))
		b.is(err, ledger.ErrNoUnit)
		b.names(err, string(id(7)))
		_, err = s.Claimed(b.ctx, b.job, object(7))
		b.is(err, ledger.ErrNoClaim)
		b.names(err, string(object(7)))
		c := b.another()
		c.streams(s, 0)
		_, err = s.Claimed(c.ctx, c.job, object(0)) // another job's
		b.is(err, ledger.ErrNoClaim)
	}},
	{"a claim says since when it is held", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.recent("since", b.since(s, 0), 0)
		b.overwrites(s, 0, b.begun(1, 0).Serial, version(0, 0))
		b.lapse(aWhile)
		b.recent("since, overwritten", b.since(s, 0), 0)
		b.enters(s, b.taking(1, 1, 5, 0))
		b.recent("since, taken again", b.since(s, 0), aWhile)
	}},
	{"what a caller changes in what it looked at does not show", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		serial := b.begun(1, 0).Serial
		b.faulty(1, 0, serial, ledger.Fault{Member: 1})
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), serial, one))
		it := b.look(s, 0)
		it.Faults[0].Member = 9
		it.Counts.Sinks["main"] = ledger.SinkCounts{}
		b.equal("faults", b.look(s, 0).Faults, []ledger.Fault{{Member: 1}})
		b.equal("counts", b.look(s, 0).Counts, one)
	}},
	{"an unknown job is named by every method", func(b bench, s ledger.Shared) {
		for method, err := range b.everyShared(s, 1) {
			b.is(err, ledger.ErrNoJob)
			if err == nil || !strings.Contains(err.Error(), b.job) {
				b.Errorf("%s: the error does not name the job: %v", method, err)
			}
		}
	}},
	{"a context that ended writes nothing", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		serial := b.begun(1, 0).Serial
		before, items := b.meta(), b.items(1)
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		over := b
		over.ctx = ctx
		for method, err := range over.everyShared(s, serial) {
			if err == nil {
				b.Errorf("%s: no error", method)
			}
			b.is(err, context.Canceled)
		}
		b.is(s.Again(ctx, b.job, unit.Object{Key: "k"}), context.Canceled)
		b.equal("meta", b.meta(), before)
		b.equal("items", b.items(1), items)
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0)})
		b.equal("keys", len(b.keyTodos(s)), 0)
		other := b.another()
		_, err := s.Open(ctx, other.job, ledger.Start{})
		b.is(err, context.Canceled)
		_, err = other.Meta(other.ctx, other.job)
		b.is(err, ledger.ErrNoJob)
	}},
}

func (b bench) names(err error, what string) {
	b.Helper()
	if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), b.job) {
		b.Errorf("the error does not name %s and the job: %v", what, err)
	}
}

// everyShared calls every method that needs a continuous job and its unit 0.
func (b bench) everyShared(s ledger.Shared, serial int) map[string]error {
	r, errs := b.ref(1, 0), map[string]error{}
	_, errs["Enter"] = s.Enter(b.ctx, b.entry(1, 5, 5))
	_, errs["Claimed"] = s.Claimed(b.ctx, b.job, object(0))
	_, errs["Look"] = s.Look(b.ctx, r)
	errs["Overwritten"] = s.Overwritten(b.ctx, r, serial, overwritten, *version(0, 0))
	errs["Repeat"] = s.Repeat(b.ctx, r, 0)
	_, errs["Adopt"] = s.Adopt(b.ctx, b.job, 1, "read-1")
	return errs
}
