package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// tries is how often a change is repeated that the job moved ahead of.
const tries = 20

// Redriven is what a redrive did.
type Redriven struct {
	Run   int
	Units int // that were dead and are open now
}

// Redrive opens the dead units of the job's run and asks for a send of every
// open unit, which the schedule makes within a minute. A failed job runs again.
func (c *Control) Redrive(ctx context.Context, job string) (Redriven, error) {
	m, err := c.meta(ctx, job)
	if err != nil {
		return Redriven{}, err
	}
	r := Redriven{Run: m.Run}
	err = ledger.Retry(ctx, func() error {
		n, err := c.ledger.Redrive(ctx, job, m.Run)
		r.Units += n // a call that broke off may have opened some
		return err
	})
	if errors.Is(err, ledger.ErrState) {
		if m, err = c.meta(ctx, job); err != nil {
			return r, err
		}
		return r, fmt.Errorf("redrive job %s: run %d is %s: only a running or a failed one has units to redrive", job, m.Run, m.State)
	}
	if err != nil {
		return r, fmt.Errorf("redrive job %s: %w", job, err)
	}
	return r, nil
}

// Resumed is the halt that a resume cleared.
type Resumed struct {
	Run  int
	Halt ledger.Halt
}

// Resume clears the job's halt and asks for a send of every open unit, which
// the schedule makes within a minute. A halt that replaced the one it read is
// cleared too.
func (c *Control) Resume(ctx context.Context, job string) (Resumed, error) {
	var r Resumed
	for range tries {
		m, err := c.meta(ctx, job)
		if err != nil {
			return r, err
		}
		if m.Halt == nil {
			if r.Run > 0 { // cleared by a call whose answer was lost, or by somebody else
				return r, nil
			}
			return r, fmt.Errorf("resume job %s: run %d is not halted: it is %s", job, m.Run, m.State)
		}
		r = Resumed{Run: m.Run, Halt: *m.Halt}
		cleared, err := ledger.Ask(ctx, func() (bool, error) { return c.ledger.Resume(ctx, job, m.Halt.Reason) })
		if err != nil {
			return r, fmt.Errorf("resume job %s: %w", job, err)
		}
		if cleared {
			return r, nil
		}
	}
	return r, fmt.Errorf("resume job %s: it halts again each time: %s: %s", job, r.Halt.Reason, r.Halt.Detail)
}

// Cancelled is the run that a cancel ended.
type Cancelled struct {
	Run int
	// Later is why the finalizer could not be called to write the report. Its
	// schedule writes it, within a minute.
	Later error
}

// Cancel ends the job's run, and has it reported. Readers finish the units that
// they are reading; nothing more is sent. A run that is cancelled already is
// reported again.
func (c *Control) Cancel(ctx context.Context, job string) (Cancelled, error) {
	m, err := c.meta(ctx, job)
	if err != nil {
		return Cancelled{}, err
	}
	run := m.Run
	if err := c.conclude(ctx, m); err != nil {
		return Cancelled{}, err
	}
	r := Cancelled{Run: run}
	if c.opt.Functions != nil && c.opt.Finalizer != "" {
		r.Later = c.queue(ctx, c.opt.Finalizer, FinalizeRequest{Job: job})
	}
	return r, nil
}

// conclude ends the run of m as cancelled. If units leave dead meanwhile and
// raise the generation, it tries again at the new one.
func (c *Control) conclude(ctx context.Context, m ledger.Meta) error {
	job, run := m.Job, m.Run
	for range tries {
		switch {
		case m.Run != run:
			return fmt.Errorf("cancel job %s: run %d has ended, and run %d is %s: look at that one first", job, run, m.Run, m.State)
		case m.State == ledger.Cancelled:
			return nil
		case m.State.Ended():
			return fmt.Errorf("cancel job %s: run %d has ended: it is %s", job, run, m.State)
		}
		err := ledger.Retry(ctx, func() error {
			return c.ledger.Conclude(ctx, job, run, m.Generation, ledger.Cancelled)
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, ledger.ErrState) {
			return fmt.Errorf("cancel job %s: %w", job, err)
		}
		if m, err = c.meta(ctx, job); err != nil {
			return err
		}
	}
	return fmt.Errorf("cancel job %s: it changes each time it is read: try again", job)
}
