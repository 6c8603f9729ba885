package ledgertest

import (
	"cmp"
	"errors"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
)

type resumeTest struct {
	name string
	test func(bench, ledger.Resumer)
}

var resume = []resumeTest{
	{"Pending yields what is open, as it was published", func(b bench, r ledger.Resumer) {
		const n = 24
		b.running("t1", n)
		var want []ledger.Planned
		for i := range n {
			switch i % 4 {
			case 0:
				b.begun(1, i)
				want = append(want, published(i))
			case 1:
				b.done(1, i)
			case 2:
				want = append(want, published(i))
			default:
				b.killed(1, i)
			}
		}
		b.equal("pending", b.pending(r, 1), want)
		b.equal("pending of another run", len(b.pending(r, 2)), 0)
	}},
	{"it yields units of all pages, and those of one that is not advanced yet", func(b bench, r ledger.Resumer) {
		b.listing("t1")
		var want []ledger.Planned
		for n := range 6 {
			want = append(want, published(n))
		}
		b.sent(1, page(0, 2))
		b.sent(1, page(2, 4))
		b.entered(1, page(4, 6))
		b.equal("pending", b.pending(r, 1), want)
	}},
	{"a redriven unit is pending with its body", func(b bench, r ledger.Resumer) {
		b.running("t1", 2)
		b.killed(1, 0)
		b.equal("pending", b.pending(r, 1), []ledger.Planned{published(1)})
		b.redriven(1, 1)
		b.equal("pending", b.pending(r, 1), []ledger.Planned{published(0), published(1)})
	}},
	{"of a repeated page the first body stays", func(b bench, r ledger.Resumer) {
		b.listing("t1")
		b.entered(1, page(0, 1))
		again := page(0, 1)
		again.Units[0].Body = []byte("other")
		_, _, err := b.Publish(b.ctx, b.lister(1), again)
		b.ok(err)
		b.equal("pending", b.pending(r, 1), []ledger.Planned{published(0)})
	}},
	{"a later run's body takes the place of an earlier one's", func(b bench, r ledger.Resumer) {
		b.running("t1", 3)
		b.killed(1, 0)
		b.done(1, 1)
		b.over()
		b.listing("t2")
		p := page(0, 2)
		for i := range p.Units {
			p.Units[i].Body = []byte("of run 2")
		}
		b.sent(2, p)
		want := published(0)
		want.Body = []byte("of run 2")
		b.equal("pending of run 2", b.pending(r, 2), []ledger.Planned{want})
		b.equal("pending of run 1", b.pending(r, 1), []ledger.Planned{published(2)})
	}},
	{"Pending ends with the error of yield, which may use the ledger", func(b bench, r ledger.Resumer) {
		b.running("t1", 3)
		stop := errors.New("enough")
		var got []ledger.Planned
		b.is(r.Pending(b.ctx, b.job, 1, func(p ledger.Planned) error {
			got = append(got, p)
			if _, err := b.Done(b.ctx, ledger.Ref{Job: b.job, Run: 1, ID: p.ID}, one); err != nil || len(got) < 2 {
				return err
			}
			return stop
		}), stop)
		b.equal("calls", len(got), 2)
		b.equal("pending", len(b.pending(r, 1)), 1)
	}},
	{"what a caller changes in a body that it got or gave does not show", func(b bench, r ledger.Resumer) {
		b.listing("t1")
		p := page(0, 20)
		b.sent(1, p)
		for _, u := range p.Units {
			clear(u.Body)
		}
		for range 2 {
			got := b.pending(r, 1)
			b.equal("first", got[0], published(0))
			b.equal("last", got[19], published(19))
			clear(got[0].Body)
			clear(got[19].Body)
		}
	}},
	{"an unknown job is named", func(b bench, r ledger.Resumer) {
		b.is(r.Pending(b.ctx, b.job, 1, func(ledger.Planned) error { return nil }), ledger.ErrNoJob)
	}},
}

// pending are the open units of a run, by id.
func (b bench) pending(r ledger.Resumer, run int) (out []ledger.Planned) {
	b.Helper()
	b.ok(r.Pending(b.ctx, b.job, run, func(p ledger.Planned) error {
		out = append(out, p)
		return nil
	}))
	slices.SortFunc(out, func(a, b ledger.Planned) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
