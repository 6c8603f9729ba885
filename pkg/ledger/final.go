package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
)

// Final reports whether err, of a call to a ledger or to a feed, is an answer
// rather than a fault: the same call would be answered alike. Everything else
// may be called again, for those calls may be repeated.
func Final(err error) bool {
	for _, answer := range []error{ErrNoJob, ErrNoUnit, ErrNoClaim, ErrActive, ErrFenced, ErrLeased, ErrState} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return failure.Is(err, failure.Job)
}

// Retry makes a call of a ledger until it succeeds or its error is final, a few
// times at most: a passing fault should neither throw finished work away nor use
// up a last delivery with nothing written. All calls may be repeated; a Begin
// whose answer was lost counts twice.
func Retry(ctx context.Context, call func() error) error {
	p := backoff.Policy{Base: 100 * time.Millisecond, Max: time.Second, Retries: 3}
	return backoff.Retry(ctx, p, func(err error) bool { return !Final(err) }, call)
}
