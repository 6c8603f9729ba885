// Package ledger is the contract for the store that holds the truth about jobs
// and units.
//
// A unit is in the ledger as open before it is in the feed (INV-7), and a job
// ends on what the ledger proves, never on what a queue counts. Within a run
// done beats dead beats open, and done is never undone.
//
// Each start of work on a unit raises its serial. Whatever a reader then writes
// about an unfinished unit is conditional on that serial (ErrFenced), so a reader
// that froze and woke up cannot undo what a later one found. Only Done needs no
// fence: it says that every block was acked, which stays true. A lister's writes
// are conditional on its lease in the same way.
//
// There is one interface per writer: lister (Planner), reader (Worker), proof
// (Prover), command line (Operator), schedule (Dispatcher). A driver implements
// Store; one that several processes share implements Shared.
//
// An error that a method's comment names, as in "ErrNoJob.", is returned, wrapped,
// in the case that the error itself describes. Any other error is a fault, which
// the driver marks with its scope if it knows it (package failure). Final tells the
// two apart.
//
// A continuous job has no listing and no end. Its units are entered as events
// announce objects (Intaker), each version of an object in exactly one unit. Its
// run has one generation of counters like any other, its items are kept for
// DoneTime after they are done, and its open ones can be found without a plan
// (Minder). What the interfaces here say of runs holds for it too, except for the
// end marker, which it never gets.
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

// LeaseTime is how long a lister's lease lasts after it was last renewed.
const LeaseTime = time.Minute

// DoneTime is how long a continuous job keeps claims and the items of done
// units: an announcement that is repeated within that time is recognised.
const DoneTime = 30 * 24 * time.Hour

// Planner is what a lister writes to. Every method may be repeated with the
// same arguments, whether or not the earlier call was applied.
//
// A listing is a chain of pages: enter one (Publish), send what is due of it,
// say so (Advance), and at the end set the end marker (Finish).
type Planner interface {
	// Start begins a job or, once its last run has ended, its next run:
	// listing, without a lease or an end marker. The same token returns the run
	// that it started. ErrActive, naming the run, while one is listing or
	// running.
	Start(ctx context.Context, job string, s Start) (Meta, error)
	// Lease makes l.Holder the run's lister for LeaseTime from now, and renews
	// its lease if it is that already. ErrLeased while another lister's lease
	// stands, ErrState if the run is not listing.
	Lease(ctx context.Context, l Lease) (Meta, error)
	// Publish enters the units of p as open. p is the page after the one that
	// the run has reached: p.After is Meta.Page. It returns the page as the
	// ledger has it, and those of its units that are to be sent: all that are
	// not done. If an earlier lister entered a page after the same key, that
	// page is returned, whatever p holds: the caller goes on after its Last.
	//
	// Items of earlier runs get this run's number; a dead or open one becomes
	// open with attempts 0, and keeps its cursor, faults and counts.
	//
	// ErrLeased if l.Holder does not hold the lease. ErrState if p does not
	// follow what the run has reached, or if the run is not listing.
	Publish(ctx context.Context, l Lease, p Page) (Page, []unit.ID, error)
	// Advance says that what was due of p, as Publish returned it, was sent:
	// the run has reached p.Last, and p's units and inventory count. It renews
	// the lease. Errors are those of Publish, but it is no error if the run has
	// reached p.Last already.
	Advance(ctx context.Context, l Lease, p Page) error
	// Finish sets the end marker: the plan is frozen, and the job is running
	// and has no lease. Errors are those of Publish, and ErrState while a page
	// is entered that the run has not reached; but it is no error if l's run is
	// finished already.
	Finish(ctx context.Context, l Lease) error
}

// Worker is what a reader does to a unit. Its methods return ErrNoUnit for a
// unit that was never entered. A fenced write that is repeated with the same
// arguments counts once and is no error. It returns ErrFenced if anything else
// made the unit done or dead, if another start of work took over, and if the
// item is of another run than r.
//
// Counts, wherever they are written, are the unit's total over all starts of
// work, as far as the item continues from it: the counts of the item that Begin
// returned, plus what the caller added. They replace those of the item.
type Worker interface {
	// Meta returns the job, read strongly consistently. ErrNoJob.
	Meta(ctx context.Context, job string) (Meta, error)
	// Joined adds the digest of a chain and its sinks to Meta.Pipelines.
	Joined(ctx context.Context, job, pipeline string) error
	// Begin starts work: it raises the serial and the attempts of an open item,
	// and marks the attempt as the last one if receives or attempts reach
	// limit. An item that is done, dead or of another run than r is returned
	// untouched. ErrState, as far as the driver knows, if the item is open but
	// the job has gone on to a later run: no serial may be given out that
	// another start may hold.
	Begin(ctx context.Context, r Ref, receives, limit int) (Item, error)
	// Touch shows that the unit is being worked on: it raises the beat of the
	// run's counters (Progress), and in a continuous job Item.Touched.
	Touch(ctx context.Context, r Ref) error
	// Fault records a faulty member. Of two faults of one member, the one with
	// the lower Record stays. ErrFenced.
	Fault(ctx context.Context, r Ref, serial int, f Fault) error
	// RestDone records that everything but the faulty members was acked, and
	// drops the cursor. ErrFenced.
	RestDone(ctx context.Context, r Ref, serial int, c Counts) error
	// Recovered removes a member's fault after its own series was acked, and
	// drops a cursor that is in that series. ErrFenced.
	Recovered(ctx context.Context, r Ref, serial, member int, c Counts) error
	// Pause records that every block before cur was acked and that the unit is
	// due again: attempts become 0, the last-attempt mark is removed and, in a
	// Shared ledger, a todo is put in the same write. ErrFenced.
	Pause(ctx context.Context, r Ref, serial int, cur Cursor, c Counts) error
	// Done marks the unit done, from any state; a unit that is done already
	// keeps its counts. It is not fenced.
	Done(ctx context.Context, r Ref, c Counts) (Tally, error)
	// Dead marks an open unit dead. ErrFenced, also when it is done.
	Dead(ctx context.Context, r Ref, serial int, c Cause) (Tally, error)
	// GiveBack takes back the attempt and the mark that Begin made. ErrFenced.
	GiveBack(ctx context.Context, r Ref, serial int) error
	// Halt sets the job's halt flag and reports whether this call set it. A
	// halt for sink_down is replaced by any other. A job that has ended is not
	// halted.
	Halt(ctx context.Context, job string, h Halt) (bool, error)
}

// Prover is what a finalizer needs to end and report a job.
type Prover interface {
	Meta(ctx context.Context, job string) (Meta, error)
	// Progress returns what the run's counters say: for display and as a
	// trigger only, since a crash may leave them behind the items.
	Progress(ctx context.Context, job string, run int) (Progress, error)
	// Prove counts the items of a run, strongly consistently.
	Prove(ctx context.Context, job string, run int) (Census, error)
	// Unfinished calls yield for every item of the run that is not done, always
	// in the same order. yield may use the ledger.
	Unfinished(ctx context.Context, job string, run int, yield func(Item) error) error
	// Conclude ends the job in state s if it is still of that run and
	// generation and has not ended in another state; otherwise ErrState.
	// Concluding it alike again is no error.
	Conclude(ctx context.Context, job string, run, generation int, s State) error
}

// Operator is what commands do to a job, and what a probe that succeeded does.
type Operator interface {
	// Resume clears the halt flag if it stands for r, and reports whether this
	// call cleared it: the success of a probe for sink_down clears no halt that
	// took its place meanwhile. In the same write it asks for a send of every
	// open unit (Meta.Ask), and takes the read digest off a continuous job that
	// was halted for its fingerprint: the next reader gives it its own (Adopt).
	Resume(ctx context.Context, job string, r failure.Reason) (bool, error)
	// Redrive opens the run's dead units, with attempts 0 and with the serial
	// raised, so that nobody who worked on one before may write, and returns
	// how many. Then, in one write, a failed job runs again, the generation
	// rises, the count of re-sends starts anew and a send of every open unit is
	// asked for. Redrive may be repeated. ErrState unless the run is running or
	// failed.
	Redrive(ctx context.Context, job string, run int) (int, error)
}

// Resumer remembers what was sent, for a run that outlives its feed. A ledger
// that is lost with its process has no use for it.
type Resumer interface {
	// Pending calls yield for every open unit of the run, with the body that it
	// was published or entered with, in any order. yield may use the ledger and
	// may take its time; a unit that ends meanwhile may still be yielded.
	Pending(ctx context.Context, job string, run int, yield func(Planned) error) error
}

// Store is what every driver implements.
type Store interface {
	Planner
	Worker
	Prover
	Operator
}

// Dispatcher is what the schedule needs: it sends what is due again, and ends
// jobs whose readers are gone.
type Dispatcher interface {
	Prover
	Resumer
	// Live returns the names of the jobs that are not retired.
	Live(ctx context.Context) ([]string, error)
	// Body returns the descriptor that the unit was published or entered with.
	// ErrNoUnit.
	Body(ctx context.Context, r Ref) ([]byte, error)
	// Dead is that of Worker; a unit of a continuous job that was never begun has
	// serial 0.
	Dead(ctx context.Context, r Ref, serial int, c Cause) (Tally, error)
	// Due calls yield for every todo of the run. yield may use the ledger.
	Due(ctx context.Context, job string, run int, yield func(Todo) error) error
	// Sent removes a todo unless it was put again since.
	Sent(ctx context.Context, job string, t Todo) error
	// Swept says that every unit that was open when Meta.Ask was ask has been
	// sent.
	Swept(ctx context.Context, job string, run, ask int) error
	// Resend counts one more re-send of all that is open, and asks for it, in
	// one write. ErrState unless the run is running in that generation and was
	// re-sent exactly resends times so far.
	Resend(ctx context.Context, job string, run, generation, resends int) error
	// Watch returns what Watched last stored for the job; the zero value at
	// first.
	Watch(ctx context.Context, job string) (Watch, error)
	// Watched stores w for the next Watch.
	Watched(ctx context.Context, job string, w Watch) error
	// Retire removes an ended job from the live ones. ErrState unless it has
	// ended in that run and generation: otherwise what was reported is no
	// longer how it stands.
	Retire(ctx context.Context, job string, run, generation int) error
}

// Shared is a ledger that several processes work on at the same time.
type Shared interface {
	Store
	Dispatcher
	Continuous
}
