package ledger

import (
	"fmt"
	"regexp"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
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

// Ended reports whether no unit of the job is waited for any more.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// names matches what a job may be called: its name is part of keys, paths and
// commands.
var names = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// CheckName says what is wrong with a job's name.
func CheckName(job string) error {
	if !names.MatchString(job) {
		return fmt.Errorf("job %q: a name has 1 to 100 letters, digits, dots, dashes and underscores", job)
	}
	return nil
}

// Digests are a job's fingerprint: readers and listers with another
// configuration refuse to work on it.
type Digests struct {
	Plan string // url, filters, target, packing version
	Read string // codec, framing, record limit
}

// MaxSource bounds Start.Source, in bytes.
const MaxSource = 2 << 10

// Start is what a run is started with.
type Start struct {
	Token   string // the same token is the same start; "": a start of its own
	Digests Digests
	// Source says what is listed, as the lister writes it, for the lister that
	// continues the listing. At most MaxSource.
	Source string
	// Callback is the token of a Step Functions task that waits for the run's
	// end; "": none does.
	Callback string
	// Cutoff, of a continuous job, is the time from which on events count;
	// zero: all do. Older objects are for a listed job to read.
	Cutoff time.Time
}

// Lease is a lister's claim on a run.
type Lease struct {
	Job    string
	Run    int
	Holder string // unique to one lister
}

// Halt is why a job stands still.
type Halt struct {
	Reason failure.Reason
	Detail string // names the action and the resource
	At     time.Time
}

// SinkDown reports whether the job is halted because its sink is down, the only
// halt that ends by itself. h may be nil.
func (h *Halt) SinkDown() bool { return h != nil && h.Reason == failure.SinkDown }

// Inventory counts what a listing found.
type Inventory struct {
	Objects   int64 // published in units
	Bytes     int64 // of those
	Empty     int64
	Directory int64
	Archived  int64 // skipped by policy
	Excluded  int64
	// ArchivedBytes is the size of the archived objects that were skipped.
	ArchivedBytes int64
}

// Add adds o to l.
func (l *Inventory) Add(o Inventory) {
	l.Objects += o.Objects
	l.Bytes += o.Bytes
	l.Empty += o.Empty
	l.Directory += o.Directory
	l.Archived += o.Archived
	l.Excluded += o.Excluded
	l.ArchivedBytes += o.ArchivedBytes
}

// Meta is what a ledger knows of a job and its current run.
type Meta struct {
	Job      string
	Run      int // 1 for the first start
	State    State
	Halt     *Halt // nil: not halted
	Digests  Digests
	Source   string // as in Start
	Callback string // as in Start
	// Continuous: units are entered as events arrive. The run has no listing
	// and no end marker.
	Continuous bool
	Cutoff     time.Time // as in Start
	// Pipelines are the digests of the chains and sinks that worked on the run.
	Pipelines []string
	// Generation rises whenever a unit leaves dead, so that a verdict proved
	// before is refused after.
	Generation int
	// Leased is when the lister's lease ends; zero: nobody holds it.
	Leased time.Time
	// Page is the key that the listing has reached.
	Page      string
	Inventory Inventory
	// Planned is the number of units of the run. Listed says that the end marker
	// stands; until then Planned counts the units of the pages reached so far.
	Planned int
	Listed  bool
	// Ask numbers the requests to send every open unit, Swept is the last one that
	// was carried out: while they differ, a send is due.
	Ask, Swept int
	// Resends counts how often the run's open units were sent again because
	// nothing worked on them.
	Resends int
	Started time.Time
	Ended   time.Time
}

// Tally says how far along a run is, or the part of it that one counter covers:
// for display and as a trigger, never as proof.
type Tally struct {
	Done, Dead, Planned int
	Listed              bool // Planned is final
}

// Settled reports whether every planned unit seems to be done or dead.
func (t Tally) Settled() bool { return t.Listed && t.Done+t.Dead >= t.Planned }

// Progress is what a run's counters say about all of its units.
type Progress struct {
	Tally
	Objects   int64 // of done units
	BytesRead int64 // of done units
	Records   int64 // framed, of done units
	// Beat rises with every Touch, and when a unit pauses, ends or is opened
	// again; a driver may leave out starts of work and the writes in their
	// course. When it stands still for much longer than the interval at which
	// readers touch, nobody works on the run.
	Beat int64
}

// Watch is what the schedule remembers of a job between two looks.
type Watch struct {
	Run, Generation int
	Beat            int64     // of the counters at the last look
	Since           time.Time // when they were first seen at Beat
	Proved          bool      // the proof was tried at Beat
	Probe           unit.ID   // the unit last sent as a probe
	// Of a continuous job: when the counters were last measured, what they said,
	// and what was added per minute since the measurement before.
	At        time.Time
	Flow      Flow
	PerMinute Flow
}

// Flow counts what goes through a continuous job.
type Flow struct{ Units, Objects, Bytes, Records int64 }

// Census is the result of a proof.
type Census struct {
	Done, Dead, Open int
	Counts           Counts // of the done units
	// Unlisted counts the units that an earlier run began or finished and that
	// this run did not list. They and their counts are in none of the others.
	Unlisted int
}

// Complete reports whether every unit of m's plan is done.
func (c Census) Complete(m Meta) bool {
	return m.Listed && c.Done == m.Planned && c.Dead == 0 && c.Open == 0
}
