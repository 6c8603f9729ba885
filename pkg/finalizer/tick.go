package finalizer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// reserve is what a tick leaves of its time, to say what it did not do.
const reserve = 5 * time.Second

// Tick looks at every live job once and does what is due of it. One job's error
// keeps no other from its turn, nor does one that takes long: at most Jobs are
// looked at at once, and where there are more, each may take half of the time
// that is left. What is cut off there goes on with the next tick.
//
// The jobs are taken in an order of chance. No tick knows how far the last one
// got, and by any order that is always the same the last ones might never be
// reached; so each is the first as often as any other.
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

// turn is one job's.
func (s *Shared) turn(ctx context.Context, job string, others bool) error {
	if end, ok := ctx.Deadline(); ok && others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	err := s.look(ctx, job)
	if err != nil {
		s.opt.Log.Error("job not looked after", "job", job, "error", err)
	}
	return err
}

// within ends ctx some time before its deadline.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(reserve, time.Until(end)/10)))
}
