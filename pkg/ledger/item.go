package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

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

// Page is one page of a listing, as a Planner takes it. It is identified by
// After, the key that it was listed after. It has at most MaxPageUnits units,
// whose bodies have at most MaxPageBytes together.
type Page struct {
	After, Last string
	Units       []Planned
	Inventory   Inventory
}

// Bounds of a page.
const (
	MaxPageUnits = 1100
	MaxPageBytes = 3 << 20
)

// Planned is a unit as the lister enters it.
type Planned struct {
	ID       unit.ID
	FirstKey string
	Objects  int
	// Body is the encoded descriptor. Publish, Enter and Pending carry it; of
	// an Item only Look sets it.
	Body []byte
}

// What the ledger keeps of a unit, as package unit has it.
type (
	Fault  = unit.Fault
	Counts = unit.Counts
	Cursor = unit.Cursor
)

// SinkCounts are what one sink acked.
type SinkCounts = unit.SinkCounts

// Cause says why a unit is dead.
type Cause struct {
	Reason failure.Reason
	Detail string
	// Objects are the bad ones; all of the unit's if the rest of it was not
	// delivered.
	Objects []unit.Object
	// Faults say what is bad about each of Objects, in the same order. Empty if
	// the rest was not delivered: then Reason and Detail hold for all of them.
	Faults []Fault
	// Record is the index of the first undelivered record of the first of
	// Objects; -1 if no record is to blame.
	Record int64
}

// NewCause says why u is given up. bad are its faulty members if everything else of
// it was delivered, and nil if not: then none of its objects is known to be whole
// in the sinks.
func NewCause(r failure.Reason, detail string, u *unit.Unit, bad []Fault) Cause {
	c := Cause{Reason: r, Detail: detail, Objects: u.Objects, Record: -1}
	if len(bad) == 0 {
		return c
	}
	bad = slices.Clone(bad)
	slices.SortFunc(bad, func(f, g Fault) int { return cmp.Compare(f.Member, g.Member) })
	c.Objects, c.Faults, c.Record = nil, bad, bad[0].Record
	for _, f := range bad {
		c.Objects = append(c.Objects, u.Objects[f.Member])
	}
	return c
}

// Item is a unit in the ledger.
type Item struct {
	Planned
	Run      int
	State    UnitState
	Serial   int  // starts of work so far
	Attempts int  // starts that counted since the last progress
	Last     bool // the running attempt is the last one
	Faults   []Fault
	// RestDone: every sink acked everything but the faulty members, from their
	// faulty record on.
	RestDone bool
	// Cursor is where work resumes; nil: at the beginning of what is left.
	Cursor *Cursor
	// Counts cover all that was acked by RestDone, Cursor and the faults that
	// were recovered.
	Counts Counts
	Cause  *Cause // of a dead unit

	// Of a continuous job:
	Entered time.Time // when the unit was entered
	Touched time.Time // when it was last begun, touched, paused or repeated; zero: never
	Ended   time.Time // when it last became done or dead; zero: it is open
	// Repeats counts the re-sends because nothing worked on the unit. A pause or a
	// redrive, which forgive its attempts too, set it to 0.
	Repeats int
}

// Todo is a unit that is due again.
type Todo struct {
	ID     unit.ID
	Number int // differs each time the todo is put
}
