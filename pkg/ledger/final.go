package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
)

// Final reports whether err, from a ledger or a feed, is an answer rather than
// a fault: the same call would be answered alike. After any other error the
// call may be repeated.
func Final(err error) bool {
	for _, answer := range []error{ErrNoJob, ErrNoUnit, ErrNoClaim, ErrActive, ErrFenced, ErrLeased, ErrState} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return failure.Is(err, failure.Job)
}

// Retry repeats a call to a ledger, a few times at most, until it succeeds or
// its error is final: a passing fault should neither throw away finished work
// nor use up a last delivery with nothing written. Every call may be repeated;
// a Begin whose answer was lost counts twice.
func Retry(ctx context.Context, call func() error) error {
	p := backoff.Policy{Base: 100 * time.Millisecond, Max: time.Second, Retries: 3}
	return backoff.Retry(ctx, p, func(err error) bool { return !Final(err) }, call)
}

// Ask is Retry for a call that returns a value.
func Ask[T any](ctx context.Context, call func() (T, error)) (v T, err error) {
	err = Retry(ctx, func() (err error) {
		v, err = call()
		return err
	})
	return v, err
}
