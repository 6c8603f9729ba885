package lister

import (
	"context"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// retry repeats call, for up to half a minute, while its error is retryable.
func retry(ctx context.Context, retryable func(error) bool, call func() error) error {
	p := backoff.Policy{Base: 200 * time.Millisecond, Max: 10 * time.Second, Retries: 8}
	return backoff.Retry(ctx, p, retryable, call)
}

// transient: the store said that asking again may help.
func transient(err error) bool { return failure.Is(err, failure.Transient) }

// undecided: ledger and feed take the same call any number of times, so every
// error is worth another try but those by which they decide.
func undecided(err error) bool { return !ledger.Final(err) }
