package finalizer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// look is one look at one job.
type look struct {
	*Shared
	now  time.Time
	meta ledger.Meta
	seen ledger.Progress // what the counters say
	// watch is what looks remember of the job; stood, whether the last look at a
	// listed job saw the same as this one.
	watch ledger.Watch
	stood bool
}

// visit does what is due for a job.
func (s *Shared) visit(ctx context.Context, job string) error {
	meta, err := read(ctx, s.ledger, job)
	if err != nil {
		return err
	}
	l := &look{Shared: s, meta: meta}
	switch {
	case meta.State.Ended():
		return s.finish(ctx, job)
	case meta.Continuous:
		return l.continuous(ctx)
	}
	listErr := s.list(ctx, meta) // keeps nothing that is published from being read
	return errors.Join(listErr, l.listed(ctx))
}

// listed looks after a listed job.
//
// The order: a verdict before any send, because nothing is due for a run that is at
// its end. The halt before sends, because a reader acks whatever it gets of a
// halted job. Todos and the sends that were asked for before settling, because a
// unit that is due and was not sent is not quiet. Each effect is recorded only
// after it took place, so a crash repeats it: a lister is started twice, a unit is
// in the feed twice. Only what must not be repeated forever is recorded before: the
// count of a re-send, and whose turn it is as a probe.
func (l *look) listed(ctx context.Context) error {
	if err := l.observe(ctx); err != nil {
		return err
	}
	if ended, err := l.verdict(ctx); err != nil || ended {
		return err
	}
	if l.meta.Halt != nil {
		return l.probe(ctx)
	}
	if err := errors.Join(l.todos(ctx), l.sweep(ctx)); err != nil {
		return err
	}
	return l.settle(ctx)
}

// list starts a lister if none holds the lease. The lease was written by
// another clock, which does no harm: of two listers, one is refused. A sink
// that is down does not stop the listing: the units that are open may all be
// done before the halt is cleared, and then only new ones can be its probes.
func (s *Shared) list(ctx context.Context, meta ledger.Meta) error {
	if s.opt.List == nil || meta.State != ledger.Listing || meta.Halt != nil && !meta.Halt.SinkDown() || meta.Leased.After(time.Now()) {
		return nil
	}
	if err := s.opt.List(ctx, meta.Job, meta.Run); err != nil {
		return fmt.Errorf("start a lister for job %s, run %d: %w", meta.Job, meta.Run, err)
	}
	return nil
}

// observe finds out since when the counters stand where they are. It compares
// only the times of looks, none that a reader wrote, so no clock's skew
// shortens the window. A new run or generation begins anew.
func (l *look) observe(ctx context.Context) error {
	if err := l.glance(ctx); err != nil {
		return err
	}
	w := l.watch
	l.stood = w.Run == l.meta.Run && w.Generation == l.meta.Generation && w.Beat == l.seen.Beat && !w.Since.IsZero()
	if l.stood && !l.now.Before(w.Since) {
		return nil
	}
	l.watch = ledger.Watch{
		Run: l.meta.Run, Generation: l.meta.Generation, Beat: l.seen.Beat, Since: l.now,
		Proved: l.stood && w.Proved, Probe: w.Probe,
	}
	return l.remember(ctx)
}

// still is for how long the counters of a listed job stand where they are.
func (l *look) still() time.Duration { return l.now.Sub(l.watch.Since) }

// glance reads what the counters say and what the last look recorded. The time
// is read last: otherwise a slow look would begin the window earlier than one
// that has begun it anew meanwhile.
func (l *look) glance(ctx context.Context) (err error) {
	if l.seen, err = l.progress(ctx, l.meta); err != nil {
		return err
	}
	if l.watch, err = l.ledger.Watch(ctx, l.meta.Job); err != nil {
		return fmt.Errorf("read watch of job %s: %w", l.meta.Job, err)
	}
	l.now = time.Now().Round(0)
	return nil
}

func (s *Shared) progress(ctx context.Context, meta ledger.Meta) (ledger.Progress, error) {
	p, err := s.ledger.Progress(ctx, meta.Job, meta.Run)
	if err != nil {
		return p, fmt.Errorf("read counters of job %s, run %d: %w", meta.Job, meta.Run, err)
	}
	return p, nil
}

func (l *look) remember(ctx context.Context) error {
	if err := l.ledger.Watched(ctx, l.meta.Job, l.watch); err != nil {
		return fmt.Errorf("write watch of job %s: %w", l.meta.Job, err)
	}
	return nil
}

// restart begins the window anew, once per look.
func (l *look) restart(ctx context.Context) error {
	if l.watch.Since.Equal(l.now) {
		return nil
	}
	l.watch.Since = l.now
	return l.remember(ctx)
}

// verdict tries the proof if it may succeed. If that ends the job, it reports
// it and returns true.
func (l *look) verdict(ctx context.Context) (bool, error) {
	if !l.meta.Listed || !l.seen.Settled() && !l.behind() {
		return false, nil
	}
	ended, err := prove(ctx, l.ledger, l.meta, false)
	if err != nil {
		return false, err
	}
	if ended {
		return true, l.finish(ctx, l.meta.Job)
	}
	if l.watch.Proved {
		return false, nil
	}
	l.watch.Proved = true
	return false, l.remember(ctx)
}

// fewUnits is how many units the counters may lack for a proof to be tried at
// every look.
const fewUnits = 16

// behind reports whether counters that do not add up may be behind the items,
// as after a crash: they stand still. A proof reads every item, so they get
// one. A unit may become done without being counted after that. Further proofs
// come each minute within the first window if only few units are lacking, and
// otherwise once per window.
func (l *look) behind() bool {
	if !l.stood {
		return false
	}
	still := l.still()
	if still < l.opt.Window {
		return !l.watch.Proved || l.seen.Planned-l.seen.Done-l.seen.Dead <= fewUnits
	}
	return !l.watch.Proved || still%l.opt.Window < time.Minute
}
