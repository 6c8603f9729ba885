package finalizer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// reserve is what a tick keeps of its time to say what it did not do.
const reserve = 5 * time.Second

// Tick looks at every live job once and does what is due for it. An error of
// one job keeps no other from its turn, nor does a job that takes long: at most
// Options.Jobs are looked at at a time, and if there are more, each may take
// half of the time that is left. What is cut off there continues with the next
// tick.
//
// The jobs are taken in random order. No tick knows how far the last one got,
// and in a fixed order the last jobs might never be reached; so each comes
// first as often as any other.
func (s *Shared) Tick(ctx context.Context) error {
	jobs, err := s.ledger.Live(ctx)
	if err != nil {
		return fmt.Errorf("list live jobs: %w", err)
	}
	rand.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	ctx, cancel := within(ctx)
	defer cancel()

	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, s.opt.Jobs) // the capacity is the bound
		errs  = make([]error, len(jobs)+1)
	)
	for i, job := range jobs {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			errs[len(jobs)] = fmt.Errorf("%d of %d live jobs wait for the next tick: %w", len(jobs)-i, len(jobs), ctx.Err())
			s.opt.Log.Warn("out of time", "waiting", len(jobs)-i, "jobs", len(jobs))
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = s.turn(ctx, job, len(jobs) > s.opt.Jobs)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// turn looks at one job. others says that jobs may be waiting for it.
func (s *Shared) turn(ctx context.Context, job string, others bool) error {
	if end, ok := ctx.Deadline(); ok && others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	err := s.visit(ctx, job)
	if err != nil {
		s.opt.Log.Error("job not checked", "job", job, "error", err)
	}
	return err
}

// within returns ctx with a deadline that is earlier by the reserve.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(reserve, time.Until(end)/10)))
}
