package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// fresh is how old what is known of the job may be. It decides nothing that the
// ledger does not check again, but for the cutoff, which does not change within a
// run.
const fresh = 5 * time.Second

// job returns what is known of the intake's job, at most that old, and opens it
// where there is none. The error names what to do where units cannot be entered.
func (in *Intake) job(ctx context.Context, age time.Duration) (ledger.Meta, error) {
	in.mu.Lock()
	m, read, opened := in.meta, in.read, in.opened
	in.mu.Unlock()
	if !read.IsZero() && time.Since(read) < age {
		return m, usable(m)
	}
	began := time.Now() // what is read is no older than that
	m, err := in.ask(ctx, opened)
	if err != nil {
		return m, err
	}
	in.mu.Lock()
	in.meta, in.read, in.opened = m, began, true
	in.mu.Unlock()
	return m, usable(m)
}

// ask asks the ledger, which is told once in a process that the job should be
// there, and again when it is not any more.
func (in *Intake) ask(ctx context.Context, opened bool) (m ledger.Meta, err error) {
	name := in.opts.Job
	if opened {
		err = ledger.Retry(ctx, func() (err error) {
			m, err = in.ledger.Meta(ctx, name)
			return err
		})
	}
	if !opened || errors.Is(err, ledger.ErrNoJob) {
		err = ledger.Retry(ctx, func() (err error) {
			m, err = in.ledger.Open(ctx, name, in.opts.Start)
			return err
		})
	}
	switch {
	case errors.Is(err, ledger.ErrState):
		return m, fmt.Errorf("%w: %s", err, connect)
	case errors.Is(err, ledger.ErrActive):
		return m, listed(name, err)
	}
	return m, err
}

const connect = "`spate bucket connect` begins its next run, and until then events wait in the intake's queue"

// usable says why no units can be entered into a job.
func usable(m ledger.Meta) error {
	switch {
	case !m.Continuous:
		return listed(m.Job, ledger.ErrActive)
	case m.State.Ended():
		return fmt.Errorf("job %s: run %d is %s: %w: %s", m.Job, m.Run, m.State, ledger.ErrState, connect)
	}
	return nil
}

func listed(job string, err error) error {
	return failure.Errorf(failure.Job, failure.Config,
		"job %s is one that lists, and takes no events: give the pipeline of the events another name: %w", job, err)
}

// renew asks for the job of m anew, because the ledger says that it moved on.
func (in *Intake) renew(ctx context.Context, m ledger.Meta) (ledger.Meta, error) {
	if m.Job == in.opts.Job {
		return in.job(ctx, 0)
	}
	err := ledger.Retry(ctx, func() (err error) {
		m, err = in.ledger.Meta(ctx, m.Job)
		return err
	})
	if err != nil {
		return m, err
	}
	return m, usable(m)
}
