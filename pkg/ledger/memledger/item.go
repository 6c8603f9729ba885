package memledger

import (
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// key stands for a string in 16 bytes that hold no pointer for the garbage
// collector to follow. That two strings have the same key is as unlikely as
// that two units have the same id.
type key [16]byte

func keyOf[S ~string](s S) key {
	sum := sha256.Sum256([]byte(s))
	return key(sum[:16])
}

// item is a unit that is not done.
type item struct {
	ledger.Item
	counted bool // Attempts includes the last start of work, which may be given back
}

// view is the item for a caller to keep.
func (it *item) view() ledger.Item {
	v := it.Item
	v.Faults = slices.Clone(v.Faults)
	v.Counts.Sinks = maps.Clone(v.Counts.Sinks)
	v.Cursor = cloneCursor(v.Cursor)
	if v.Cause != nil {
		c := cloneCause(*v.Cause)
		v.Cause = &c
	}
	return v
}

// held reports whether the reader of that start of work still holds the item.
// No start has serial 0.
func (it *item) held(r ledger.Ref, serial int) bool {
	return serial > 0 && it.Run == r.Run && it.Serial == serial && it.State == ledger.Open
}

// unbegun reports whether nobody ever began the unit, and the caller that gives
// it up says so.
func (it *item) unbegun(r ledger.Ref, serial int) bool {
	return serial == 0 && it.entered() && it.Run == r.Run && it.Serial == 0 && it.State == ledger.Open
}

// open makes the item open and unbegun in a run. What was acked of it is kept.
func (it *item) open(run int) {
	it.Run, it.State, it.Cause, it.Ended = run, ledger.Open, nil, time.Time{}
	it.forgive()
}

// forgive takes back the attempts and re-sends so far and the mark of the last
// attempt.
func (it *item) forgive() { it.Attempts, it.Last, it.counted, it.Repeats = 0, false, false, 0 }

// entered reports whether the unit is of a continuous job.
func (it *item) entered() bool { return !it.Entered.IsZero() }

// touch notes that something worked on the unit of a continuous job, or sent it.
func (it *item) touch(now time.Time) {
	if it.entered() {
		it.Touched = now
	}
}

// end notes when the unit of a continuous job became done or dead.
func (it *item) end(now time.Time) {
	if it.entered() {
		it.Ended = now
	}
}

// amountsTo replaces the item's counts.
func (it *item) amountsTo(c ledger.Counts) {
	c.Sinks = maps.Clone(c.Sinks)
	it.Counts = c
}

// finish makes it the item of a done unit.
func (it *item) finish(c ledger.Counts) {
	it.State, it.Cause, it.Cursor, it.Faults, it.RestDone = ledger.Done, nil, nil, nil, false
	it.forgive()
	it.amountsTo(c)
}

func (it *item) fault(member int) int {
	return slices.IndexFunc(it.Faults, func(f ledger.Fault) bool { return f.Member == member })
}

// look returns the unit's item as a caller may see it.
func (j *job) look(id unit.ID) (ledger.Item, bool) {
	k := keyOf(id)
	if it, ok := j.items[k]; ok {
		return it.view(), true
	}
	run, counts, ok := j.done.get(k)
	if !ok {
		return ledger.Item{}, false
	}
	if it, ok := j.kept[k]; ok {
		return it.view(), true
	}
	return ledger.Item{Planned: ledger.Planned{ID: id}, Run: run, State: ledger.Done, Counts: counts}, true
}

func cloneCause(c ledger.Cause) ledger.Cause {
	c.Objects, c.Faults = slices.Clone(c.Objects), slices.Clone(c.Faults)
	return c
}

func cloneCursor(c *ledger.Cursor) *ledger.Cursor {
	if c == nil {
		return nil
	}
	v := *c
	return &v
}
