package ledgertest

import (
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// traps are ways to lose rows, or a job, that a model of the whole protocol found
// in earlier wordings of it: what each subtest is named after must not happen.
var traps = []subtest{
	{"1: a member's series begins after records that were never acked", func(b bench) {
		b.running("t1", 1)
		first := b.begun(1, 0).Serial
		b.faulty(1, 0, first, ledger.Fault{Member: 1, Record: 1, Reason: failure.ETagDrift})
		second := b.begun(1, 0).Serial // the first has acked nothing of record 0 yet
		low := ledger.Fault{Member: 1, Record: 0, Reason: failure.NotFound, Detail: "gone"}
		b.faulty(1, 0, second, low)
		b.is(b.Fault(b.ctx, b.ref(1, 0), first, ledger.Fault{Member: 1, Record: 1}), ledger.ErrFenced)
		b.is(b.RestDone(b.ctx, b.ref(1, 0), first, one), ledger.ErrFenced)
		b.is(b.Recovered(b.ctx, b.ref(1, 0), first, 1, one), ledger.ErrFenced)
		b.is(b.Pause(b.ctx, b.ref(1, 0), first, place, one), ledger.ErrFenced)
		b.faulty(1, 0, second, ledger.Fault{Member: 1, Record: 5})
		it := b.item(1, 0)
		b.equal("faults", it.Faults, []ledger.Fault{low})
		b.equal("rest done", it.RestDone, false)
		b.equal("cursor", it.Cursor, (*ledger.Cursor)(nil))
	}},
	{"3: a job fails for a unit that a late reader made done", func(b bench) {
		m := b.running("t1", 2)
		b.done(1, 0)
		b.killed(1, 1)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Dead: 1, Counts: one})
		b.done(1, 1)
		b.is(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Failed), ledger.ErrState)
		m = b.meta()
		b.equal("complete", b.census(1).Complete(m), true)
		b.ok(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Completed))
	}},
	{"3: a job fails for a unit that a redrive opened", func(b bench) {
		m := b.running("t1", 1)
		b.killed(1, 0)
		b.equal("census", b.census(1), ledger.Census{Dead: 1})
		b.redriven(1, 1)
		b.is(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Failed), ledger.ErrState)
		b.equal("state", b.meta().State, ledger.Running)
	}},
	{"5: a unit is at its last attempt though its job was halted in each", func(b bench) {
		b.running("t1", 1)
		for range 3 {
			s := b.lastly(1, 0).Serial
			b.ok(b.GiveBack(b.ctx, b.ref(1, 0), s))
			it := b.item(1, 0)
			b.equal("last", it.Last, false)
			b.equal("attempts", it.Attempts, 0)
		}
	}},
	{"7: a reader that froze at its last delivery kills what a redrive opened", func(b bench) {
		b.running("t1", 1)
		frozen := b.lastly(1, 0).Serial
		_, err := b.Dead(b.ctx, b.ref(1, 0), frozen, ledger.Cause{Reason: failure.Crashed, Record: -1}) // settled
		b.ok(err)
		b.over()
		b.redriven(1, 1)
		b.refuses(1, 0, frozen)
		b.equal("census", b.census(1), ledger.Census{Open: 1})
		if s := b.begun(1, 0).Serial; s <= frozen {
			b.Errorf("serial %d after %d", s, frozen)
		}
		b.refuses(1, 0, frozen)
	}},
	{"7: a unit that went on in its last attempt is taken for crashed", func(b bench) {
		b.running("t1", 1)
		b.paused(1, 0, b.lastly(1, 0).Serial, place)
		it := b.item(1, 0)
		b.equal("last", it.Last, false)
		b.equal("attempts", it.Attempts, 0)
	}},
	{"8: a halt is cleared and nothing that it held is sent", func(b bench) {
		for _, h := range []ledger.Halt{denied, down} {
			before := b.another()
			before.running("t1", 1)
			before.halts(h, true, &h)
			m := before.meta()
			before.resumes(h.Reason, true, nil)
			if now := before.meta(); now.Ask <= m.Ask || now.Ask == now.Swept {
				b.Errorf("from %+v to %+v", m, now)
			}
		}
	}},
}

var sharedTraps = []sharedTest{
	{"2: a job is forgotten that a redrive opened after its report", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.killed(1, 0)
		b.over()
		reported := b.meta().Generation
		b.redriven(1, 1)
		b.is(s.Retire(b.ctx, b.job, 1, reported), ledger.ErrState)
		b.lives(s, true)
		b.over() // and fails once more, for the report to be written anew
		b.is(s.Retire(b.ctx, b.job, 1, reported), ledger.ErrState)
		b.lives(s, true)
	}},
	{"2: a job is forgotten that was redriven after it was retired", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.killed(1, 0)
		b.over()
		b.retired(s)
		b.redriven(1, 1)
		b.lives(s, true)
	}},
	{"8: a unit that is due again is forgotten for what was sent before", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		sent := b.due(s, 1)[0] // the schedule sends it, and is slow to say so
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		b.ok(s.Sent(b.ctx, b.job, sent))
		now := b.due(s, 1)
		if len(now) != 1 || now[0].Number == sent.Number {
			b.Errorf("due: %v, and %v was sent", now, sent)
		}
	}},
	{"8: a send that was asked for meanwhile is met by one that began before", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.halts(denied, true, &denied)
		b.resumes(failure.Denied, true, nil)
		ask := b.meta().Ask
		b.halts(denied, true, &denied)
		b.resumes(failure.Denied, true, nil)
		b.ok(s.Swept(b.ctx, b.job, 1, ask))
		if m := b.meta(); m.Ask == m.Swept {
			b.Errorf("meta %+v", m)
		}
	}},
	{"4: a unit that was entered and never sent, or whose message was lost, is open for ever", func(b bench, s ledger.Shared) {
		b.streams(s, 3)
		then := b.look(s, 0).Entered.Add(aWhile / 2)
		b.begun(1, 1) // and its reader dies with the message
		b.done(1, 2)
		for n := range 3 {
			b.lapse(aWhile)
			b.stales(s, 1, then, 0, 1)
			for u := range 2 {
				b.ok(s.Repeat(b.ctx, b.ref(1, u), n))
			}
			b.stales(s, 1, then)
			then = then.Add(aWhile)
			b.equal("oldest is still", b.look(s, 0).State, ledger.Open)
		}
		b.equal("pending", b.pending(s, 1), []ledger.Planned{published(0), published(1)})
	}},
	{"11: a key that was put as A, B and A again is dropped as known, and the last A was never read", func(b bench, s ledger.Shared) {
		const first, second = 0, 1 // the versions A and B
		b.streams(s, 1)
		serial := b.begun(1, 0).Serial
		b.overwrites(s, 0, serial, version(first, 0)) // A is marked before anybody looks at what is there now
		b.enters(s, b.entry(1, 5, second))
		b.enters(s, b.entry(1, 0, first)) // A's event once more: it is A's unit, and takes the mark off nothing
		b.refused(s, b.entry(1, 6, first), ledger.Held{Claim: claim(0, first), Overwritten: true})
		b.done(1, 0)
		b.enters(s, b.taking(1, 1, 7, first))
		b.overwrites(s, 7, b.begun(1, 7).Serial, version(first, 1))
		b.enters(s, b.taking(1, 2, 8, first))
		b.begun(1, 8)
		b.done(1, 8)
		b.refused(s, b.taking(1, 3, 9, first), ledger.Held{Claim: ledger.Claim{ID: object(first), Unit: id(8), Take: 2}})
	}},
}
