package finalizer

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// shortest is the shortest time over which a job's throughput is measured.
const shortest = 30 * time.Second

// continuous looks after a continuous job. There is no end to prove: what is due is
// done, in the same order as for a listed job, and then the units that nobody
// works on are settled, one by one.
func (l *look) continuous(ctx context.Context) error {
	if err := l.measure(ctx); err != nil {
		return err
	}
	if l.meta.Halt != nil {
		return l.probe(ctx)
	}
	if err := errors.Join(l.todos(ctx), l.keys(ctx), l.sweep(ctx)); err != nil {
		return err
	}
	return l.stale(ctx)
}

// measure records what went through the job since the last look. Looks that are
// close together measure nothing: the second one leaves everything as it is.
func (l *look) measure(ctx context.Context) error {
	if err := l.glance(ctx); err != nil {
		return err
	}
	w := &l.watch
	again := w.Run == l.meta.Run && !w.At.IsZero()
	took := l.now.Sub(w.At)
	if again && took >= 0 && took < shortest {
		return nil
	}
	flow := ledger.Flow{Units: int64(l.seen.Done), Objects: l.seen.Objects, Bytes: l.seen.BytesRead, Records: l.seen.Records}
	w.PerMinute = ledger.Flow{}
	if again && took > 0 {
		w.PerMinute = perMinute(w.Flow, flow, took)
	}
	if w.Run != l.meta.Run {
		w.Since = time.Time{} // nothing of this run was swept
	}
	w.Run, w.Generation, w.Beat, w.At, w.Flow = l.meta.Run, l.meta.Generation, l.seen.Beat, l.now, flow
	return l.remember(ctx)
}

func perMinute(was, is ledger.Flow, took time.Duration) ledger.Flow {
	rate := func(was, is int64) int64 {
		return max(0, int64(float64(is-was)*float64(time.Minute)/float64(took)+0.5))
	}
	return ledger.Flow{
		Units: rate(was.Units, is.Units), Objects: rate(was.Objects, is.Objects),
		Bytes: rate(was.Bytes, is.Bytes), Records: rate(was.Records, is.Records),
	}
}
