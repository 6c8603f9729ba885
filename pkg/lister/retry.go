package lister

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// retries is how often a call is repeated: with the waits below, for about half
// a minute.
const retries = 8

// again calls op until it succeeds, fails otherwise than may pass, or has been
// repeated often enough. Waits double from a tenth of a second to ten seconds,
// with jitter.
func again(ctx context.Context, may func(error) bool, op func() error) error {
	wait := &backoff.ExponentialBackOff{
		InitialInterval:     100 * time.Millisecond,
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         10 * time.Second,
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := op()
		if err != nil && !may(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(1+retries), backoff.WithMaxElapsedTime(0))
	return err
}

// transient: the store said that asking again may help.
func transient(err error) bool { return failure.Is(err, failure.Transient) }

// passing: ledger and feed take the same call any number of times, so all is
// tried again but what they decided.
func passing(err error) bool {
	return !errors.Is(err, ledger.ErrNoJob) && !errors.Is(err, ledger.ErrState) && !failure.Is(err, failure.Job)
}
