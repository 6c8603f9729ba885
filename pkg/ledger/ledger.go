// Package ledger is the contract of the truth about jobs and units.
//
// A unit is in the ledger as open before it is in the feed (INV-7), and a job
// ends by what the ledger proves, never by what a queue counts. Within a run
// done beats dead beats open, and done is never undone.
//
// Each start of work on a unit raises its serial. What a reader then writes of
// an unfinished unit is conditional on that serial (ErrFenced), so a reader
// that froze and wakes cannot undo what a later one found. Only Done needs no
// fence: it says that every block was acked, which stays true.
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
	// ErrState: the job is not in a state, run or generation that allows this.
	ErrState = errors.New("job moved on")
)

// State of a job.
type State string

// The states of a job. A halt is a flag beside them.
const (
	Listing   State = "listing"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Ended reports whether no unit of the job is read any more.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Digests are a job's fingerprint: readers and listers with another
// configuration refuse to work on it.
type Digests struct {
	Plan string // url, filters, target, packing version
	Read string // codec, framing, record limit
}

// Halt is why a job stands still.
type Halt struct {
	Reason failure.Reason
	Detail string // names the action and the resource
	At     time.Time
}

// Inventory counts what a listing found.
type Inventory struct {
	Objects   int64 // published in units
	Bytes     int64 // of those
	Empty     int64
	Directory int64
	Archived  int64 // skipped by policy
	Excluded  int64
	// ArchivedBytes are the bytes of the skipped ones.
	ArchivedBytes int64
}

// Add adds o.
func (l *Inventory) Add(o Inventory) {
	l.Objects += o.Objects
	l.Bytes += o.Bytes
	l.Empty += o.Empty
	l.Directory += o.Directory
	l.Archived += o.Archived
	l.Excluded += o.Excluded
	l.ArchivedBytes += o.ArchivedBytes
}

// Meta is what is known of a job.
type Meta struct {
	Job     string
	Run     int // 1 for the first start
	State   State
	Halt    *Halt // nil: not halted
	Digests Digests
	// Generation rises whenever a unit leaves dead, so that a verdict that was
	// proved before cannot pass after.
	Generation int
	// Page is the key that the listing has reached.
	Page      string
	Inventory Inventory
	// Planned is the number of units of the run. The end marker stands when
	// Listed is true; before, Planned is what has been published so far.
	Planned int
	Listed  bool
	Started time.Time
	Ended   time.Time
}

// Ref names a unit of a run.
type Ref struct {
	Job string
	Run int
	ID  unit.ID
}

// UnitState is the state of a unit's item.
type UnitState string

// The states of a unit.
const (
	Open UnitState = "open"
	Done UnitState = "done"
	Dead UnitState = "dead"
)

// Planned is a unit as the lister enters it.
type Planned struct {
	ID       unit.ID
	FirstKey string
	Objects  int
	// Body is the encoded descriptor. Publish takes it and Resumer gives it; an
	// Item has none. A ledger that ends with its process need not keep it.
	Body []byte
}

// Values of units that the ledger keeps.
type (
	Fault  = unit.Fault
	Counts = unit.Counts
)

// SinkCounts are what one sink acked.
type SinkCounts = unit.SinkCounts

// Cause is why a unit is dead.
type Cause struct {
	Reason failure.Reason
	Detail string
	// Objects are the bad ones only; all of the unit's where the rest of it was
	// not delivered.
	Objects []unit.Object
	// Faults say of each of Objects, in that order, what is bad about it. Empty
	// where the rest was not delivered: then what Reason and Detail say kept all
	// of them.
	Faults []Fault
	// Record is the index of the first record not delivered of the first of
	// them; -1 where no record is to blame.
	Record int64
}

// Item is a unit in the ledger.
type Item struct {
	Planned
	Run      int
	State    UnitState
	Serial   int  // starts of work so far
	Attempts int  // starts that counted
	Last     bool // the running attempt is the last one
	Faults   []Fault
	// RestDone: everything but the faulty members, from their faulty record on,
	// was acked by every sink, and Counts are of that.
	RestDone bool
	Counts   Counts
	Cause    *Cause // of a dead unit
}

// Tally says how far a run is; for display and as a trigger only, never proof.
type Tally struct {
	Done, Dead, Planned int
	Listed              bool // Planned is final
}

// Settled reports whether every planned unit seems to be done or dead.
func (t Tally) Settled() bool { return t.Listed && t.Done+t.Dead >= t.Planned }

// Planner is what a lister writes. Every method may be repeated with the same
// arguments, whether or not the earlier call was applied.
type Planner interface {
	// Start begins a job or, where an earlier run ended, its next run: state
	// listing, no end marker. The same token gives the run that this token
	// started. ErrActive, naming the run, while one is listing or running.
	Start(ctx context.Context, job, token string, d Digests) (Meta, error)
	// Publish enters the units of one listing page as open and returns those to
	// send: all but the ones that are done. Items of earlier runs get this run's
	// number; a dead or open one becomes open with attempts 0, its faults kept.
	// Repeating a page counts its units and objects once.
	Publish(ctx context.Context, job string, run int, page Page) ([]unit.ID, error)
	// Finish sets the end marker: the plan is frozen, the job running. ErrState
	// when the job or run is another.
	Finish(ctx context.Context, job string, run int) error
}

// Page is one page of a listing as a Planner takes it. After identifies it: the
// key that the page was listed after.
type Page struct {
	After, Last string
	Units       []Planned
	Inventory   Inventory
}

// Worker is what a reader does to a unit. Its methods give ErrNoUnit for a unit
// that no page held. A fenced write that is repeated with the same arguments
// counts once and is no error; it gives ErrFenced when the unit is done or dead
// otherwise, when another start of work took over, and when the item is of
// another run than r.
type Worker interface {
	// Meta is read strongly consistently. ErrNoJob.
	Meta(ctx context.Context, job string) (Meta, error)
	// Begin starts work: it raises the serial and the attempts of an open item
	// and marks the attempt as last when receives or attempts reach limit. An
	// item that is done, dead, of another run than r or of an earlier run than
	// the job's comes back untouched.
	Begin(ctx context.Context, r Ref, receives, limit int) (Item, error)
	// Fault records a faulty member; of two for one member the one with the
	// lower Record stays. ErrFenced.
	Fault(ctx context.Context, r Ref, serial int, f Fault) error
	// RestDone records that the rest was acked and adds c. ErrFenced.
	RestDone(ctx context.Context, r Ref, serial int, c Counts) error
	// Recovered takes a member off the faults after its own series was acked,
	// and adds what it amounted to. ErrFenced.
	Recovered(ctx context.Context, r Ref, serial, member int, c Counts) error
	// Done marks the unit done, from any state, and adds c if it was not done
	// before. It is not fenced.
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
	// Prove counts the items of a run, strongly consistently.
	Prove(ctx context.Context, job string, run int) (Census, error)
	// Unfinished calls yield for every item of the run that is not done, in
	// order of id.
	Unfinished(ctx context.Context, job string, run int, yield func(Item) error) error
	// Conclude ends the job if it still is of that run and generation and not
	// ended otherwise; ErrState if not. Concluding alike again is no error.
	Conclude(ctx context.Context, job string, run, generation int, s State) error
}

// Operator is what ends a halt: the resume command, or a probe that fared well.
type Operator interface {
	// Resume clears the halt flag if it stands for r, and reports whether this
	// call cleared it. So the success of a probe for sink_down clears no halt
	// that took its place meanwhile.
	Resume(ctx context.Context, job string, r failure.Reason) (bool, error)
}

// Resumer is the memory of what was sent, for a run that outlives its feed. A
// ledger that is lost with its process has no use for it.
type Resumer interface {
	// Pending calls yield for every open unit of the run, with the body that it
	// was published with, in order of id. yield may use the ledger and may take
	// its time: what ends in the meantime may be yielded all the same.
	Pending(ctx context.Context, job string, run int, yield func(Planned) error) error
}

// Census is a proof's result.
type Census struct {
	Done, Dead, Open int
	Counts           Counts // of the done ones
}

// Complete reports whether every unit of m's plan is done.
func (c Census) Complete(m Meta) bool {
	return m.Listed && c.Done == m.Planned && c.Dead == 0 && c.Open == 0
}

// Store is the whole contract, as drivers implement it.
type Store interface {
	Planner
	Worker
	Prover
	Operator
}
