package lister

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// renew takes the lease, or extends it.
func (r *run) renew(ctx context.Context) (m ledger.Meta, err error) {
	began := time.Now()
	err = retry(ctx, undecided, func() (err error) {
		m, err = r.planner.Lease(ctx, r.lease)
		return err
	})
	if err != nil {
		return m, fmt.Errorf("take the lister's lease: %w", err)
	}
	r.renewed, r.alone = began, false
	return m, nil
}

// hold renews the lease if it may lapse soon. A lease that lapsed unnoticed, as
// when the process was frozen, does no harm unless another lister took it and
// went on.
func (r *run) hold(ctx context.Context) error {
	if time.Since(r.renewed) < ledger.LeaseTime/2 {
		return nil
	}
	m, err := r.renew(ctx)
	if err == nil && m.Page != r.stretch.after {
		return errElsewhere
	}
	return err
}
