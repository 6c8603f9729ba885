package ledgertest

import (
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
)

// lives checks whether the job is among the live ones, once.
func (b bench) lives(s ledger.Shared, want bool) {
	b.Helper()
	names, err := s.Live(b.ctx)
	b.ok(err)
	n := 0
	for _, name := range names {
		if name == b.job {
			n++
		}
	}
	if n > 1 || (n == 1) != want {
		b.Errorf("the job is %d times among the live ones", n)
	}
}

// retired retires the job as it stands.
func (b bench) retired(s ledger.Shared) {
	b.Helper()
	m := b.meta()
	b.ok(s.Retire(b.ctx, b.job, m.Run, m.Generation))
	b.lives(s, false)
}

var live = []sharedTest{
	{"a job is live from its start until it is retired", func(b bench, s ledger.Shared) {
		b.lives(s, false)
		b.listing("t1")
		b.lives(s, true)
		b.running("t1", 1)
		b.halts(denied, true, &denied)
		b.lives(s, true)
		b.over()
		b.lives(s, true)
		b.retired(s)
		b.retired(s) // its answer was lost
		b.equal("state", b.meta().State, ledger.Failed)
	}},
	{"many jobs are live at a time", func(b bench, s ledger.Shared) {
		var jobs []bench
		for range 5 {
			jobs = append(jobs, b.another())
			jobs[len(jobs)-1].started("t1")
		}
		jobs[1].over()
		jobs[1].retired(s)
		names, err := s.Live(b.ctx)
		b.ok(err)
		for n, c := range jobs {
			b.equal("live", slices.Contains(names, c.job), n != 1)
		}
	}},
	{"a job that has not ended is not retired", func(b bench, s ledger.Shared) {
		refused := func() {
			b.Helper()
			m := b.meta()
			b.is(s.Retire(b.ctx, b.job, m.Run, m.Generation), ledger.ErrState)
			b.lives(s, true)
		}
		b.listing("t1")
		refused()
		b.running("t1", 1)
		refused()
	}},
	{"a job that ended in another run or generation is not retired", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.killed(1, 0)
		b.over()
		m := b.meta()
		b.is(s.Retire(b.ctx, b.job, 1, m.Generation+1), ledger.ErrState)
		b.is(s.Retire(b.ctx, b.job, 2, m.Generation), ledger.ErrState)
		b.done(1, 0) // by a late reader: what was reported is not how it stands
		b.is(s.Retire(b.ctx, b.job, 1, m.Generation), ledger.ErrState)
		b.lives(s, true)
		b.retired(s)
	}},
	{"a retired job that starts again is live again", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.over()
		first := b.meta()
		b.retired(s)
		b.started("t1") // which starts nothing
		b.lives(s, false)
		b.started("t2")
		b.lives(s, true)
		b.is(s.Retire(b.ctx, b.job, 1, first.Generation), ledger.ErrState)
		b.lives(s, true)
	}},
	{"its units are killed as by their reader", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		serial := b.lastly(1, 0).Serial
		_, err := s.Dead(b.ctx, b.ref(1, 0), serial-1, cause)
		b.is(err, ledger.ErrFenced)
		tally, err := s.Dead(b.ctx, b.ref(1, 0), serial, cause)
		b.ok(err)
		b.tells(tally, ledger.Tally{Dead: 1, Planned: 1, Listed: true})
	}},
}
