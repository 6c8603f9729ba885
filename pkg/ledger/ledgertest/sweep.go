package ledgertest

import (
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// waits reports whether a send of every open unit was asked for and not carried
// out yet.
func (b bench) waits() bool {
	b.Helper()
	m := b.meta()
	return m.Ask != m.Swept
}

var sweep = []sharedTest{
	{"Swept meets what was asked for so far", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.equal("waits", b.waits(), false)
		b.halts(denied, true, &denied)
		b.resumes(failure.Denied, true, nil)
		b.equal("waits", b.waits(), true)
		ask := b.meta().Ask
		for range 2 {
			b.ok(s.Swept(b.ctx, b.job, 1, ask))
			b.equal("waits", b.waits(), false)
			b.equal("ask", b.meta().Ask, ask)
		}
	}},
	{"Swept of an older request takes nothing back", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		for range 2 {
			b.redriven(1, 0)
		}
		ask := b.meta().Ask
		b.ok(s.Swept(b.ctx, b.job, 1, ask))
		b.ok(s.Swept(b.ctx, b.job, 1, ask-1)) // by a schedule that was slow
		b.equal("waits", b.waits(), false)
	}},
	{"Swept of an earlier run meets nothing of the next one's", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.redriven(1, 0)
		b.over()
		b.running("t2", 1)
		b.equal("waits", b.waits(), false)
		ask := b.redriven(2, 0).Ask
		if err := s.Swept(b.ctx, b.job, 1, ask); err != nil && !errors.Is(err, ledger.ErrState) {
			b.Error(err)
		}
		b.equal("waits", b.waits(), true)
	}},
	{"Resend counts one more and asks for a send", func(b bench, s ledger.Shared) {
		m := b.running("t1", 1)
		for n := range 3 {
			b.ok(s.Resend(b.ctx, b.job, 1, m.Generation, n))
			now := b.meta()
			b.equal("resends", now.Resends, n+1)
			b.equal("waits", b.waits(), true)
			b.equal("generation", now.Generation, m.Generation)
			b.ok(s.Swept(b.ctx, b.job, 1, now.Ask))
		}
	}},
	{"Resend of another run, generation, count or state is refused", func(b bench, s ledger.Shared) {
		refused := func(run, generation, resends int) {
			b.Helper()
			before := b.meta()
			b.is(s.Resend(b.ctx, b.job, run, generation, resends), ledger.ErrState)
			b.equal("meta", b.meta(), before)
		}
		b.listing("t1")
		refused(1, 0, 0)
		b.running("t1", 1)
		refused(0, 0, 0)
		refused(2, 0, 0)
		refused(1, 1, 0)
		refused(1, 0, 1)
		b.ok(s.Resend(b.ctx, b.job, 1, 0, 0))
		refused(1, 0, 0) // two looks at once count once
		b.over()
		refused(1, 0, 1)
	}},
	{"a redrive counts re-sends afresh", func(b bench, s ledger.Shared) {
		m := b.running("t1", 1)
		b.ok(s.Resend(b.ctx, b.job, 1, m.Generation, 0))
		b.killed(1, 0)
		b.over()
		b.equal("resends", b.redriven(1, 1).Resends, 0)
	}},
	{"the next run counts re-sends afresh", func(b bench, s ledger.Shared) {
		m := b.running("t1", 1)
		b.ok(s.Resend(b.ctx, b.job, 1, m.Generation, 0))
		b.over()
		m = b.started("t2")
		b.equal("resends", m.Resends, 0)
		b.equal("waits", m.Ask != m.Swept, false)
	}},
	{"an unknown job is named", func(b bench, s ledger.Shared) {
		b.is(s.Swept(b.ctx, b.job, 1, 1), ledger.ErrNoJob)
		b.is(s.Resend(b.ctx, b.job, 1, 0, 0), ledger.ErrNoJob)
		b.is(s.Retire(b.ctx, b.job, 1, 0), ledger.ErrNoJob)
	}},
	{"Watch is what Watched was last given, and nothing at first", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		w, err := s.Watch(b.ctx, b.job)
		b.ok(err)
		b.equal("watch", w, ledger.Watch{})
		meta := b.meta()
		for _, want := range []ledger.Watch{
			{Run: 1, Generation: 2, Beat: 1 << 40, Since: time.Unix(1_800_000_000, 123_000_000).UTC(), Proved: true, Probe: id(3)},
			{Run: 1},
		} {
			b.ok(s.Watched(b.ctx, b.job, want))
			got, err := s.Watch(b.ctx, b.job)
			b.ok(err)
			b.equal("watch", got, want)
		}
		b.equal("meta", b.meta(), meta)
		c := b.another()
		c.running("t1", 1)
		w, err = s.Watch(b.ctx, c.job)
		b.ok(err)
		b.equal("watch of another job", w, ledger.Watch{})
	}},
}
