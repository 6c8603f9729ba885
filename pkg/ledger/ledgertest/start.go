package ledgertest

import (
	"context"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var start = []subtest{
	{"a job begins as run 1, listing, without an end marker", func(b bench) {
		before := time.Now().Add(-time.Minute)
		m := b.started("t1")
		if m.Started.Before(before) || m.Started.After(time.Now().Add(time.Minute)) {
			b.Errorf("started at %v", m.Started)
		}
		b.equal("meta", m, ledger.Meta{Job: b.job, Run: 1, State: ledger.Listing, Digests: digests, Started: m.Started})
		b.equal("meta, read", b.meta(), m)
	}},
	{"the same token gives the run that it started", func(b bench) {
		b.equal("meta", b.started("t1"), b.started("t1"))
		m := b.running("t1", 2)
		b.equal("of a running job", b.started("t1"), m)
		b.over()
		b.equal("of an ended job", b.started("t1"), b.meta())
		b.equal("run", b.meta().Run, 1)
	}},
	{"an active job cannot be started again, and the error names run and state", func(b bench) {
		refused := func(what ...string) {
			b.Helper()
			_, err := b.Start(b.ctx, b.job, "other", digests)
			b.is(err, ledger.ErrActive)
			for _, w := range append(what, b.job) {
				if err == nil || !strings.Contains(err.Error(), w) {
					b.Errorf("the error does not name %q: %v", w, err)
				}
			}
		}
		b.started("t1")
		refused("run 1", "listing")
		b.running("t1", 1)
		refused("run 1", "running")
		_, err := b.Halt(b.ctx, b.job, ledger.Halt{Reason: failure.Denied})
		b.ok(err)
		refused("run 1", "running")
	}},
	{"an ended job starts again as the next run, with new digests and no halt", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		_, err := b.Halt(b.ctx, b.job, ledger.Halt{Reason: failure.Denied, Detail: "s3:GetObject", At: time.Now()})
		b.ok(err)
		for i, s := range []ledger.State{ledger.Failed, ledger.Cancelled} {
			b.ok(b.Conclude(b.ctx, b.job, 1+i, 0, s))
			other := ledger.Digests{Plan: "plan-2", Read: "read-2"}
			m, err := b.Start(b.ctx, b.job, "again-"+string(s), other)
			b.ok(err)
			b.equal("meta", m, ledger.Meta{Job: b.job, Run: 2 + i, State: ledger.Listing, Digests: other, Started: m.Started})
		}
	}},
	{"a completed job may be started again", func(b bench) {
		m := b.running("t1", 1)
		b.done(1, 0)
		b.ok(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Completed))
		b.equal("run", b.started("t2").Run, 2)
	}},
	{"jobs know nothing of each other", func(b bench) {
		b.running("t1", 2)
		c := newBench(b.T, b.Store)
		b.equal("run", c.running("t1", 2).Run, 1)
		c.done(1, 0)
		c.over()
		b.equal("state", b.meta().State, ledger.Running)
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"an unknown job is named by every method", func(b bench) {
		r := b.ref(1, 0)
		errs := map[string]error{}
		_, errs["Publish"] = b.Publish(b.ctx, b.job, 1, page(0, 1))
		errs["Finish"] = b.Finish(b.ctx, b.job, 1)
		_, errs["Meta"] = b.Meta(b.ctx, b.job)
		_, errs["Begin"] = b.Begin(b.ctx, r, 1, 5)
		errs["Fault"] = b.Fault(b.ctx, r, 1, ledger.Fault{})
		errs["RestDone"] = b.RestDone(b.ctx, r, 1, one)
		errs["Recovered"] = b.Recovered(b.ctx, r, 1, 0, one)
		_, errs["Done"] = b.Done(b.ctx, r, one)
		_, errs["Dead"] = b.Dead(b.ctx, r, 1, cause)
		errs["GiveBack"] = b.GiveBack(b.ctx, r, 1)
		_, errs["Halt"] = b.Halt(b.ctx, b.job, ledger.Halt{})
		_, errs["Resume"] = b.Resume(b.ctx, b.job, failure.Denied)
		_, errs["Prove"] = b.Prove(b.ctx, b.job, 1)
		errs["Unfinished"] = b.Unfinished(b.ctx, b.job, 1, func(ledger.Item) error { return nil })
		errs["Conclude"] = b.Conclude(b.ctx, b.job, 1, 0, ledger.Failed)
		for method, err := range errs {
			b.is(err, ledger.ErrNoJob)
			if err == nil || !strings.Contains(err.Error(), b.job) {
				b.Errorf("%s: the error does not name the job: %v", method, err)
			}
		}
	}},
	{"a context that ended writes nothing", func(b bench) {
		b.running("t1", 2)
		it := b.begun(1, 0)
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		r := b.ref(1, 0)
		before, items := b.meta(), b.items(1)
		_, err := b.Begin(ctx, r, 1, 5)
		b.is(err, context.Canceled)
		_, err = b.Done(ctx, r, one)
		b.is(err, context.Canceled)
		_, err = b.Dead(ctx, r, it.Serial, cause)
		b.is(err, context.Canceled)
		b.is(b.Fault(ctx, r, it.Serial, ledger.Fault{}), context.Canceled)
		_, err = b.Halt(ctx, b.job, ledger.Halt{Reason: failure.Denied})
		b.is(err, context.Canceled)
		b.is(b.Conclude(ctx, b.job, 1, 0, ledger.Failed), context.Canceled)
		b.equal("meta", b.meta(), before)
		b.equal("items", b.items(1), items)
		other := newBench(b.T, b.Store)
		_, err = other.Start(ctx, other.job, "t1", digests)
		b.is(err, context.Canceled)
		_, err = other.Meta(other.ctx, other.job)
		b.is(err, ledger.ErrNoJob)
	}},
}
