package sink

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// RetryOptions tune Retry. The zero value is usable.
type RetryOptions struct {
	Name    string        // of the sink, for errors; "" means "sink"
	Initial time.Duration // longest first wait; 0 means 100 ms
	Max     time.Duration // longest wait; 0 means 10 s
	Budget  time.Duration // from the first failure of a call to giving up; 0 means 60 s
	// OnRetry is told each error that is about to be retried; nil for nobody.
	// Calls may overlap.
	OnRetry func(error)
}

type retrying struct {
	Sink
	o RetryOptions
}

// Retry returns s with its transient errors retried in place: the same block,
// the same token, after jittered waits that double. When a call has failed for
// the whole budget the sink is down, and that concerns the job. Other errors
// pass as they are. A wait ends with its context.
//
// It bounds no single call: an attempt that hangs is the driver's to time out.
func Retry(s Sink, o RetryOptions) Sink {
	o.Name = cmp.Or(o.Name, "sink")
	o.Initial = cmp.Or(o.Initial, 100*time.Millisecond)
	o.Max = cmp.Or(o.Max, 10*time.Second)
	o.Budget = cmp.Or(o.Budget, time.Minute)
	return &retrying{Sink: s, o: o}
}

func (r *retrying) Write(ctx context.Context, b *Block) error {
	return r.try(ctx, "write to", func() error { return r.Sink.Write(ctx, b) })
}

func (r *retrying) Commit(ctx context.Context, u unit.ID, series int) error {
	return r.try(ctx, "commit to", func() error { return r.Sink.Commit(ctx, u, series) })
}

func (r *retrying) try(ctx context.Context, verb string, call func() error) error {
	err := call()
	if !failure.Is(err, failure.Transient) {
		return err
	}
	giveUp := time.Now().Add(r.o.Budget)
	for step := r.o.Initial; ; step *= 2 {
		step = min(step, r.o.Max)
		left := time.Until(giveUp)
		if left <= 0 {
			return failure.Errorf(failure.Job, failure.SinkDown,
				"%s %s: failing for %v: %w: check that it can be reached; it is probed until it answers",
				verb, r.o.Name, r.o.Budget, err)
		}
		// The last wait is cut short, so that the budget ends with an attempt.
		if e := r.wait(ctx, min(jitter(step), left), err); e != nil {
			return fmt.Errorf("%s %s: %w (last error: %v)", verb, r.o.Name, e, err) //nolint:errorlint // its mark is not to show: the end of the context is no fault of the sink
		}
		if err = call(); !failure.Is(err, failure.Transient) {
			return err
		}
	}
}

// wait returns the context's error once that has ended, even where the attempt
// failed for no other reason.
func (r *retrying) wait(ctx context.Context, d time.Duration, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.o.OnRetry != nil {
		r.o.OnRetry(cause)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// jitter spreads waits over the upper half, so that units that failed together
// do not come back together.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}
