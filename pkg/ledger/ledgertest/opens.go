package ledgertest

import (
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

var opens = []sharedTest{
	{"a continuous job begins as run 1, running, without an end marker", func(b bench, s ledger.Shared) {
		want := ledger.Meta{
			Job: b.job, Run: 1, State: ledger.Running, Continuous: true, Digests: digests,
			Source: "s3://b/in/", Callback: "AQCE==", Cutoff: time.Unix(1_800_000_000, 250_000_000).UTC(),
		}
		m, err := s.Open(b.ctx, b.job, ledger.Start{Token: "t1", Digests: digests, Source: want.Source, Callback: want.Callback, Cutoff: want.Cutoff})
		b.ok(err)
		b.recent("started", m.Started, 0)
		want.Started = m.Started
		b.equal("meta", m, want)
		b.equal("meta, read", b.meta(), want)
	}},
	{"without a cutoff there is none", func(b bench, s ledger.Shared) {
		if c := b.opened(s, "t1").Cutoff; !c.IsZero() {
			b.Errorf("cutoff %v", c)
		}
		b.equal("cutoff, read", b.meta().Cutoff, time.Time{})
	}},
	{"while it runs it is given as it stands, whatever comes with the call", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.ok(b.Joined(b.ctx, b.job, "chain-1"))
		b.halts(denied, true, &denied)
		m := b.meta()
		for _, again := range []ledger.Start{
			{Token: "t1", Digests: digests}, {Token: "t2"}, {},
			{Digests: ledger.Digests{Plan: "other", Read: "other"}, Source: "other", Cutoff: time.Unix(1_900_000_000, 0)},
		} {
			got, err := s.Open(b.ctx, b.job, again)
			b.ok(err)
			b.equal("meta", got, m)
		}
		b.equal("meta, read", b.meta(), m)
	}},
	{"after an end a token of its own begins the next run", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.entry(1, 0, 0))
		b.halts(denied, true, &denied)
		b.over()
		m, err := s.Open(b.ctx, b.job, ledger.Start{Token: "t2", Cutoff: time.Unix(1_800_000_000, 0).UTC()})
		b.ok(err)
		want := ledger.Meta{Job: b.job, Run: 2, State: ledger.Running, Continuous: true, Started: m.Started, Cutoff: time.Unix(1_800_000_000, 0).UTC()}
		b.equal("meta", m, want)
		b.equal("meta, read", b.meta(), want)
		b.equal("progress", b.progress(2).Tally, ledger.Tally{})
		b.equal("what run 1 left", b.items(1)[0].State, ledger.Open)
	}},
	{"after an end its own token gives the run as it ended, and no token nothing", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		for _, state := range []ledger.State{ledger.Cancelled, ledger.Failed} {
			run := b.meta().Run
			b.ok(b.Conclude(b.ctx, b.job, run, 0, state))
			m := b.meta()
			b.equal("meta", b.opened(s, "t"+string(rune('0'+run))), m)
			_, err := s.Open(b.ctx, b.job, ledger.Start{})
			b.is(err, ledger.ErrState)
			for _, what := range []string{b.job, string(state)} {
				if err == nil || !strings.Contains(err.Error(), what) {
					b.Errorf("the error does not name %q: %v", what, err)
				}
			}
			b.equal("meta, read", b.meta(), m)
			b.opened(s, "t2")
		}
	}},
	{"a job that is listed is not opened while it is active", func(b bench, s ledger.Shared) {
		for _, active := range []func() ledger.Meta{
			func() ledger.Meta { return b.started("t1") },
			func() ledger.Meta { return b.running("t1", 1) },
		} {
			m := active()
			for _, token := range []string{"", "t2"} {
				_, err := s.Open(b.ctx, b.job, ledger.Start{Token: token})
				b.is(err, ledger.ErrActive)
				if err == nil || !strings.Contains(err.Error(), "run 1") || !strings.Contains(err.Error(), string(m.State)) {
					b.Errorf("the error does not name run and state: %v", err)
				}
			}
			b.equal("state", b.meta().State, m.State)
		}
		b.over()
		_, err := s.Open(b.ctx, b.job, ledger.Start{})
		b.is(err, ledger.ErrState)
		b.equal("run", b.opened(s, "t2").Run, 2)
	}},
	{"it is not started, leased or listed while it runs, and may be listed after", func(b bench, s ledger.Shared) {
		m := b.streams(s, 2)
		_, err := b.Start(b.ctx, b.job, ledger.Start{Token: "t2", Digests: digests})
		b.is(err, ledger.ErrActive)
		_, err = b.Lease(b.ctx, b.lister(1))
		b.is(err, ledger.ErrState)
		_, _, err = b.Publish(b.ctx, b.lister(1), page(0, 1))
		b.is(err, ledger.ErrState)
		b.is(b.Finish(b.ctx, b.lister(1)), ledger.ErrState)
		b.equal("meta", b.meta(), m)
		b.done(1, 0)
		b.ok(b.Touch(b.ctx, b.ref(1, 1)))
		b.over()
		b.equal("state", b.begun(1, 0).State, ledger.Done)
		m = b.running("t2", 2)
		b.equal("continuous", m.Continuous, false)
		b.equal("planned", m.Planned, 2)
		b.equal("census", b.census(2), ledger.Census{Done: 1, Open: 1, Counts: one})
		b.equal("item", b.item(2, 1), ledger.Item{Planned: planned(1), Run: 2, State: ledger.Open})
		b.equal("run of what was done", b.begun(2, 0).Run, 2)
	}},
	{"of many that open it at once, all get the run", func(b bench, s ledger.Shared) {
		got := b.race(8, func(int) (bool, error) {
			m, err := s.Open(b.ctx, b.job, ledger.Start{Digests: digests})
			return m.Run == 1 && m.Continuous && m.State == ledger.Running, err
		})
		b.equal("got", got, 8)
	}},
	{"it is live until it is retired, and again once it is opened", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.lives(s, true)
		b.over()
		b.retired(s)
		b.opened(s, "t1") // which opens nothing
		b.lives(s, false)
		b.opened(s, "t2")
		b.lives(s, true)
	}},
}
