// Package backoff has the waits between retries, for every part of the module.
//
// It does not classify errors: the caller says which are retryable. Nor does it
// bound a single call; one that hangs is the caller's to time out.
//
// The law: every wait is jittered between half its bound and the bound, so that
// callers that failed together do not retry together, and it ends as soon as
// its context does.
package backoff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Delay is the wait before the n-th retry in a row, counted from 1. Its bound
// starts at base and doubles up to limit.
func Delay(base, limit time.Duration, n int) time.Duration {
	d := base
	for ; n > 1 && d < limit; n-- {
		d *= 2
	}
	d = min(d, limit)
	return d/2 + rand.N(d/2+1)
}

// Wait returns nil after d, or ctx's error as soon as ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
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

// Policy says how often and how long a call is repeated. With neither Retries
// nor Budget it is repeated until it succeeds or its context ends.
type Policy struct {
	Base    time.Duration // longest wait before the first retry, doubling; 0 means none
	Max     time.Duration // longest wait before any retry; 0 means none
	Retries int           // how often a call is repeated; 0 means without bound
	// Budget is the time from the first failure to the last attempt; 0 means
	// without bound.
	Budget time.Duration
	// OnRetry, if not nil, is called with each error that is about to be
	// retried.
	OnRetry func(error)
}

// Retry repeats call until it succeeds, fails with an error that is not
// retryable, or p is used up, and returns its last error. Once ctx has ended it
// returns ctx's error instead, with only the text of the last one: wrapped, its
// mark would blame the call.
func Retry(ctx context.Context, p Policy, retryable func(error) bool, call func() error) error {
	err := call()
	start := time.Now()
	for n := 1; err != nil && retryable(err); n++ {
		d := Delay(p.Base, p.Max, n)
		if p.Budget > 0 {
			// The last wait is cut short, so that the budget ends with an attempt.
			d = min(d, p.Budget-time.Since(start))
		}
		if p.Retries > 0 && n > p.Retries || p.Budget > 0 && d <= 0 {
			return err
		}
		if ctx.Err() == nil && p.OnRetry != nil {
			p.OnRetry(err)
		}
		if e := Wait(ctx, d); e != nil {
			return fmt.Errorf("%w (last error: %v)", e, err) //nolint:errorlint // see above: its mark is not to show
		}
		err = call()
	}
	return err
}
