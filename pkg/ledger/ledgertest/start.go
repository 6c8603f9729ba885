package ledgertest

import (
	"context"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var start = []subtest{
	{"a job begins as run 1, listing, without a lease or an end marker", func(b bench) {
		before := time.Now().Add(-time.Minute)
		m := b.started("t1")
		if m.Started.Before(before) || m.Started.After(time.Now().Add(time.Minute)) {
			b.Errorf("started at %v", m.Started)
		}
		b.equal("meta", m, ledger.Meta{Job: b.job, Run: 1, State: ledger.Listing, Digests: digests, Started: m.Started})
		b.equal("meta, read", b.meta(), m)
	}},
	{"what a run is started with is kept for who goes on with it", func(b bench) {
		s := ledger.Start{Token: "t1", Digests: digests, Source: strings.Repeat("s3://b/k\u00e9y/", 170), Callback: "AQCEAAAAKgAAAAMA=="}
		for range 2 {
			m, err := b.Start(b.ctx, b.job, s)
			b.ok(err)
			b.equal("source", m.Source, s.Source)
			b.equal("callback", m.Callback, s.Callback)
			b.equal("meta, read", b.meta(), m)
		}
		b.over()
		m := b.started("t2")
		b.equal("source and callback of the next run", m.Source+m.Callback, "")
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
			_, err := b.Start(b.ctx, b.job, ledger.Start{Token: "other", Digests: digests})
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
		b.ok(b.Joined(b.ctx, b.job, "chain-1"))
		_, err := b.Halt(b.ctx, b.job, ledger.Halt{Reason: failure.Denied, Detail: "s3:GetObject", At: time.Now()})
		b.ok(err)
		for i, s := range []ledger.State{ledger.Failed, ledger.Cancelled} {
			b.ok(b.Conclude(b.ctx, b.job, 1+i, 0, s))
			other := ledger.Digests{Plan: "plan-2", Read: "read-2"}
			m, err := b.Start(b.ctx, b.job, ledger.Start{Token: "again-" + string(s), Digests: other})
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
		c := b.another()
		b.equal("run", c.running("t1", 2).Run, 1)
		c.done(1, 0)
		c.over()
		b.equal("state", b.meta().State, ledger.Running)
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"each digest of a chain and its sinks is kept once", func(b bench) {
		b.running("t1", 1)
		for _, p := range []string{"chain-b", "chain-a", "chain-b", "chain-c"} {
			b.ok(b.Joined(b.ctx, b.job, p))
		}
		got := map[string]int{}
		for _, p := range b.meta().Pipelines {
			got[p]++
		}
		b.equal("pipelines", got, map[string]int{"chain-a": 1, "chain-b": 1, "chain-c": 1})
		b.meta().Pipelines[0] = "other"
		b.equal("pipelines, after a caller changed them", len(b.meta().Pipelines), 3)
		for _, p := range b.meta().Pipelines {
			if p == "other" {
				b.Error("what a caller changes shows")
			}
		}
	}},
	{"an unknown job is named by every method", func(b bench) {
		for method, err := range b.everyError() {
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
		before, items := b.meta(), b.items(1)
		over := b
		over.ctx = ctx
		for method, err := range over.everyErrorOf(it) {
			if err == nil {
				b.Errorf("%s: no error", method)
			}
			b.is(err, context.Canceled)
		}
		b.equal("meta", b.meta(), before)
		b.equal("items", b.items(1), items)
		other := b.another()
		_, err := other.Start(ctx, other.job, ledger.Start{Token: "t1", Digests: digests})
		b.is(err, context.Canceled)
		_, err = other.Meta(other.ctx, other.job)
		b.is(err, ledger.ErrNoJob)
	}},
}

// everyError calls every method that needs a job.
func (b bench) everyError() map[string]error {
	errs := b.everyErrorOf(ledger.Item{Serial: 1, Run: 1})
	_, errs["Lease"] = b.Lease(b.ctx, b.lister(1))
	_, _, errs["Publish"] = b.Publish(b.ctx, b.lister(1), page(0, 1))
	errs["Advance"] = b.Advance(b.ctx, b.lister(1), page(0, 1))
	errs["Finish"] = b.Finish(b.ctx, b.lister(1))
	_, errs["Resume"] = b.Resume(b.ctx, b.job, failure.Denied)
	_, errs["Meta"] = b.Meta(b.ctx, b.job)
	_, errs["Progress"] = b.Progress(b.ctx, b.job, 1)
	_, errs["Prove"] = b.Prove(b.ctx, b.job, 1)
	errs["Unfinished"] = b.Unfinished(b.ctx, b.job, 1, func(ledger.Item) error { return nil })
	return errs
}

// everyErrorOf calls every method that would change a running job of that unit.
func (b bench) everyErrorOf(it ledger.Item) map[string]error {
	r, errs := b.ref(it.Run, 0), map[string]error{}
	errs["Joined"] = b.Joined(b.ctx, b.job, "chain-1")
	_, errs["Begin"] = b.Begin(b.ctx, r, 1, 5)
	errs["Fault"] = b.Fault(b.ctx, r, it.Serial, ledger.Fault{})
	errs["RestDone"] = b.RestDone(b.ctx, r, it.Serial, one)
	errs["Recovered"] = b.Recovered(b.ctx, r, it.Serial, 0, one)
	errs["Pause"] = b.Pause(b.ctx, r, it.Serial, place, one)
	errs["GiveBack"] = b.GiveBack(b.ctx, r, it.Serial)
	_, errs["Dead"] = b.Dead(b.ctx, r, it.Serial, cause)
	_, errs["Done"] = b.Done(b.ctx, r, one)
	_, errs["Halt"] = b.Halt(b.ctx, b.job, ledger.Halt{Reason: failure.Denied})
	_, errs["Redrive"] = b.Redrive(b.ctx, b.job, 1)
	errs["Conclude"] = b.Conclude(b.ctx, b.job, 1, 0, ledger.Failed)
	return errs
}
