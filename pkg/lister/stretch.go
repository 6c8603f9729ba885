package lister

import (
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// A stretch is full at this many units, or bytes of them. Between two checks an
// object adds two at most: the unit that it closes and its own.
const (
	fullUnits = 1024
	fullBytes = ledger.MaxPageBytes - 2*unit.MaxDescriptorBytes
)

// stretch is the part of the listing that becomes the next page of the ledger.
// Objects pass through it in two steps: they are carried when they are seen,
// and settled when the unit that they went into is closed. What was skipped
// among them waits with them, so that a page counts just the keys within its
// bounds.
type stretch struct {
	after string // the page begins after this place
	last  string // everything up to this key is settled
	seen  string // everything up to this key is carried

	planned []ledger.Planned
	units   []*unit.Unit // the same ones
	bytes   int          // of planned
	settled ledger.Inventory
	carried ledger.Inventory
}

// startAt returns the stretch that begins at the named place.
func startAt(name string, p place) stretch { return stretch{after: name, last: p.key, seen: p.key} }

func (s *stretch) full() bool { return len(s.planned) >= fullUnits || s.bytes >= fullBytes }

// add takes a unit into the page.
func (s *stretch) add(u *unit.Unit) error {
	body, err := u.Encode()
	if err != nil {
		return fmt.Errorf("unit of %q: %w", u.Objects[0].Key, err)
	}
	s.planned = append(s.planned, ledger.Planned{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: len(u.Objects), Body: body})
	s.units = append(s.units, u)
	s.bytes += len(body)
	return nil
}

// take carries an object that goes into a unit.
func (s *stretch) take(o unit.Object) {
	s.carried.Objects++
	s.carried.Bytes += o.Size
	s.seen = o.Key
}

// skip carries an object that goes into no unit.
func (s *stretch) skip(o unit.Object, v plan.Verdict) {
	switch v {
	case plan.Take: // is for take
	case plan.Directory:
		s.carried.Directory++
	case plan.Excluded:
		s.carried.Excluded++
	case plan.Empty:
		s.carried.Empty++
	case plan.Archived:
		s.carried.Archived++
		s.carried.ArchivedBytes += o.Size
	}
	s.seen = o.Key
}

// settle notes that no open unit holds any of what is carried.
func (s *stretch) settle() {
	s.settled.Add(s.carried)
	s.carried = ledger.Inventory{}
	s.last = s.seen
}

// end names the place, between two objects, where the page ends that this
// stretch has become.
func (s *stretch) end() string { return place{key: s.last}.after(s.after) }

// page is the page up to last.
func (s *stretch) page(last string) ledger.Page {
	return ledger.Page{After: s.after, Last: last, Units: s.planned, Inventory: s.settled}
}

// empty reports whether a page of the stretch would say nothing.
func (s *stretch) empty() bool { return len(s.planned) == 0 && s.settled == ledger.Inventory{} }

// published begins the stretch after the page that ended at last.
func (s *stretch) published(last string) {
	s.after = last
	// The ledger and the feed may hold on to what they were given.
	s.planned, s.bytes = nil, 0
	clear(s.units)
	s.units = s.units[:0]
	s.settled = ledger.Inventory{}
}
