// Package finalizer ends jobs: it proves from the ledger alone that a run is
// complete, or that it has failed, writes the verdict and reports it. For jobs
// that outlive their feed (Shared) it also sends what is due again, and gives up
// what nobody works on any more. A continuous job is only looked after: there is
// nothing to prove, and it ends when it is cancelled.
//
// It reads no queue and moves no bytes. It never relies on what a queue counts,
// and it trusts no clock but that of its own schedule.
//
// The law: a verdict is proved under the generation that was read before, so a
// unit that leaves dead in between voids it; and a job stays live until its
// verdict was reported, so that the next look makes up for a crash anywhere.
package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// Finalizer proves and reports jobs that end with their process. Its methods may be
// called concurrently, and again.
type Finalizer struct {
	ledger ledger.Prover
}

// New returns a finalizer for jobs that end with their process.
func New(l ledger.Prover) *Finalizer { return &Finalizer{ledger: l} }

// Prove ends the job if it can be proved ended, and reports whether it is.
func (f *Finalizer) Prove(ctx context.Context, job string) (bool, error) {
	// The generation is read before the counting: a unit that leaves dead in
	// between raises it, and the verdict is refused.
	meta, err := read(ctx, f.ledger, job)
	if err != nil {
		return false, err
	}
	if meta.State.Ended() {
		return true, nil
	}
	return prove(ctx, f.ledger, meta, false)
}

// Report says what the job's current run did, ended or not.
func (f *Finalizer) Report(ctx context.Context, job string) (*report.Report, error) {
	meta, err := read(ctx, f.ledger, job)
	if err != nil {
		return nil, err
	}
	return compose(ctx, f.ledger, meta)
}

func read(ctx context.Context, l ledger.Prover, job string) (ledger.Meta, error) {
	meta, err := l.Meta(ctx, job)
	if err != nil {
		return meta, fmt.Errorf("job %s: %w", job, err)
	}
	return meta, nil
}

// prove ends the job that meta describes, if its items bear that out, and
// reports whether it did. settled says that nobody works on the run any more: a
// unit that the ledger should hold and does not will not turn up then, and
// fails the job.
func prove(ctx context.Context, l ledger.Prover, meta ledger.Meta, settled bool) (bool, error) {
	if !meta.Listed {
		return false, nil
	}
	census, err := l.Prove(ctx, meta.Job, meta.Run)
	if err != nil {
		return false, fmt.Errorf("prove job %s: %w", meta.Job, err)
	}
	switch {
	case census.Complete(meta):
		return conclude(ctx, l, meta, ledger.Completed)
	case census.Open == 0 && (census.Dead > 0 || settled):
		return conclude(ctx, l, meta, ledger.Failed)
	default:
		return false, nil
	}
}

// conclude writes the verdict and reports whether it stands. It does not if the
// job moved on from meta: whoever moved it proves again.
func conclude(ctx context.Context, l ledger.Prover, meta ledger.Meta, s ledger.State) (bool, error) {
	err := l.Conclude(ctx, meta.Job, meta.Run, meta.Generation, s)
	if errors.Is(err, ledger.ErrState) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("conclude job %s: %w", meta.Job, err)
	}
	return true, nil
}
