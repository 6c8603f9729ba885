package ledger

import (
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

// Page is one page of a listing as a Planner takes it. After identifies it: the
// key that the page was listed after. Together its bodies have at most
// MaxPageBytes, and its units are at most MaxPageUnits.
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
	// Body is the encoded descriptor. Publish takes it and gives it, so does
	// Pending; an Item has none.
	Body []byte
}

// Values of units that the ledger keeps.
type (
	Fault  = unit.Fault
	Counts = unit.Counts
	Cursor = unit.Cursor
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
	Attempts int  // starts that counted since the last progress
	Last     bool // the running attempt is the last one
	Faults   []Fault
	// RestDone: everything but the faulty members, from their faulty record on,
	// was acked by every sink.
	RestDone bool
	// Cursor is where work goes on; nil: at the beginning of what is left.
	Cursor *Cursor
	// Counts are of all that RestDone, the faults taken off and Cursor say was
	// acked.
	Counts Counts
	Cause  *Cause // of a dead unit

	// Of a continuous job:
	Entered time.Time // when the unit was
	Touched time.Time // when it was last begun, touched, paused or repeated; zero: never
	Ended   time.Time // when it was last done or dead; zero: it is open
	// Repeats is how often it was sent again because nothing worked on it, since
	// its attempts were last forgiven: a pause or a redrive sets it to 0.
	Repeats int
}

// Todo is a unit that is due again.
type Todo struct {
	ID     unit.ID
	Number int // new each time that the todo is put
}
