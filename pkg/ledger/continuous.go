package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/unit"
)

// ErrNoClaim says that no unit of the job has claimed the object.
var ErrNoClaim = errors.New("no such claim")

// Limits of an Entry that is written atomically: one transaction of a table holds
// this many items.
const (
	MaxEntry = 100
	// MaxClaims leaves room for one unit beside the claims.
	MaxClaims = MaxEntry - 1
)

// Intaker is what an intake writes to. An intake enters the units of a
// continuous job, which has no plan. A unit is entered together with claims on
// the object versions that it reads, so that each version ends up in exactly
// one unit however often it is announced.
type Intaker interface {
	// Meta is Worker.Meta.
	Meta(ctx context.Context, job string) (Meta, error)
	// Open begins a continuous job: running, and without an end marker. While
	// the job runs, Open returns it as it stands and ignores s. Once an earlier
	// run has ended, a new token begins the next run, the token of the ended
	// run returns that run, and no token is ErrState, naming the state.
	// ErrActive if a listed run is listing or running.
	Open(ctx context.Context, job string, s Start) (Meta, error)
	// Enter records e's units as open, and e's claims. If others hold any of
	// the claims, nothing is entered and those are returned, each with its
	// Index. A unit that exists already, in whatever run, is left as it is.
	//
	// An Entry of at most MaxEntry units and claims is written atomically. Of a
	// longer one the units are written first and the claims, at most MaxClaims,
	// last and atomically. Some of its units may stay entered if the caller
	// dies in between, or if others take a claim that was free at the start.
	//
	// A claim can be entered if there is none yet; or if the same unit holds
	// it, as when Enter is repeated: then its time and mark stay as they are;
	// or if it is marked overwritten and its Take is one less than that of the
	// new claim. Otherwise others hold it. ErrState, as far as the driver
	// knows, unless the run is continuous and running; a halt does not matter.
	Enter(ctx context.Context, e Entry) ([]Held, error)
	// Claimed returns the claim on an object. ErrNoClaim.
	Claimed(ctx context.Context, job string, id unit.ObjectID) (Held, error)
	// Look returns the unit's item, whatever its run, with Body set while the
	// unit is open. Of a done unit a ledger need not keep more than run, counts
	// and times. ErrNoUnit.
	Look(ctx context.Context, r Ref) (Item, error)
}

// Entry is what an intake enters with one call: one unit and the objects in it,
// or all ranges of one object and that object.
type Entry struct {
	Job    string
	Run    int
	Units  []Planned
	Claims []Claim
}

// Claim says which unit an object version went into; of a version that was cut
// into ranges, the first one.
type Claim struct {
	ID   unit.ObjectID
	Unit unit.ID
	// Take is 0 for the first claim on a version. A version that was
	// overwritten before it was read, and is current again, is claimed with the
	// next number.
	Take int
}

// Held is a claim that a ledger holds.
type Held struct {
	Claim
	Index       int  // of the claim in Entry.Claims that it stands in the way of
	Overwritten bool // the version may be claimed again
	Since       time.Time
}

// KeyTodo is a key that has to be looked at again, because the version that was
// announced was overwritten.
type KeyTodo struct {
	Object unit.Object // the current version, with Again counted up
	Number int         // differs each time the todo is put
}

// Announced is what a reader writes about units that come from events, in
// addition to Worker.
type Announced interface {
	// Overwritten records f, whose Overwritten is true, as Fault does. In the
	// same write it marks the claim on o overwritten, if it is of o's Take:
	// from then on the version may be claimed again. Any range of a cut object
	// does that, not only the one that the claim names, which may have been
	// read before. If the member has a fault already, that fault becomes
	// overwritten for f's reason and keeps the lower Record, with its Framed.
	// ErrFenced.
	Overwritten(ctx context.Context, r Ref, serial int, f Fault, o unit.Object) error
	// Again puts a todo for the object's key, replacing any that is there.
	Again(ctx context.Context, job string, o unit.Object) error
	// Adopt makes read the run's read digest if it has none, as after a
	// fingerprint halt was resumed, and returns the digest that the run has
	// then. ErrState if run is not the job's current run.
	Adopt(ctx context.Context, job string, run int, read string) (string, error)
}

// Backlog counts what a continuous run has not done.
type Backlog struct {
	Open, Dead int // units
	// Oldest is when the first of the open units was entered; zero: none is open.
	Oldest time.Time
}

// Minder is what the schedule needs for continuous jobs, in addition to
// Dispatcher. What it says of open units may be some seconds old.
type Minder interface {
	// Backlog counts the run's open and dead units.
	Backlog(ctx context.Context, job string, run int) (Backlog, error)
	// Stale calls yield for every open unit of the run that was entered before
	// then and has not been begun, touched, paused or repeated since. yield may
	// use the ledger.
	Stale(ctx context.Context, job string, run int, then time.Time, yield func(Item) error) error
	// Repeat counts one more re-send of an open unit, which also touches it.
	// ErrFenced unless the unit is open in r's run and was re-sent exactly
	// repeats times so far.
	Repeat(ctx context.Context, r Ref, repeats int) error
	// Keys calls yield for every key that has to be looked at again. yield may
	// use the ledger.
	Keys(ctx context.Context, job string, yield func(KeyTodo) error) error
	// KeySent removes the todo unless it was put again since.
	KeySent(ctx context.Context, job string, t KeyTodo) error
}

// Continuous is what a Shared ledger does for continuous jobs.
type Continuous interface {
	Intaker
	Announced
	Minder
}
