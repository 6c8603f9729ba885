package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// Report returns what the job's run did: of a run that ended, the report that
// the finalizer wrote; otherwise one that is made from the ledger now. It waits
// for a written report that is not there yet, at most for wait.
func (c *Control) Report(ctx context.Context, job string, wait time.Duration) (*report.Report, error) {
	m, err := c.meta(ctx, job)
	if err != nil {
		return nil, err
	}
	if m.State.Ended() && c.opt.Reports != nil {
		r, err := c.written(ctx, m, wait)
		if !errors.Is(err, ErrNoReport) {
			return r, err
		}
	}
	r, err := ledger.Ask(ctx, func() (*report.Report, error) { return c.finalizer.Report(ctx, job) })
	if err != nil {
		return nil, err
	}
	if r.State == report.Interrupted { // what a process says of itself when it stops
		r.State = report.State(m.State)
	}
	if r.Ended.IsZero() {
		r.Ended = time.Now()
	}
	return r, nil
}

// written is the report that the finalizer wrote.
func (c *Control) written(ctx context.Context, m ledger.Meta, wait time.Duration) (*report.Report, error) {
	var r *report.Report
	p := backoff.Policy{Base: firstLook, Max: firstLook, Budget: max(wait, 1)}
	err := backoff.Retry(ctx, p, func(err error) bool { return errors.Is(err, ErrNoReport) }, func() (err error) {
		r, err = c.opt.Reports.Report(ctx, m.Job, m.Run, m.Generation)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the report of run %d of job %s: %w", m.Run, m.Job, err)
	}
	return r, nil
}
