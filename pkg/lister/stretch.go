package lister

import (
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// maxUnits is how many units a page of the ledger holds, give or take the one
// that an object closes before its own.
const maxUnits = 1024

// stretch is the part of the listing that becomes the next page of the ledger.
// Objects pass through it twice: they are carried from when they are seen, and
// settled when the unit that they went into is closed. What was skipped among
// them waits with them, so that a page counts just the keys in its bounds.
type stretch struct {
	after string // the page begins after this key
	last  string // up to this key everything is settled
	seen  string // up to this key everything is carried
	part  int    // pages so far that ended within an object

	units   []*unit.Unit
	settled ledger.Inventory
	carried ledger.Inventory
}

func startAt(key string) stretch { return stretch{after: key, last: key, seen: key} }

func (s *stretch) full() bool { return len(s.units) >= maxUnits }

// take carries an object of a unit.
func (s *stretch) take(o unit.Object) {
	s.carried.Objects++
	s.carried.Bytes += o.Size
	s.seen = o.Key
}

// skip carries an object that no unit holds.
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

// settle says that no open unit holds any of what is carried.
func (s *stretch) settle() {
	s.settled.Add(s.carried)
	s.carried = ledger.Inventory{}
	s.last = s.seen
}

// next returns the page that the stretch has become, and whether it says
// anything. inside: only a part of the units of the object after last is there,
// so the page has to end before the object does.
func (s *stretch) next(inside bool) (ledger.Page, bool) {
	p := ledger.Page{After: s.after, Last: s.last, Inventory: s.settled}
	if inside {
		p.Last = within(s.last, s.part+1)
	} else if s.last == s.after {
		return p, false
	}
	p.Units = make([]ledger.Planned, len(s.units))
	for i, u := range s.units {
		p.Units[i] = ledger.Planned{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: len(u.Objects)}
	}
	return p, true
}

// published begins the stretch after p.
func (s *stretch) published(p ledger.Page) {
	if p.Last != s.last {
		s.part++
	}
	s.after = p.Last
	clear(s.units)
	s.units = s.units[:0]
	s.settled = ledger.Inventory{}
}

// within names the n-th place within the object that follows key, for a page
// must end at a place of its own. It comes before what follows key, and is no
// key: stores refuse what is not UTF-8, and file systems a zero byte.
func within(key string, n int) string { return fmt.Sprintf("%s\x00\xff%08d", key, n) }
