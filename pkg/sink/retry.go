package sink

import (
	"cmp"
	"context"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
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
	name   string
	policy backoff.Policy
}

// Retry returns s with its transient errors retried in place: the same block,
// the same token, after jittered waits that double. When a call has failed for
// the whole budget the sink is down, which is a failure of the job. Other
// errors pass unchanged. A wait ends with its context.
//
// If the context has a deadline the budget ends before it, as long as a useful
// part of it is left: otherwise a sink that is down would use up one unit after
// another of a function that is short of time.
//
// It bounds no single call: an attempt that hangs is the driver's to time out.
func Retry(s Sink, o RetryOptions) Sink {
	return &retrying{Sink: s, name: cmp.Or(o.Name, "sink"), policy: backoff.Policy{
		Base:    cmp.Or(o.Initial, 100*time.Millisecond),
		Max:     cmp.Or(o.Max, 10*time.Second),
		Budget:  cmp.Or(o.Budget, time.Minute),
		OnRetry: o.OnRetry,
	}}
}

func (r *retrying) Write(ctx context.Context, b *Block) error {
	return r.try(ctx, "write to", func() error { return r.Sink.Write(ctx, b) })
}

func (r *retrying) Commit(ctx context.Context, u unit.ID, series int) error {
	return r.try(ctx, "commit to", func() error { return r.Sink.Commit(ctx, u, series) })
}

// How far a deadline cuts a budget.
const (
	leastPart   = 6               // of the budget: a shorter fault says nothing about the sink
	lastAttempt = 3 * time.Second // for the attempt that the budget ends with
)

func (r *retrying) try(ctx context.Context, verb string, call func() error) error {
	failed := call()
	if !transient(failed) {
		return failed
	}
	p := r.policy
	if end, ok := ctx.Deadline(); ok {
		p.Budget = min(p.Budget, max(time.Until(end)-lastAttempt, p.Budget/leastPart))
	}
	err := backoff.Retry(ctx, p, transient, func() error {
		if first := failed; first != nil {
			failed = nil
			return first
		}
		return call()
	})
	if !transient(err) {
		return err
	}
	return failure.Errorf(failure.Job, failure.SinkDown,
		"%s %s: failing for %v: %w: check that it can be reached: it is retried once a minute, and the job resumes by itself",
		verb, r.name, p.Budget.Round(time.Second), err)
}

func transient(err error) bool { return failure.Is(err, failure.Transient) }
