package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// fresh is how old cached knowledge of the job may be. It decides nothing that
// the ledger does not check again, except by the cutoff, which does not change
// within a run.
const fresh = 5 * time.Second

// job returns the intake's job as it was at most age ago, and opens it if there
// is none. If no units can be entered into it, the error says what to do.
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

// ask reads the job. Once per process, and whenever the job is gone, it opens
// it.
func (in *Intake) ask(ctx context.Context, opened bool) (m ledger.Meta, err error) {
	name := in.opts.Job
	if opened {
		m, err = ledger.Ask(ctx, func() (ledger.Meta, error) { return in.ledger.Meta(ctx, name) })
	}
	if !opened || errors.Is(err, ledger.ErrNoJob) {
		m, err = ledger.Ask(ctx, func() (ledger.Meta, error) { return in.ledger.Open(ctx, name, in.opts.Start) })
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

// usable returns an error that says why no units can be entered into a job, or
// nil.
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
		"job %s lists its source, and takes no events: give the pipeline of the events another name: %w", job, err)
}

// renew reads the job of m anew, because the ledger says that it moved on.
func (in *Intake) renew(ctx context.Context, m ledger.Meta) (ledger.Meta, error) {
	if m.Job == in.opts.Job {
		return in.job(ctx, 0)
	}
	m, err := ledger.Ask(ctx, func() (ledger.Meta, error) { return in.ledger.Meta(ctx, m.Job) })
	if err != nil {
		return m, err
	}
	return m, usable(m)
}
