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

// limits are the times at which a start of work has to come to an end.
type limits struct {
	pause  time.Time // from then on it pauses where it can; zero: it does not
	stop   time.Time // it reads no further, wherever it is; zero: it does
	goesOn bool      // the unit goes on in the same delivery
	unit   time.Duration
	most   time.Duration // of the reserve
	whole  time.Duration // that a delivery may take; 0: not known
}

// limits are those of a delivery. Only one that is renewed has a deadline of its
// own: in one process the end of the context is a stop from outside.
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

func (l limits) until(now, end time.Time) limits {
	reserve := max(min(l.most, end.Sub(now)/4), 0)
	l.pause = end.Add(-reserve)
	l.stop = end.Add(-reserve / 3)
	return l
}

// late reports whether nothing more should be begun.
func (l limits) late() bool { return !l.pause.IsZero() && !time.Now().Before(l.pause) }

var errOutOfTime = errors.New("out of time")

// within reads under the attempt's time. A reading that is stopped has paused
// where every sink had last acked all; without such a place it came to nothing.
func (a *attempt) within(ctx context.Context, read func(context.Context) (pipe.Result, error)) (pipe.Result, error) {
	if a.limits.stop.IsZero() {
		return read(ctx)
	}
	limited, cancel := context.WithDeadlineCause(ctx, a.limits.stop, errOutOfTime)
	defer cancel()
	res, err := read(limited)
	switch {
	case err == nil, ctx.Err() != nil, !errors.Is(context.Cause(limited), errOutOfTime),
		ledger.Final(err), failure.Is(err, failure.Member): // whose time it is makes no difference
		return res, err
	case res.Cursor != nil:
		return res, nil
	}
	return res, failure.Errorf(failure.Unit, failure.Deadline,
		"%w after %v without the end of a segment: give the reader more time or memory, or make units smaller: %w",
		errOutOfTime, time.Since(a.began).Round(time.Millisecond), err)
}

// hold keeps the message from other readers until release is called, which
// waits. Should a renewal fail, the work goes on: fences hold.
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

// touch shows that the unit is worked on until it is told to stop, which waits.
// Of a last attempt it does so from the start: of a run that was quiet until now,
// that unit would be given up as crashed. Another one would only be sent again.
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

// every calls f each d until it is told to stop, which ends a call under way and
// waits.
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
