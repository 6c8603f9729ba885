// Package control is what the command line asks of a stack: start a job, see how
// far it is, and change its course.
//
// It moves no byte, lists nothing and waits for nothing but the end of a job that
// is watched. It knows a stack by its ledger, its functions and the place of its
// reports; what these are on AWS is for awscontrol and the ledger's driver.
//
// The law: every call may be repeated. A command whose answer was lost, or that
// was interrupted, is given again and takes effect once.
package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// Ledger is the part of a shared ledger that commands need.
type Ledger interface {
	ledger.Prover
	ledger.Operator
	Live(ctx context.Context) ([]string, error)
	// Of continuous jobs:
	Watch(ctx context.Context, job string) (ledger.Watch, error)
	Backlog(ctx context.Context, job string, run int) (ledger.Backlog, error)
	Claimed(ctx context.Context, job string, id unit.ObjectID) (ledger.Held, error)
	Look(ctx context.Context, r ledger.Ref) (ledger.Item, error)
}

// Invoker calls functions.
type Invoker interface {
	// Call runs a function and returns its answer. An error of the function's
	// own is a *FunctionError; after any other the function may have run.
	Call(ctx context.Context, function string, payload []byte) ([]byte, error)
	// Queue has a function run at least once, and returns before it does.
	Queue(ctx context.Context, function string, payload []byte) error
}

// Reports reads the reports that finalizers wrote.
type Reports interface {
	// Report returns the report of the run in that generation, or ErrNoReport
	// if there is none yet.
	Report(ctx context.Context, job string, run, generation int) (*report.Report, error)
}

// Feed is what carries the units of all jobs of the stack.
type Feed interface {
	// Depth counts its messages, approximately.
	Depth(ctx context.Context) (feed.Depth, error)
}

// Errors that callers act on.
var (
	// ErrNoReport: nobody has written that report.
	ErrNoReport = errors.New("no such report")
	// ErrSuperseded: the job was started again while an earlier run was watched.
	ErrSuperseded = errors.New("a later run was started")
)

// FunctionError is the error that a function ended with.
type FunctionError struct {
	Function, Type, Message string
	// Crashed: it did not return this error but ended without an answer, so it may
	// have done its work.
	Crashed bool
}

func (e *FunctionError) Error() string {
	if e.Crashed {
		return fmt.Sprintf("function %s crashed: %s: its log says more", e.Function, e.Message)
	}
	return e.Message
}

// Options are the parts of a stack besides its ledger. With the zero value jobs
// can be looked at and changed, but not started.
type Options struct {
	Functions Invoker // nil: none is called
	Lister    string  // function that starts and lists; "": none
	Intake    string  // function that takes objects as they are announced; "": none
	IntakeARN string  // of the queue that buckets notify; "": not known
	Rule      string  // EventBridge rule that leads to that queue; "": not known
	Finalizer string  // function that ends jobs; "": left to its schedule
	Reports   Reports // nil: reports are made from the ledger
	// Stat looks up the current version of an object. nil: no object is looked up.
	Stat func(ctx context.Context, bucket, key string) (unit.Object, error)
	Feed Feed // nil: how much waits in it is not known
}

// Control gives commands to one stack. Its methods may be called concurrently.
type Control struct {
	ledger    Ledger
	finalizer *finalizer.Finalizer
	opt       Options
}

// New returns a Control of the stack whose ledger is l.
func New(l Ledger, o Options) *Control {
	return &Control{ledger: l, finalizer: finalizer.New(l), opt: o}
}

// Live returns the names of the jobs that have not ended, sorted.
func (c *Control) Live(ctx context.Context) ([]string, error) {
	names, err := ledger.Ask(ctx, func() ([]string, error) { return c.ledger.Live(ctx) })
	if err != nil {
		return nil, fmt.Errorf("list live jobs: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// meta reads a job. If there is none of that name, the error names those that
// there are.
func (c *Control) meta(ctx context.Context, job string) (ledger.Meta, error) {
	m, err := ledger.Ask(ctx, func() (ledger.Meta, error) { return c.ledger.Meta(ctx, job) })
	switch {
	case errors.Is(err, ledger.ErrNoJob):
		return m, c.unknown(ctx, job)
	case err != nil:
		return m, fmt.Errorf("read job %s: %w", job, err)
	}
	return m, nil
}

// unknown is ErrNoJob with what helps to correct the name.
func (c *Control) unknown(ctx context.Context, job string) error {
	const named = 10
	names, err := c.Live(ctx)
	switch {
	case err != nil || len(names) == 0:
		return fmt.Errorf("%w: %s", ledger.ErrNoJob, job)
	case len(names) > named:
		return fmt.Errorf("%w: %s: live jobs are %s and %d more", ledger.ErrNoJob, job, strings.Join(names[:named], ", "), len(names)-named)
	}
	return fmt.Errorf("%w: %s: live jobs are %s", ledger.ErrNoJob, job, strings.Join(names, ", "))
}
