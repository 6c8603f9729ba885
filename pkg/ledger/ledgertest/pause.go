package ledgertest

import (
	"github.com/spate-go/spate/pkg/ledger"
)

var pause = []subtest{
	{"Pause keeps the cursor and the counts, and forgives the attempts", func(b bench) {
		b.running("t1", 1)
		b.begun(1, 0)
		s := b.lastly(1, 0).Serial
		for range 2 { // its answer was lost
			b.paused(1, 0, s, place)
		}
		cursor := place
		want := ledger.Item{Planned: planned(0), Run: 1, State: ledger.Open, Serial: s, Cursor: &cursor, Counts: one}
		b.equal("item", b.item(1, 0), want)
		want.Serial, want.Attempts = s+1, 1
		b.equal("item, begun", b.begun(1, 0), want)
		b.equal("census", b.census(1), ledger.Census{Open: 1})
	}},
	{"a later cursor and later counts replace the earlier ones", func(b bench) {
		b.running("t1", 1)
		for n := 1; n < 4; n++ {
			s := b.begun(1, 0).Serial
			at := ledger.Cursor{Segment: n, Record: int64(n)}
			b.ok(b.Pause(b.ctx, b.ref(1, 0), s, at, times(n, one)))
			it := b.item(1, 0)
			b.equal("cursor", it.Cursor, &at)
			b.equal("counts", it.Counts, times(n, one))
		}
		_, err := b.Done(b.ctx, b.ref(1, 0), times(4, one))
		b.ok(err)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Counts: times(4, one)})
	}},
	{"a cursor outlives the attempts after it, and another fault", func(b bench) {
		b.running("t1", 1)
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		b.begun(1, 0)
		s := b.begun(1, 0).Serial
		b.faulty(1, 0, s, ledger.Fault{Member: 3})
		b.ok(b.GiveBack(b.ctx, b.ref(1, 0), s))
		b.equal("cursor", *b.item(1, 0).Cursor, place)
	}},
	{"the rest's end drops the cursor", func(b bench) {
		b.running("t1", 1)
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), b.begun(1, 0).Serial, times(2, one)))
		it := b.item(1, 0)
		b.equal("cursor", it.Cursor, (*ledger.Cursor)(nil))
		b.equal("counts", it.Counts, times(2, one))
	}},
	{"a recovered member drops the cursor in its series", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.faulty(1, 0, s, ledger.Fault{Member: 2})
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		b.ok(b.Pause(b.ctx, b.ref(1, 0), s, ledger.Cursor{Series: 3, Segment: 1, Member: 2}, times(2, one)))
		b.equal("series", b.item(1, 0).Cursor.Series, 3)
		b.ok(b.Recovered(b.ctx, b.ref(1, 0), b.begun(1, 0).Serial, 2, times(3, one)))
		it := b.item(1, 0)
		b.equal("cursor", it.Cursor, (*ledger.Cursor)(nil))
		b.equal("counts", it.Counts, times(3, one))
		b.equal("rest done", it.RestDone, true)
	}},
	{"a recovered member leaves alone the cursor in another one's series", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.faulty(1, 0, s, ledger.Fault{Member: 2})
		b.faulty(1, 0, s, ledger.Fault{Member: 5})
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		at := ledger.Cursor{Series: 3, Segment: 1, Member: 2}
		b.ok(b.Pause(b.ctx, b.ref(1, 0), s, at, times(2, one)))
		s = b.begun(1, 0).Serial
		for range 2 {
			b.ok(b.Recovered(b.ctx, b.ref(1, 0), s, 5, times(3, one)))
		}
		it := b.item(1, 0)
		b.equal("cursor", it.Cursor, &at)
		b.equal("counts", it.Counts, times(3, one))
		b.equal("faults", len(it.Faults), 1)
	}},
	{"what a caller changes in a cursor that it got does not show", func(b bench) {
		b.running("t1", 1)
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		b.item(1, 0).Cursor.Segment = 99
		b.begun(1, 0).Cursor.Segment = 99
		b.equal("cursor", *b.item(1, 0).Cursor, place)
	}},
}
