package reader

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/pipe"
)

// limits are the times by which a start of work has to end.
type limits struct {
	pause  time.Time     // from then on it pauses as soon as it can; zero: never
	stop   time.Time     // it reads no further, wherever it is; zero: never
	goesOn bool          // the unit continues in the same delivery
	unit   time.Duration // length of a stretch, if goesOn
	most   time.Duration // bound of the reserve
	whole  time.Duration // time for the whole delivery; 0: not known
}

// limits returns those of a delivery. Only a delivery that is renewed has a deadline
// of its own: in one process the end of the context is a stop from outside.
func (r *Reader) limits(ctx context.Context, renewed bool, now time.Time) limits {
	l := limits{most: r.opt.Reserve}
	if end, ok := ctx.Deadline(); ok && renewed {
		l.whole = end.Sub(now)
		return l.until(now, end)
	}
	if l.unit = r.opt.UnitTime; l.unit > 0 {
		l.goesOn = true
		return l.next(now)
	}
	return l
}

// next are the limits of the stretch that begins now.
func (l limits) next(now time.Time) limits { return l.until(now, now.Add(l.unit)) }

// until sets the limits of a stretch that lasts from now to end.
func (l limits) until(now, end time.Time) limits {
	reserve := max(min(l.most, end.Sub(now)/4), 0)
	l.pause = end.Add(-reserve)
	l.stop = end.Add(-reserve / 3)
	return l
}

// late reports whether nothing more should be begun.
func (l limits) late() bool { return !l.pause.IsZero() && !time.Now().Before(l.pause) }

var errOutOfTime = errors.New("out of time")

// within reads under the attempt's time limit. A reading that is stopped counts
// as paused at the last place where every sink had acked everything; without
// such a place it came to nothing.
func (a *attempt) within(ctx context.Context, read func(context.Context) (pipe.Result, error)) (pipe.Result, error) {
	if a.limits.stop.IsZero() {
		return read(ctx)
	}
	limited, cancel := context.WithDeadlineCause(ctx, a.limits.stop, errOutOfTime)
	defer cancel()
	res, err := read(limited)
	switch {
	case err == nil, ctx.Err() != nil, !errors.Is(context.Cause(limited), errOutOfTime),
		ledger.Final(err), failure.Is(err, failure.Member): // more time would not change these
		return res, err
	case res.Cursor != nil:
		return res, nil
	}
	return res, failure.Errorf(failure.Unit, failure.Deadline,
		"%w after %v without finishing a segment: give the reader more time or memory, or make units smaller: %w",
		errOutOfTime, time.Since(a.began).Round(time.Millisecond), err)
}

// hold keeps the message from other readers until release is called, which
// waits for a renewal under way. If a renewal fails, the work goes on: fences
// hold.
func (a *attempt) hold(ctx context.Context) (release func()) {
	extend := a.delivery.Extend
	if extend == nil {
		return func() {}
	}
	each := min(a.opt.Visibility/2, time.Minute)
	renew := func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, each)
		defer cancel()
		if err := extend(limited, a.opt.Visibility); err != nil && ctx.Err() == nil {
			a.opt.Log.WarnContext(ctx, "message not renewed", "job", a.delivery.Job, "unit", a.delivery.ID, "error", err)
		}
	}
	renew(ctx)
	return every(ctx, each, renew)
}

// touch shows that the unit is being worked on until stop is called, which
// waits. A last attempt is shown right at its start: in a run that was quiet
// until now, its unit would otherwise be given up as crashed. Any other unit
// would only be sent again.
func (a *attempt) touch(ctx context.Context) (stop func()) {
	if a.delivery.Extend == nil {
		return func() {}
	}
	each := min(a.opt.Settling/3, 3*time.Minute)
	touch := func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, each)
		defer cancel()
		if err := a.ledger.Touch(limited, a.ref); err != nil && ctx.Err() == nil {
			a.opt.Log.WarnContext(ctx, "run not touched", "job", a.ref.Job, "unit", a.ref.ID, "error", err)
		}
	}
	if a.item.Last {
		touch(ctx)
	}
	return every(ctx, each, touch)
}

// every calls f each d until stop is called, which cancels a call under way and
// waits for it.
func every(ctx context.Context, d time.Duration, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
