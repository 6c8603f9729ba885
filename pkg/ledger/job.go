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

// names are what a job on a shared ledger may be called: its name is part of
// keys, paths and commands.
var names = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// CheckName says what is wrong with a job's name on a shared ledger.
func CheckName(job string) error {
	if !names.MatchString(job) {
		return fmt.Errorf("job %q: a name is of 1 to 100 letters, digits, dots, dashes and underscores", job)
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
	Token   string // the same token is the same start; "" repeats nothing
	Digests Digests
	// Source is what is listed, as its lister writes it, for the one that goes
	// on with the listing. At most MaxSource.
	Source string
	// Callback is the token of a Step Functions task that waits for the run's
	// end; "" if none does.
	Callback string
	// Cutoff, of a continuous job, is the time from which on events count; zero:
	// all do. What is older a listed job reads.
	Cutoff time.Time
}

// Lease is a lister's claim on a run.
type Lease struct {
	Job    string
	Run    int
	Holder string // names one lister, and no other one ever
}

// Halt is why a job stands still.
type Halt struct {
	Reason failure.Reason
	Detail string // names the action and the resource
	At     time.Time
}

// SinkDown reports whether it is a halt, and the one that ends by itself.
func (h *Halt) SinkDown() bool { return h != nil && h.Reason == failure.SinkDown }

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
	Job      string
	Run      int // 1 for the first start
	State    State
	Halt     *Halt // nil: not halted
	Digests  Digests
	Source   string // as in Start
	Callback string // as in Start
	// Continuous: units are entered as events come; it has no listing and no end.
	Continuous bool
	Cutoff     time.Time // as in Start
	// Pipelines are the digests of chain and sinks that worked on the run.
	Pipelines []string
	// Generation rises whenever a unit leaves dead, so that a verdict that was
	// proved before cannot pass after.
	Generation int
	// Leased is when the lister's lease ends; zero: nobody holds it.
	Leased time.Time
	// Page is the key that the listing has reached.
	Page      string
	Inventory Inventory
	// Planned is the number of units of the run. The end marker stands when
	// Listed is true; before, Planned counts the pages reached so far.
	Planned int
	Listed  bool
	// Ask numbers the requests to send every open unit, Swept is the last one
	// that was met: while they differ, a send is due.
	Ask, Swept int
	// Resends is how often the run's open units were sent again because nothing
	// worked on them.
	Resends int
	Started time.Time
	Ended   time.Time
}

// Tally says how far a run, or the part of it that one counter is for, is; for
// display and as a trigger only, never proof.
type Tally struct {
	Done, Dead, Planned int
	Listed              bool // Planned is final
}

// Settled reports whether every planned unit seems to be done or dead.
func (t Tally) Settled() bool { return t.Listed && t.Done+t.Dead >= t.Planned }

// Progress is what a run's counters say, of all its units.
type Progress struct {
	Tally
	Objects   int64 // of done units
	BytesRead int64 // of done units
	Records   int64 // framed, of done units
	// Beat rises with every Touch, and when a unit pauses, ends or is opened
	// again; a driver may leave out starts of work and what is written in their
	// course. While it stands still for much longer than readers touch, nobody
	// works on the run.
	Beat int64
}

// Watch is what the schedule remembers of a job from one look to the next.
type Watch struct {
	Run, Generation int
	Beat            int64     // of the counters at the last look
	Since           time.Time // when they were first seen at Beat
	Proved          bool      // at Beat the proof was tried
	Probe           unit.ID   // the unit that went out last as a probe
	// Of a continuous job: what the counters said when they were last looked at,
	// and how much that was a minute since the look before.
	At        time.Time
	Flow      Flow
	PerMinute Flow
}

// Flow is what goes through a continuous job.
type Flow struct{ Units, Objects, Bytes, Records int64 }

// Census is a proof's result.
type Census struct {
	Done, Dead, Open int
	Counts           Counts // of the done ones
}

// Complete reports whether every unit of m's plan is done.
func (c Census) Complete(m Meta) bool {
	return m.Listed && c.Done == m.Planned && c.Dead == 0 && c.Open == 0
}
