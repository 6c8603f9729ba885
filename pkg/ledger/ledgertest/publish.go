package ledgertest

import (
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

var publish = []subtest{
	{"the units of a page become open, and all are to be sent", func(b bench) {
		b.listing("t1")
		b.equal("to send", b.entered(1, page(0, 3)), ids(0, 1, 2))
		for n, it := range b.items(1) {
			b.equal("item", it, ledger.Item{Planned: planned(n), Run: 1, State: ledger.Open})
		}
		b.equal("census", b.census(1), ledger.Census{Open: 3})
	}},
	{"a page may be empty", func(b bench) {
		b.listing("t1")
		b.equal("to send", len(b.sent(1, page(0, 0))), 0)
		b.equal("inventory", b.meta().Inventory, page(0, 0).Inventory)
		b.finished(1)
		b.equal("complete", b.census(1).Complete(b.meta()), true)
	}},
	{"a page of many units is entered and given whole", func(b bench) {
		const n = 120 // more than one request of a service may hold
		b.listing("t1")
		b.equal("to send", len(b.sent(1, page(0, n))), n)
		b.equal("census", b.census(1), ledger.Census{Open: n})
		b.equal("planned", b.meta().Planned, n)
	}},
	{"a page as large as one may be is taken, and given as it was", func(b bench) {
		const n = 15
		p := page(0, n)
		for i := range p.Units {
			p.Units[i].Body = noise(i, ledger.MaxPageBytes/n)
		}
		b.listing("t1")
		b.entered(1, p)
		b.entered(1, p) // which compares it
	}},
	{"keys are any text, and bodies any bytes", func(b bench) {
		p := page(0, 2)
		p.Last = "in/\x01\u2028\ufffe<&>\U0001F600"
		p.Units[0].FirstKey = "in/\uffff\x1f"
		p.Units[1].Body = []byte{0, 0xff, '"', '\n', 0xe2, 0x80}
		b.listing("t1")
		b.sent(1, p)
		b.equal("page", b.meta().Page, p.Last)
		b.equal("first key", b.item(1, 0).FirstKey, p.Units[0].FirstKey)
		next := page(2, 3)
		next.After = p.Last
		b.sent(1, next)
	}},
	{"a repeated page is given again, and all of it is to be sent again", func(b bench) {
		b.listing("t1")
		for range 2 {
			b.equal("to send", b.entered(1, page(0, 2)), ids(0, 1))
		}
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"a repeated page leaves alone what is under way, and sends all but the done", func(b bench) {
		b.listing("t1")
		b.entered(1, page(0, 4))
		s := b.begun(1, 1).Serial
		b.faulty(1, 1, s, ledger.Fault{Member: 1, Record: 4})
		b.killed(1, 2)
		b.done(1, 3)
		items, gen := b.items(1), b.meta().Generation
		b.equal("to send", b.entered(1, page(0, 4)), ids(0, 1, 2))
		b.equal("items", b.items(1), items)
		b.equal("generation", b.meta().Generation, gen)
	}},
	{"the page of an earlier lister stands, whatever the listing says now", func(b bench) {
		b.listing("t1")
		stored := page(0, 3)
		b.entered(1, stored)
		b.done(1, 2)
		b.lapse(ledger.LeaseTime + time.Second)
		b.leased("second", 1)
		changed := page(1, 6) // a key went, others came
		changed.After = ""
		got, due, err := b.Publish(b.ctx, b.by("second", 1), changed)
		b.ok(err)
		b.equal("page", got, stored)
		b.equal("to send", sorted(due), ids(0, 1))
		b.equal("census", b.census(1), ledger.Census{Done: 1, Open: 2, Counts: one})
		b.ok(b.Advance(b.ctx, b.by("second", 1), got))
		m := b.meta()
		b.equal("page reached", m.Page, stored.Last)
		b.equal("planned", m.Planned, 3)
		b.equal("inventory", m.Inventory, stored.Inventory)
		b.is(b.Advance(b.ctx, b.by("second", 1), changed), ledger.ErrState)
	}},
	{"a page that grew while its lister was away is the one that was entered", func(b bench) {
		b.listing("t1")
		b.entered(1, page(0, 2))
		got, due, err := b.Publish(b.ctx, b.lister(1), page(0, 3))
		b.ok(err)
		b.equal("page", got, page(0, 2))
		b.equal("to send", sorted(due), ids(0, 1))
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"a page that does not follow what the run has reached is refused", func(b bench) {
		b.listing("t1")
		refused := func(p ledger.Page) {
			b.Helper()
			_, _, err := b.Publish(b.ctx, b.lister(1), p)
			b.is(err, ledger.ErrState)
		}
		refused(page(2, 3))
		b.entered(1, page(0, 2))
		refused(page(2, 3)) // of which nobody said that it was sent
		b.ok(b.Advance(b.ctx, b.lister(1), page(0, 2)))
		refused(page(0, 2))
		refused(page(3, 4))
		b.equal("census", b.census(1), ledger.Census{Open: 2})
		b.sent(1, page(2, 3))
	}},
	{"a page of another run, of one with an end marker or of an ended job is refused", func(b bench) {
		refused := func(run int, p ledger.Page) {
			b.Helper()
			_, _, err := b.Publish(b.ctx, b.lister(run), p)
			b.is(err, ledger.ErrState)
		}
		b.listing("t1")
		refused(0, page(0, 1))
		refused(2, page(0, 1))
		b.running("t1", 2)
		refused(1, page(0, 2))
		refused(1, page(2, 3))
		b.over()
		refused(1, page(2, 3))
		b.listing("t2")
		refused(1, page(0, 1))
		b.equal("planned", b.meta().Planned, 0)
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"a halted job is listed on", func(b bench) {
		b.listing("t1")
		b.halts(denied, true, &denied)
		b.sent(1, page(0, 2))
		b.finished(1)
		b.equal("planned", b.meta().Planned, 2)
	}},
	{"what a caller changes in a page that it got or gave does not show", func(b bench) {
		b.listing("t1")
		spoil := func(p ledger.Page) {
			for i := range p.Units {
				clear(p.Units[i].Body)
				p.Units[i].ID = "other"
			}
		}
		p := page(0, 2)
		_, _, err := b.Publish(b.ctx, b.lister(1), p)
		b.ok(err)
		spoil(p)
		for range 2 {
			got, _, err := b.Publish(b.ctx, b.lister(1), page(0, 2))
			b.ok(err)
			b.equal("page", got, page(0, 2))
			spoil(got)
		}
	}},
}

// noise is a body that no compression makes smaller.
func noise(seed, n int) []byte {
	b := make([]byte, n)
	x := uint64(seed)*2 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
