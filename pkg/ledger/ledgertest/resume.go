package ledgertest

import (
	"errors"
	"testing"

	"github.com/spate-go/spate/pkg/ledger"
)

// Resumable is a store that remembers what was sent.
type Resumable interface {
	ledger.Store
	ledger.Resumer
}

// RunResumer runs what a Resumer has to keep beyond Run.
func RunResumer(t *testing.T, open func(*testing.T) Resumable) {
	for _, s := range resume {
		t.Run(s.name, func(t *testing.T) {
			store := open(t)
			s.test(newBench(t, store), store)
		})
	}
}

var resume = []struct {
	name string
	test func(bench, ledger.Resumer)
}{
	{"Pending yields what is open, as it was published, in order of id", func(b bench, r ledger.Resumer) {
		b.running("t1", 600) // more than one look, whatever that holds
		var want []ledger.Planned
		for n := range 600 {
			switch n % 4 {
			case 0:
				b.begun(1, n)
				want = append(want, published(n))
			case 1:
				b.done(1, n)
			case 2:
				want = append(want, published(n))
			case 3:
				if n%8 == 3 {
					b.killed(1, n)
				} else {
					want = append(want, published(n))
				}
			}
		}
		b.equal("pending", b.pending(r, 1), want)
		b.equal("pending of another run", len(b.pending(r, 2)), 0)
	}},
	{"of a repeated page the first body stays", func(b bench, r ledger.Resumer) {
		b.started("t1")
		b.published(1, page(0, 1))
		again := page(0, 1)
		again.Units[0].Body = []byte("other")
		b.published(1, again)
		b.equal("pending", b.pending(r, 1), []ledger.Planned{published(0)})
	}},
	{"a later run's body takes the place of an earlier one's", func(b bench, r ledger.Resumer) {
		b.running("t1", 3)
		b.killed(1, 0)
		b.done(1, 1)
		b.over()
		b.started("t2")
		p := page(0, 2)
		for i := range p.Units {
			p.Units[i].Body = []byte("of run 2")
		}
		b.published(2, p)
		want := published(0)
		want.Body = []byte("of run 2")
		b.equal("pending of run 2", b.pending(r, 2), []ledger.Planned{want})
		b.equal("pending of run 1", b.pending(r, 1), []ledger.Planned{published(2)})
	}},
	{"Pending ends with the error of yield, which may use the ledger", func(b bench, r ledger.Resumer) {
		b.running("t1", 3)
		stop, n := errors.New("enough"), 0
		b.is(r.Pending(b.ctx, b.job, 1, func(p ledger.Planned) error {
			n++
			if _, err := b.Done(b.ctx, ledger.Ref{Job: b.job, Run: 1, ID: p.ID}, one); err != nil || n < 2 {
				return err
			}
			return stop
		}), stop)
		b.equal("calls", n, 2)
		b.equal("pending", b.pending(r, 1), []ledger.Planned{published(2)})
	}},
	{"what a caller changes in a body that it got or gave does not show", func(b bench, r ledger.Resumer) {
		b.started("t1")
		p := page(0, 100)
		b.published(1, p)
		for _, u := range p.Units {
			clear(u.Body)
		}
		for range 2 {
			got := b.pending(r, 1)
			b.equal("first", got[0], published(0))
			b.equal("last", got[99], published(99))
			clear(got[0].Body)
			clear(got[99].Body)
		}
	}},
	{"an unknown job is named", func(b bench, r ledger.Resumer) {
		b.is(r.Pending(b.ctx, b.job, 1, func(ledger.Planned) error { return nil }), ledger.ErrNoJob)
	}},
}

func (b bench) pending(r ledger.Resumer, run int) (out []ledger.Planned) {
	b.Helper()
	b.ok(r.Pending(b.ctx, b.job, run, func(p ledger.Planned) error {
		out = append(out, p)
		return nil
	}))
	return out
}
