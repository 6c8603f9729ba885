// Package memledger is the ledger of a job that runs in one process, and it is lost
// with the process. A job whose progress must outlive its process has a ledger on
// disk or in a service. Shared is the same ledger for the work of several
// processes: with it a whole stack runs in one test.
//
// Every method is one step under one lock, so nobody ever sees half of one. A unit
// that is done takes a few dozen bytes, since a job may have ten million of them;
// what only a report of failure needs (first key, faults, cause) is kept for the
// other units alone. Bodies are kept for the page under way alone, except by
// Shared. A verdict of completed that the items do not bear out is refused, whoever
// asks for it (INV-1).
package memledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var (
	_ ledger.Store  = (*Ledger)(nil)
	_ ledger.Shared = (*Shared)(nil)
)

// Ledger holds jobs in memory.
type Ledger struct {
	now func() time.Time

	mu   sync.Mutex
	jobs map[string]*job // guarded by mu, as is all that it leads to

	resends bool // what is sent again is kept: bodies and todos
}

// New returns an empty ledger of jobs that end with their feed.
func New() *Ledger { return &Ledger{now: time.Now, jobs: map[string]*job{}} }

// Shared is a Ledger that also keeps what was sent, whole, and what is due
// again, and that continuous jobs run on. It keeps the body of every unit, and
// keeps the done units and claims of continuous jobs forever.
type Shared struct{ *Ledger }

// NewShared returns an empty ledger of jobs that outlive their feed.
func NewShared() *Shared {
	l := New()
	l.resends = true
	return &Shared{l}
}

type job struct {
	meta   ledger.Meta
	token  string
	past   map[string]ledger.Meta // how earlier runs ended, by their token
	holder string                 // of the lister's lease
	page   *entered               // published and not advanced; nil: none
	count  ledger.Progress        // of this run; Planned and Listed are the meta's
	items  map[key]*item          // not done, of any run
	done   doneSet

	// Of a Shared ledger alone.
	bodies  map[unit.ID][]byte
	todos   map[unit.ID]todo
	watch   ledger.Watch
	retired bool
	// Of those, what continuous jobs need.
	claims map[unit.ObjectID]ledger.Held
	kept   map[key]*item // done units that were entered, whole
	keys   map[string]ledger.KeyTodo
	puts   int // todos put into keys so far
}

// create makes a job without a run. The caller holds the lock.
func (l *Ledger) create(name string) *job {
	j := &job{
		items: map[key]*item{}, past: map[string]ledger.Meta{}, bodies: map[unit.ID][]byte{}, todos: map[unit.ID]todo{},
		claims: map[unit.ObjectID]ledger.Held{}, kept: map[key]*item{}, keys: map[string]ledger.KeyTodo{},
	}
	j.meta.Job = name
	l.jobs[name] = j
	return j
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

// moved is the error for a job that is not where an operation needs it.
func (j *job) moved(verb string, why string) error {
	return fmt.Errorf("%s job %s: run %d is %s, %s: %w", verb, j.meta.Job, j.meta.Run, j.meta.State, why, ledger.ErrState)
}

// view is the job's meta for a caller to keep.
func (j *job) view() ledger.Meta {
	m := j.meta
	m.Pipelines = slices.Clone(m.Pipelines)
	if m.State != ledger.Listing {
		m.Leased = time.Time{}
	}
	if m.Halt != nil {
		h := *m.Halt
		m.Halt = &h
	}
	return m
}

// progress is what the counters of the job's run say.
func (j *job) progress() ledger.Progress {
	p := j.count
	p.Planned, p.Listed = j.meta.Planned, j.meta.Listed
	return p
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

// Joined implements [ledger.Worker].
func (l *Ledger) Joined(ctx context.Context, name, pipeline string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "join", name)
	if err != nil {
		return err
	}
	if i, ok := slices.BinarySearch(j.meta.Pipelines, pipeline); !ok {
		j.meta.Pipelines = slices.Insert(j.meta.Pipelines, i, pipeline)
	}
	return nil
}
