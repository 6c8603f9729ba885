// Package ledger is the contract of the truth about jobs and units.
//
// A unit is in the ledger as open before it is in the feed (INV-7), and a job
// ends by what the ledger proves, never by what a queue counts. Within a run
// done beats dead beats open, and done is never undone.
//
// Each start of work on a unit raises its serial. What a reader then writes of
// an unfinished unit is conditional on that serial (ErrFenced), so a reader
// that froze and wakes cannot undo what a later one found. Only Done needs no
// fence: it says that every block was acked, which stays true. A lister's writes
// are conditional on its lease in the same way.
//
// The contract is one interface for each who writes: lister (Planner), reader
// (Worker), proof (Prover), command line (Operator), schedule (Dispatcher). A
// driver implements Store; one that several processes share implements Shared.
//
// A continuous job has no listing and no end: its units are entered as events
// announce objects (Intaker), each version of an object in one of them. Its run
// has one generation of counters like any other, its items are kept for
// DoneTime after they are done, and its open ones can be found without a plan
// (Minder). What is said of runs in the interfaces here holds for it, but for
// the end marker, which it never gets.
package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// Errors that callers act on.
var (
	// ErrNoJob: the ledger does not know the job.
	ErrNoJob = errors.New("no such job")
	// ErrNoUnit: the job's ledger does not know the unit.
	ErrNoUnit = errors.New("no such unit")
	// ErrActive: the job is listing or running, so it cannot be started.
	ErrActive = errors.New("job is active")
	// ErrFenced: the item moved on since the caller read it.
	ErrFenced = errors.New("another start of work took over")
	// ErrLeased: another lister holds the job's lease.
	ErrLeased = errors.New("another lister holds the lease")
	// ErrState: the job is not in a state, run or generation that allows this.
	ErrState = errors.New("job moved on")
)

// LeaseTime is how long a lister's lease stands after it was last renewed.
const LeaseTime = time.Minute

// DoneTime is how long the items of units that are done, and claims, are kept in a
// continuous job: what is announced again within is known.
const DoneTime = 30 * 24 * time.Hour

// Planner is what a lister writes. Every method may be repeated with the same
// arguments, whether or not the earlier call was applied.
//
// A listing is a chain of pages: enter one (Publish), send what is due of it,
// say so (Advance), and at the end set the end marker (Finish).
type Planner interface {
	// Start begins a job or, where an earlier run ended, its next run: state
	// listing, no lease, no end marker. The same token gives the run that this
	// token started. ErrActive, naming the run, while one is listing or running.
	Start(ctx context.Context, job string, s Start) (Meta, error)
	// Lease makes l.Holder the run's lister for LeaseTime from now, again if it
	// is already. ErrLeased while another's lease stands, ErrState when the run
	// is not listing.
	Lease(ctx context.Context, l Lease) (Meta, error)
	// Publish enters the units of the page after the one that the run has
	// reached (p.After is Meta.Page) as open, and returns the page as the ledger
	// has it and what of it is to be sent: all but the units that are done. Where
	// a lister before this one had entered a page after the same key, it is that
	// one, whatever p holds: the caller goes on after its Last.
	//
	// Items of earlier runs get this run's number; a dead or open one becomes
	// open with attempts 0, its cursor, faults and counts kept.
	//
	// ErrLeased when l.Holder does not hold the lease, ErrState when p does not
	// follow what the run has reached, or when the run is not listing.
	Publish(ctx context.Context, l Lease, p Page) (Page, []unit.ID, error)
	// Advance says that what was due of p, as Publish gave it, was sent: the run
	// has reached p.Last, and p's units and inventory count. It renews the lease.
	// Errors as those of Publish; that the run has reached p.Last is none.
	Advance(ctx context.Context, l Lease, p Page) error
	// Finish sets the end marker: the plan is frozen, the job running and
	// without a lease. Errors as those of Publish, and ErrState while a page is
	// entered that the run has not reached; that l's run is finished already is
	// none.
	Finish(ctx context.Context, l Lease) error
}

// Worker is what a reader does to a unit. Its methods give ErrNoUnit for a unit
// that no page held. A fenced write that is repeated with the same arguments
// counts once and is no error; it gives ErrFenced when the unit is done or dead
// otherwise, when another start of work took over, and when the item is of
// another run than r.
//
// Counts, wherever they are written, are what the unit amounts to so far by all
// starts of work together, as far as the item goes on from it: those of the item
// that Begin gave and what the caller added. They replace what the item has.
type Worker interface {
	// Meta is read strongly consistently. ErrNoJob.
	Meta(ctx context.Context, job string) (Meta, error)
	// Joined adds the digest of a chain and its sinks to those that worked on
	// the job (Meta.Pipelines).
	Joined(ctx context.Context, job, pipeline string) error
	// Begin starts work: it raises the serial and the attempts of an open item
	// and marks the attempt as last when receives or attempts reach limit. An
	// item that is done, dead or of another run than r comes back untouched.
	// ErrState, as far as the driver knows, where it is open and the job has gone
	// on to a later run: no serial is given out that another start may hold.
	Begin(ctx context.Context, r Ref, receives, limit int) (Item, error)
	// Touch shows that the unit is being worked on: it raises the beat of the
	// run's counters (Progress), and in a continuous job Item.Touched.
	Touch(ctx context.Context, r Ref) error
	// Fault records a faulty member; of two for one member the one with the
	// lower Record stays. ErrFenced.
	Fault(ctx context.Context, r Ref, serial int, f Fault) error
	// RestDone records that the rest was acked and drops the cursor. ErrFenced.
	RestDone(ctx context.Context, r Ref, serial int, c Counts) error
	// Recovered takes a member off the faults after its own series was acked,
	// and drops a cursor that is in that series. ErrFenced.
	Recovered(ctx context.Context, r Ref, serial, member int, c Counts) error
	// Pause records that every block before cur was acked and that the unit is
	// due again: attempts 0, no mark, and in a Shared ledger, in the same write,
	// a todo. ErrFenced.
	Pause(ctx context.Context, r Ref, serial int, cur Cursor, c Counts) error
	// Done marks the unit done, from any state; a unit that is done already
	// keeps its counts. It is not fenced.
	Done(ctx context.Context, r Ref, c Counts) (Tally, error)
	// Dead marks an open unit dead. ErrFenced, also when it is done.
	Dead(ctx context.Context, r Ref, serial int, c Cause) (Tally, error)
	// GiveBack takes back the attempt and the mark of Begin. ErrFenced.
	GiveBack(ctx context.Context, r Ref, serial int) error
	// Halt sets the job's halt flag and reports whether this call set it. It
	// replaces a halt for sink_down by any other. A job that ended is not halted.
	Halt(ctx context.Context, job string, h Halt) (bool, error)
}

// Prover is what a finalizer needs.
type Prover interface {
	Meta(ctx context.Context, job string) (Meta, error)
	// Progress is what the run's counters say: for display and as a trigger
	// only, since a crash may leave them behind the items.
	Progress(ctx context.Context, job string, run int) (Progress, error)
	// Prove counts the items of a run, strongly consistently.
	Prove(ctx context.Context, job string, run int) (Census, error)
	// Unfinished calls yield for every item of the run that is not done, in an
	// order that is always the same. yield may use the ledger.
	Unfinished(ctx context.Context, job string, run int, yield func(Item) error) error
	// Conclude ends the job if it still is of that run and generation and not
	// ended otherwise; ErrState if not. Concluding alike again is no error.
	Conclude(ctx context.Context, job string, run, generation int, s State) error
}

// Operator is what commands do to a job, and a probe that fared well.
type Operator interface {
	// Resume clears the halt flag if it stands for r, and reports whether this
	// call cleared it. In the same write it asks for a send of every open unit
	// (Meta.Ask), and takes the read digest off a continuous job that was halted
	// for its fingerprint: the next reader gives it its own (Adopt). So the success
	// of a probe for sink_down clears no halt that took its place meanwhile.
	Resume(ctx context.Context, job string, r failure.Reason) (bool, error)
	// Redrive opens the run's dead units, attempts 0 and the serial raised, so
	// that nobody who worked on one before may write, and says how many. Then,
	// in one write, a failed job runs again, the generation rises, re-sends are
	// counted afresh and a send of every open unit is asked for. It may be
	// repeated. ErrState unless the run is running or failed.
	Redrive(ctx context.Context, job string, run int) (int, error)
}

// Resumer is the memory of what was sent, for a run that outlives its feed. A
// ledger that is lost with its process has no use for it.
type Resumer interface {
	// Pending calls yield for every open unit of the run, with the body that it
	// was published or entered with, in an order of its own. yield may use the ledger and
	// may take its time: what ends in the meantime may be yielded all the same.
	Pending(ctx context.Context, job string, run int, yield func(Planned) error) error
}

// Store is what every driver implements.
type Store interface {
	Planner
	Worker
	Prover
	Operator
}

// Dispatcher is what the schedule needs, which sends what is due again and ends
// jobs whose readers are gone.
type Dispatcher interface {
	Prover
	Resumer
	// Live names the jobs that are not retired.
	Live(ctx context.Context) ([]string, error)
	// Body is the descriptor that the unit was published with.
	Body(ctx context.Context, r Ref) ([]byte, error)
	// Dead is that of Worker; a unit of a continuous job that was never begun has
	// serial 0.
	Dead(ctx context.Context, r Ref, serial int, c Cause) (Tally, error)
	// Due calls yield for every todo of the run. yield may use the ledger.
	Due(ctx context.Context, job string, run int, yield func(Todo) error) error
	// Sent removes a todo, unless it was put again since.
	Sent(ctx context.Context, job string, t Todo) error
	// Swept says that every unit was sent that was open when Meta.Ask was ask.
	Swept(ctx context.Context, job string, run, ask int) error
	// Resend counts one more re-send of all that is open, and asks for it, in
	// one write. ErrState unless the run is running in that generation and
	// resends have been counted so far.
	Resend(ctx context.Context, job string, run, generation, resends int) error
	// Watch is what Watched was last given for the job; the zero value at first.
	Watch(ctx context.Context, job string) (Watch, error)
	Watched(ctx context.Context, job string, w Watch) error
	// Retire takes an ended job off the live ones. ErrState unless it is ended in
	// that run and generation: what was reported is not how it stands.
	Retire(ctx context.Context, job string, run, generation int) error
}

// Shared is a ledger that several processes work on at a time.
type Shared interface {
	Store
	Dispatcher
	Continuous
}
