package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/unit"
)

// ErrNoClaim says that no unit of the job has the object.
var ErrNoClaim = errors.New("no such claim")

// Bounds of an Entry that is written at once: a transaction of a table holds so
// many items.
const (
	MaxEntry = 100
	// MaxClaims is the most claims of an Entry; one unit fits beside them.
	MaxClaims = MaxEntry - 1
)

// Intaker is what an intake writes: it enters the units of a continuous job,
// which has no plan. A unit is entered together with claims on the object
// versions that it reads, so that each goes into one unit however often it is
// announced.
type Intaker interface {
	// Meta is that of Worker.
	Meta(ctx context.Context, job string) (Meta, error)
	// Open begins a continuous job, running and without an end marker, or gives it
	// as it stands while it runs: then s counts for nothing. Where an earlier run
	// ended, a token that is not that run's begins the next one; without a token
	// it is ErrState, naming the state; that run's token gives it as it ended.
	// ErrActive where a listed run is listing or running.
	Open(ctx context.Context, job string, s Start) (Meta, error)
	// Enter enters e's units as open and its claims. Where others hold any of the
	// claims nothing is entered, and these come back, each with its Index. An
	// Entry of at most MaxEntry units and claims is entered at once; of a longer
	// one the units come first and the claims, at most MaxClaims, last, at once:
	// units of it may stay entered where its caller dies in between, or where
	// others take a claim that was free when it began. A unit that is entered
	// already, in whatever run, stays as it is.
	//
	// A claim is held by others unless there is none; or the same unit holds it,
	// as where Enter is repeated: then it stays as it is, with its time and its
	// mark; or it is marked overwritten and its Take is one less than that of the
	// one to be entered. ErrState, as far as the driver knows, unless the run is a
	// continuous one that is running; that it is halted is no matter.
	Enter(ctx context.Context, e Entry) ([]Held, error)
	// Claimed is the claim on an object. ErrNoClaim.
	Claimed(ctx context.Context, job string, id unit.ObjectID) (Held, error)
	// Look is the unit's item, of whatever run, with its body while it is open.
	// Of a done unit a ledger need not keep more than run, counts and times.
	// ErrNoUnit.
	Look(ctx context.Context, r Ref) (Item, error)
}

// Entry is what is entered of a continuous job: a unit and the objects in it, or
// the ranges of one object and that.
type Entry struct {
	Job    string
	Run    int
	Units  []Planned
	Claims []Claim
}

// Claim says which unit an object version went into; of a version that was cut,
// the first of its ranges.
type Claim struct {
	ID   unit.ObjectID
	Unit unit.ID
	// Take is 0 for the first claim of a version. What was overwritten before it
	// was read, and is current again, is claimed once more.
	Take int
}

// Held is a claim as it stands.
type Held struct {
	Claim
	Index       int  // in Entry.Claims
	Overwritten bool // it may be taken again
	Since       time.Time
}

// KeyTodo is a key that is to be looked at again: what was announced of it is
// overwritten.
type KeyTodo struct {
	Object unit.Object // as it is now, Again counted up
	Number int         // new each time that the todo is put
}

// Announced is what a reader writes of units that come from events, besides what
// a Worker does.
type Announced interface {
	// Overwritten is Fault for f, whose Overwritten is true, and in the same
	// write marks the claim on o so, if it is of o's Take: from then on the version
	// may be claimed again. Of an object that was cut any range does that, not only
	// the one that the claim names, which may have been read before. A fault of the
	// member that is there becomes overwritten too, for f's reason; the lower
	// Record stays, with its Framed. ErrFenced.
	Overwritten(ctx context.Context, r Ref, serial int, f Fault, o unit.Object) error
	// Again puts a todo for the object's key in the place of any that is there.
	Again(ctx context.Context, job string, o unit.Object) error
	// Adopt gives the run the read digest of this reader where it has none: a
	// fingerprint halt was resumed. It returns the one that the run has. ErrState
	// where it is not the job's run.
	Adopt(ctx context.Context, job string, run int, read string) (string, error)
}

// Backlog is what of a continuous run is not done.
type Backlog struct {
	Open, Dead int
	// Oldest is when the open unit that was entered first was entered; zero: none
	// is open.
	Oldest time.Time
}

// Minder is what the schedule needs for continuous jobs, besides what a
// Dispatcher does. What it says of open units may be some seconds old.
type Minder interface {
	// Backlog counts.
	Backlog(ctx context.Context, job string, run int) (Backlog, error)
	// Stale calls yield for every open unit of the run that was entered before
	// then and that nothing has begun, touched, paused or repeated since. yield
	// may use the ledger.
	Stale(ctx context.Context, job string, run int, then time.Time, yield func(Item) error) error
	// Repeat counts one more re-send of an open unit, which is touched by it.
	// ErrFenced unless it is open in r's run and was repeated repeats times so far.
	Repeat(ctx context.Context, r Ref, repeats int) error
	// Keys calls yield for every key that is to be looked at again. yield may use
	// the ledger.
	Keys(ctx context.Context, job string, yield func(KeyTodo) error) error
	// KeySent removes the todo, unless it was put again since.
	KeySent(ctx context.Context, job string, t KeyTodo) error
}

// Continuous is what continuous jobs need of a ledger that is Shared.
type Continuous interface {
	Intaker
	Announced
	Minder
}
