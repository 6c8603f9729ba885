package ledgertest

import (
	"cmp"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

func (b bench) meta() ledger.Meta {
	b.Helper()
	m, err := b.Meta(b.ctx, b.job)
	b.ok(err)
	return m
}

// started starts a run.
func (b bench) started(token string) ledger.Meta {
	b.Helper()
	m, err := b.Start(b.ctx, b.job, ledger.Start{Token: token, Digests: digests})
	b.ok(err)
	return m
}

// listing starts a run and takes its lease.
func (b bench) listing(token string) ledger.Meta {
	b.Helper()
	m, err := b.Lease(b.ctx, b.lister(b.started(token).Run))
	b.ok(err)
	return m
}

// entered publishes a page that is not advanced yet, and returns what is to be
// sent of it.
func (b bench) entered(run int, p ledger.Page) []unit.ID {
	b.Helper()
	got, ids, err := b.Publish(b.ctx, b.lister(run), p)
	b.ok(err)
	b.equal("page", got, p)
	return sorted(ids)
}

// sent publishes a page and advances it.
func (b bench) sent(run int, p ledger.Page) []unit.ID {
	b.Helper()
	ids := b.entered(run, p)
	b.ok(b.Advance(b.ctx, b.lister(run), p))
	return ids
}

func (b bench) finished(run int) {
	b.Helper()
	b.ok(b.Finish(b.ctx, b.lister(run)))
}

// running starts a run of n units, all on one page, and ends its listing.
func (b bench) running(token string, n int) ledger.Meta {
	b.Helper()
	m := b.listing(token)
	b.sent(m.Run, page(0, n))
	b.finished(m.Run)
	return b.meta()
}

// over ends the current run as failed.
func (b bench) over() {
	b.Helper()
	m := b.meta()
	b.ok(b.Conclude(b.ctx, b.job, m.Run, m.Generation, ledger.Failed))
}

// begun starts work on a unit, far from its limit.
func (b bench) begun(run, n int) ledger.Item {
	b.Helper()
	it, err := b.Begin(b.ctx, b.ref(run, n), 1, 10)
	b.ok(err)
	return it
}

// lastly starts work on a unit for the last time.
func (b bench) lastly(run, n int) ledger.Item {
	b.Helper()
	it, err := b.Begin(b.ctx, b.ref(run, n), 10, 10)
	b.ok(err)
	b.equal("last", it.Last, true)
	return it
}

func (b bench) faulty(run, n, serial int, f ledger.Fault) {
	b.Helper()
	b.ok(b.Fault(b.ctx, b.ref(run, n), serial, f))
}

func (b bench) paused(run, n, serial int, c ledger.Cursor) {
	b.Helper()
	b.ok(b.Pause(b.ctx, b.ref(run, n), serial, c, one))
}

func (b bench) done(run, n int) ledger.Tally {
	b.Helper()
	t, err := b.Done(b.ctx, b.ref(run, n), one)
	b.ok(err)
	return t
}

// killed begins a unit and marks it dead.
func (b bench) killed(run, n int) (serial int) {
	b.Helper()
	it := b.begun(run, n)
	_, err := b.Dead(b.ctx, b.ref(run, n), it.Serial, cause)
	b.ok(err)
	return it.Serial
}

func (b bench) census(run int) ledger.Census {
	b.Helper()
	c, err := b.Prove(b.ctx, b.job, run)
	b.ok(err)
	return c
}

func (b bench) progress(run int) ledger.Progress {
	b.Helper()
	p, err := b.Progress(b.ctx, b.job, run)
	b.ok(err)
	return p
}

// items are the unfinished ones of a run, by id.
func (b bench) items(run int) (out []ledger.Item) {
	b.Helper()
	b.ok(b.Unfinished(b.ctx, b.job, run, func(it ledger.Item) error { out = append(out, it); return nil }))
	slices.SortFunc(out, func(a, b ledger.Item) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// item is an unfinished one.
func (b bench) item(run, n int) ledger.Item {
	b.Helper()
	items := b.items(run)
	i := slices.IndexFunc(items, func(it ledger.Item) bool { return it.ID == id(n) })
	if i < 0 {
		b.Fatalf("unit %d is not among the unfinished of run %d: %+v", n, run, items)
	}
	return items[i]
}
