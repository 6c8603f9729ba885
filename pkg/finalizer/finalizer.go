// Package finalizer ends jobs: it proves from the ledger alone that a run is
// complete, or that it has failed, writes the verdict and makes the report. It
// never goes by what a queue counts.
package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Finalizer proves. Its methods may be called concurrently and repeated.
type Finalizer struct {
	ledger ledger.Prover
}

// New returns a finalizer.
func New(l ledger.Prover) *Finalizer { return &Finalizer{ledger: l} }

// Prove ends the job if it can be proved ended, and reports whether it is.
func (f *Finalizer) Prove(ctx context.Context, job string) (bool, error) {
	// The generation is read before the counting: a unit that leaves dead in
	// between raises it, and the verdict is refused.
	meta, err := f.ledger.Meta(ctx, job)
	if err != nil {
		return false, fmt.Errorf("job %s: %w", job, err)
	}
	if meta.State.Ended() {
		return true, nil
	}
	if !meta.Listed {
		return false, nil
	}
	census, err := f.ledger.Prove(ctx, job, meta.Run)
	if err != nil {
		return false, fmt.Errorf("prove job %s: %w", job, err)
	}
	state := ledger.Completed
	switch {
	case census.Complete(meta):
	case census.Open == 0 && census.Dead > 0:
		state = ledger.Failed
	default:
		return false, nil
	}
	err = f.ledger.Conclude(ctx, job, meta.Run, meta.Generation, state)
	if errors.Is(err, ledger.ErrState) { // it moved on meanwhile: whoever moved it proves again
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("conclude job %s: %w", job, err)
	}
	return true, nil
}
