package reader

import (
	"context"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/ledger"
)

// again repeats a call of the ledger: a passing fault of it should neither
// throw finished work away nor use up the last delivery with nothing written.
// All its calls may be repeated; a Begin whose answer was lost counts twice.
func again(ctx context.Context, call func() error) error {
	p := backoff.Policy{Base: 100 * time.Millisecond, Max: time.Second, Retries: 3}
	return backoff.Retry(ctx, p, func(err error) bool { return !ledger.Final(err) }, call)
}

// ask is again for a call with an answer.
func ask[T any](ctx context.Context, call func() (T, error)) (v T, err error) {
	err = again(ctx, func() (err error) {
		v, err = call()
		return err
	})
	return v, err
}
