package reader

import (
	"context"

	"github.com/spate-go/spate/pkg/ledger"
)

// ask is ledger.Retry for a call with an answer.
func ask[T any](ctx context.Context, call func() (T, error)) (v T, err error) {
	err = ledger.Retry(ctx, func() (err error) {
		v, err = call()
		return err
	})
	return v, err
}
