// Package memledger is the ledger of a job that runs in one process: it is as
// old as the process and is lost with it. A job whose progress must outlive the
// process has a ledger on disk or in a service.
//
// Every method is one step under one lock, so nobody ever sees half of one. A
// unit that is done is kept in a few dozen bytes, since a job may have ten
// million of them; what only a report of failure needs (first key, faults,
// cause) is kept of the others. A verdict of completed that the items do not
// bear out is refused, whoever asks for it (INV-1).
package memledger

import (
	"context"
	"fmt"
	"sync"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var _ ledger.Store = (*Ledger)(nil)

// Ledger holds jobs in memory.
type Ledger struct {
	mu   sync.Mutex
	jobs map[string]*job // guarded by mu, as is all that it leads to
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{jobs: map[string]*job{}} }

type job struct {
	meta  ledger.Meta
	token string
	past  map[string]ledger.Meta // how earlier runs ended, by their token
	pages map[key]struct{}       // of this run, by the key they follow
	tally ledger.Tally           // of this run
	items map[key]*item          // not done, of any run
	done  doneSet
}

// find returns the job that an operation is about. The caller holds the lock.
func (l *Ledger) find(ctx context.Context, verb, name string) (*job, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s job %s: %w", verb, name, err)
	}
	j, ok := l.jobs[name]
	if !ok {
		return nil, fmt.Errorf("%s job %s: %w", verb, name, ledger.ErrNoJob)
	}
	return j, nil
}

// moved says that the job is not where an operation needs it.
func (j *job) moved(verb string, why string) error {
	return fmt.Errorf("%s job %s: run %d is %s, %s: %w", verb, j.meta.Job, j.meta.Run, j.meta.State, why, ledger.ErrState)
}

// view is the job's meta for a caller to keep.
func (j *job) view() ledger.Meta {
	m := j.meta
	m.Planned, m.Listed = j.tally.Planned, j.tally.Listed
	if m.Halt != nil {
		h := *m.Halt
		m.Halt = &h
	}
	return m
}

// Meta implements [ledger.Worker].
func (l *Ledger) Meta(ctx context.Context, name string) (ledger.Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "look up", name)
	if err != nil {
		return ledger.Meta{}, err
	}
	return j.view(), nil
}

// Halt implements [ledger.Worker].
func (l *Ledger) Halt(ctx context.Context, name string, h ledger.Halt) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "halt", name)
	if err != nil || j.meta.State.Ended() {
		return false, err
	}
	if was := j.meta.Halt; was != nil && (was.Reason != failure.SinkDown || h.Reason == failure.SinkDown) {
		return false, nil
	}
	j.meta.Halt = &h
	return true, nil
}

// Resume implements [ledger.Operator].
func (l *Ledger) Resume(ctx context.Context, name string, r failure.Reason) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "resume", name)
	if err != nil || j.meta.Halt == nil || j.meta.Halt.Reason != r {
		return false, err
	}
	j.meta.Halt = nil
	return true, nil
}
