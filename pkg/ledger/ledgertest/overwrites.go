package ledgertest

import (
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// overwritten is a fault of member 0.
var overwritten = ledger.Fault{Record: 4, Framed: 4, Reason: failure.ETagDrift, Detail: "put again", Overwritten: true}

var overwrites = []sharedTest{
	{"it is a fault of the item, and marks the claim", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.entry(1, 0, 0, 1))
		serial := b.begun(1, 0).Serial
		for range 2 { // its answer was lost
			b.overwrites(s, 0, serial, version(0, 0))
		}
		b.equal("faults", b.item(1, 0).Faults, []ledger.Fault{overwritten})
		b.equal("faults, begun", b.begun(1, 0).Faults, []ledger.Fault{overwritten})
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0), Overwritten: true})
		b.equal("claim of another object", b.holds(s, 1), ledger.Held{Claim: claim(0, 1)})
		b.equal("state", b.item(1, 0).State, ledger.Open)
	}},
	{"who lost the unit marks neither", func(b bench, s ledger.Shared) {
		b.streams(s, 3)
		refused := func(u, serial int) {
			b.Helper()
			before := b.look(s, u)
			err := s.Overwritten(b.ctx, b.ref(1, u), serial, overwritten, *version(u, 0))
			b.is(err, ledger.ErrFenced)
			b.names(err, string(id(u)))
			b.equal("item", b.look(s, u), before)
			b.equal("claim", b.holds(s, u), ledger.Held{Claim: claim(u, u)})
		}
		refused(0, 0)
		refused(0, 1)
		first := b.begun(1, 0).Serial
		b.begun(1, 0)
		refused(0, first)
		serial := b.begun(1, 1).Serial
		b.done(1, 1)
		refused(1, serial)
		refused(2, b.killed(1, 2))
		b.is(s.Overwritten(b.ctx, b.ref(1, 7), 1, overwritten, *version(0, 0)), ledger.ErrNoUnit)
		b.over()
		b.opened(s, "t2")
		b.is(s.Overwritten(b.ctx, b.ref(2, 0), first+1, overwritten, *version(0, 0)), ledger.ErrFenced)
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0)})
	}},
	{"any range of an object that was cut marks its claim", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.cut(1, 0, 3))
		b.done(1, 0)
		b.overwrites(s, 2, b.begun(1, 2).Serial, version(0, 0))
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0), Overwritten: true})
	}},
	{"a claim of another take, or none, is left alone", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		serial := b.begun(1, 0).Serial
		b.overwrites(s, 0, serial, version(1, 1))
		b.equal("claim", b.holds(s, 1), ledger.Held{Claim: claim(1, 1)})
		f := overwritten
		f.Member = 1
		b.ok(s.Overwritten(b.ctx, b.ref(1, 0), serial, f, *version(7, 0)))
		_, err := s.Claimed(b.ctx, b.job, object(7))
		b.is(err, ledger.ErrNoClaim)
		b.equal("faults", ordered(b.item(1, 0)).Faults, []ledger.Fault{overwritten, f})
	}},
	{"what was faulty before becomes overwritten, at the lower record of both", func(b bench, s ledger.Shared) {
		b.streams(s, 3)
		for u, record := range []int64{2, 4, 9} {
			serial := b.begun(1, u).Serial
			b.faulty(1, u, serial, ledger.Fault{Record: record, Framed: record + 1, Reason: failure.Undecodable, Detail: "bad"})
			for range 2 {
				b.overwrites(s, u, serial, version(u, 0))
			}
			want := overwritten
			if record <= want.Record {
				want.Record, want.Framed = record, record+1
			}
			b.equal("faults", b.item(1, u).Faults, []ledger.Fault{want})
			b.equal("claim", b.holds(s, u), ledger.Held{Claim: claim(u, u), Overwritten: true})
		}
	}},
	{"an overwritten version may be taken again with the next take, and only then", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.refused(s, b.taking(1, 1, 5, 0), ledger.Held{Claim: claim(0, 0)})
		b.overwrites(s, 0, b.begun(1, 0).Serial, version(0, 0))
		stands := ledger.Held{Claim: claim(0, 0), Overwritten: true}
		for _, take := range []int{0, 2} {
			b.refused(s, b.taking(1, take, 5, 0), stands)
		}
		again := b.taking(1, 1, 5, 0)
		for range 2 {
			b.enters(s, again)
		}
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: again.Claims[0]})
		b.refused(s, b.taking(1, 1, 6, 0), ledger.Held{Claim: again.Claims[0]})
		b.refused(s, b.taking(1, 2, 6, 0), ledger.Held{Claim: again.Claims[0]})
		b.overwrites(s, 5, b.begun(1, 5).Serial, version(0, 1))
		b.refused(s, b.taking(1, 1, 6, 0), ledger.Held{Claim: again.Claims[0], Overwritten: true})
		b.enters(s, b.taking(1, 2, 6, 0))
		b.equal("take", b.holds(s, 0).Take, 2)
	}},
	{"who wakes marks no claim that was taken again", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		serial := b.begun(1, 0).Serial
		b.overwrites(s, 0, serial, version(0, 0))
		b.enters(s, b.taking(1, 1, 5, 0))
		b.overwrites(s, 0, serial, version(0, 0))
		b.equal("marked", b.holds(s, 0).Overwritten, false)
	}},
	{"a unit all of whose members were overwritten may be done", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.overwrites(s, 0, b.begun(1, 0).Serial, version(0, 0))
		b.done(1, 0)
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0), Overwritten: true})
		b.equal("census", b.census(1), ledger.Census{Done: 1, Counts: one})
	}},
}
