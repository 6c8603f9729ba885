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
	// seen is what the counters said, still how long they have said so, by the
	// clock of the looks; stood: the last look saw the same.
	seen  ledger.Progress
	still time.Duration
	stood bool
	watch ledger.Watch
}

// look does what is due of a job.
//
// The order: a verdict before anything is sent, since of a run that is at its
// end nothing is due. A halt before sends, since a reader acks whatever it gets
// of a halted job. Todos and the sends that were asked for before settling,
// since a unit that is due and was not sent is not quiet. Each effect is written
// down only after it was had, so a crash repeats it: a lister is started twice, a
// unit is in the feed twice. Only what must not be repeated for ever is written
// down before: that a re-send is counted, and whose turn it is as a probe.
func (s *Shared) look(ctx context.Context, job string) error {
	meta, err := read(ctx, s.ledger, job)
	if err != nil {
		return err
	}
	if meta.State.Ended() {
		return s.finish(ctx, job)
	}
	if meta.Continuous {
		return s.mind(ctx, meta)
	}
	listErr := s.list(ctx, meta) // keeps nothing that is published from being read
	l := &look{Shared: s, meta: meta}
	if err := l.observe(ctx); err != nil {
		return errors.Join(listErr, err)
	}
	if ended, err := l.verdict(ctx); err != nil || ended {
		return errors.Join(listErr, err)
	}
	if meta.Halt != nil {
		return errors.Join(listErr, l.probe(ctx))
	}
	if err := errors.Join(l.todos(ctx), l.sweep(ctx)); err != nil {
		return errors.Join(listErr, err)
	}
	return errors.Join(listErr, l.settle(ctx))
}

// list starts a lister where none holds the lease. That the clock of whoever
// wrote the lease is another does no harm: of two listers, one is refused. A sink
// that is down keeps nothing from being listed: the units that are open may all
// be done before the halt is cleared, and then only new ones can be its probes.
func (s *Shared) list(ctx context.Context, meta ledger.Meta) error {
	if s.opt.List == nil || meta.State != ledger.Listing || meta.Halt != nil && !meta.Halt.SinkDown() || meta.Leased.After(time.Now()) {
		return nil
	}
	if err := s.opt.List(ctx, meta.Job, meta.Run); err != nil {
		return fmt.Errorf("start a lister for job %s, run %d: %w", meta.Job, meta.Run, err)
	}
	return nil
}

// observe finds out since when the counters stand where they are. Only the
// times of looks are compared, none that a reader wrote, so no clock's skew
// shortens the window. A run or generation that is new begins anew.
func (l *look) observe(ctx context.Context) error {
	if err := l.glance(ctx); err != nil {
		return err
	}
	w := l.watch
	l.stood = w.Run == l.meta.Run && w.Generation == l.meta.Generation && w.Beat == l.seen.Beat && !w.Since.IsZero()
	if l.stood && !l.now.Before(w.Since) {
		l.still = l.now.Sub(w.Since)
		return nil
	}
	l.watch = ledger.Watch{
		Run: l.meta.Run, Generation: l.meta.Generation, Beat: l.seen.Beat, Since: l.now,
		Proved: l.stood && w.Proved, Probe: w.Probe,
	}
	return l.remember(ctx)
}

// glance reads what the counters say and what the last look left. The time is
// read last: a look that took its time would begin the window earlier than one
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

// restart begins the window anew, once a look.
func (l *look) restart(ctx context.Context) error {
	if l.watch.Since.Equal(l.now) {
		return nil
	}
	l.watch.Since, l.still = l.now, 0
	return l.remember(ctx)
}

// verdict tries the proof where it may succeed, and reports the job that it
// ended.
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

// fewUnits is how many units the counters may lack for a proof at every look.
const fewUnits = 16

// behind reports whether counters that do not agree may be behind the items, as
// a crash leaves them: they stand still. A proof reads every item, so they get
// one. A unit may become done without a count after that: then the next ones
// come each minute within the first window, where only few units are lacking,
// and else once a window.
func (l *look) behind() bool {
	if !l.stood {
		return false
	}
	if l.still < l.opt.Window {
		return !l.watch.Proved || l.seen.Planned-l.seen.Done-l.seen.Dead <= fewUnits
	}
	return !l.watch.Proved || l.still%l.opt.Window < time.Minute
}
