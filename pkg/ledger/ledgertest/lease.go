package ledgertest

import (
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// leased takes the lease of the run.
func (b bench) leased(name string, run int) ledger.Meta {
	b.Helper()
	m, err := b.Lease(b.ctx, b.by(name, run))
	b.ok(err)
	return m
}

// taken checks that the lease is another's.
func (b bench) taken(name string, run int) {
	b.Helper()
	_, err := b.Lease(b.ctx, b.by(name, run))
	b.is(err, ledger.ErrLeased)
}

const most = ledger.LeaseTime * 2 / 3 // of a lease's time

var lease = []subtest{
	{"who takes the lease has it for its time, and Meta says until when", func(b bench) {
		b.started("t1")
		m := b.leased("first", 1)
		if left := time.Until(m.Leased); left < ledger.LeaseTime/2 || left > ledger.LeaseTime*3/2 {
			b.Errorf("it has %v left", left)
		}
		b.equal("meta", b.meta(), m)
	}},
	{"another is refused while it stands, and changes nothing", func(b bench) {
		b.started("t1")
		m := b.leased("first", 1)
		b.taken("second", 1)
		b.lapse(most)
		b.taken("second", 1)
		b.equal("meta", b.meta(), m)
	}},
	{"its holder takes it again, which renews it", func(b bench) {
		b.started("t1")
		first := b.leased("first", 1).Leased
		for range 2 {
			b.lapse(most)
			next := b.leased("first", 1).Leased
			if d := next.Sub(first); d < most-time.Second {
				b.Errorf("it was renewed by %v", d)
			}
			first = next
		}
		b.taken("second", 1)
	}},
	{"an advanced page renews it", func(b bench) {
		b.listing("t1")
		first := b.meta().Leased
		for n := range 2 {
			b.lapse(most)
			b.sent(1, page(2*n, 2*n+2))
			next := b.meta().Leased
			if d := next.Sub(first); d < most-time.Second {
				b.Errorf("it was renewed by %v", d)
			}
			first = next
		}
		b.taken("second", 1)
	}},
	{"it lapses, and another takes it", func(b bench) {
		b.started("t1")
		b.leased("first", 1)
		b.lapse(ledger.LeaseTime + time.Second)
		b.leased("second", 1)
		b.taken("first", 1)
		b.lapse(most)
		b.leased("second", 1)
		b.taken("first", 1)
	}},
	{"a lister that lost it writes nothing any more", func(b bench) {
		b.listing("t1")
		p := page(0, 2)
		b.entered(1, p)
		b.lapse(ledger.LeaseTime + time.Second)
		b.leased("second", 1)
		before, items := b.meta(), b.items(1)
		_, _, err := b.Publish(b.ctx, b.lister(1), p)
		b.is(err, ledger.ErrLeased)
		b.is(b.Advance(b.ctx, b.lister(1), p), ledger.ErrLeased)
		b.is(b.Finish(b.ctx, b.lister(1)), ledger.ErrLeased)
		b.equal("meta", b.meta(), before)
		b.equal("items", b.items(1), items)
	}},
	{"a lister whose lease lapsed takes it again and goes on", func(b bench) {
		b.listing("t1")
		b.entered(1, page(0, 2))
		b.lapse(3 * ledger.LeaseTime)
		b.leased("first", 1)
		b.sent(1, page(0, 2))
		b.sent(1, page(2, 4))
		b.finished(1)
		b.equal("planned", b.meta().Planned, 4)
	}},
	{"without it nothing is listed", func(b bench) {
		b.started("t1")
		before := b.meta()
		for _, c := range []ledger.Lease{b.lister(1), {Job: b.job, Run: 1}} {
			_, _, err := b.Publish(b.ctx, c, page(0, 1))
			b.is(err, ledger.ErrLeased)
			b.is(b.Finish(b.ctx, c), ledger.ErrLeased)
		}
		b.equal("meta", b.meta(), before)
		b.equal("census", b.census(1), ledger.Census{})
	}},
	{"a run that is not listing has none to give", func(b bench) {
		refused := func(run int) {
			b.Helper()
			_, err := b.Lease(b.ctx, b.lister(run))
			b.is(err, ledger.ErrState)
		}
		b.started("t1")
		refused(0)
		refused(2)
		b.running("t1", 1)
		refused(1)
		b.over()
		refused(1)
		b.started("t2")
		refused(1)
		b.leased("first", 2)
	}},
	{"the end marker gives it up, and so does the next run", func(b bench) {
		b.running("t1", 1)
		b.equal("leased", b.meta().Leased, time.Time{})
		b.over()
		b.listing("t2")
		b.over()
		b.equal("leased", b.started("t3").Leased, time.Time{})
		b.equal("leased", b.meta().Leased, time.Time{})
		_, _, err := b.Publish(b.ctx, b.lister(3), page(0, 1))
		b.is(err, ledger.ErrLeased)
		b.leased("second", 3)
	}},
}
