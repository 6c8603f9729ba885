package intake

import (
	"cmp"

	"github.com/spate-go/spate/pkg/event"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// want is an object version that should be in a unit, and what becomes of it.
type want struct {
	unit.Object
	sequencer string
	// again: it was announced before, and whoever took it then may have died
	// before its unit was sent.
	again bool

	id   unit.ObjectID // set once the ETag is known
	cut  *plan.Cut     // nil: it is read whole
	held *ledger.Held  // the claim by which others have it; nil: none is known

	// Once settled: unit has it, if any does; reason says why nothing was sent for
	// it now; err, why it must come again.
	settled bool
	unit    unit.ID
	reason  failure.Reason
	err     error
	as      *want // the want that stands for this one too; nil: itself
	// replaced: the version that was announced is gone, and the current one is
	// taken in its place.
	replaced bool
}

// unknown reports whether the object has to be looked up. Without an ETag its
// versions could not be told apart.
func (w *want) unknown() bool { return w.Size < 0 || w.ETag == "" }

// stands is the want that stands for w.
func (w *want) stands() *want {
	if w.as != nil {
		return w.as
	}
	return w
}

// ignore settles w: nothing is read for it.
func (w *want) ignore(r failure.Reason) { w.settled, w.reason = true, r }

// fail settles w: it must come again.
func (w *want) fail(err error) { w.settled, w.err = true, err }

// sent settles w: its unit is in the feed.
func (w *want) sent(id unit.ID) { w.settled, w.unit, w.reason = true, id, "" }

// repeated settles w: a unit has it already.
func (w *want) repeated(id unit.ID) {
	w.ignore(failure.Repeated)
	w.unit = id
}

// selects settles w if the job does not want it.
func (in *Intake) selects(w *want) {
	// An object of unknown size is neither empty nor a directory yet.
	if v := in.opts.Filter.Select(w.Object, false); v != plan.Take {
		w.ignore(failure.Reason(v)) // the same words
	}
}

// unsettled returns those of ws that are not settled yet.
func unsettled(ws []*want) []*want {
	var left []*want
	for _, w := range ws {
		if !w.settled {
			left = append(left, w)
		}
	}
	return left
}

// failAll settles what is left of ws with an error.
func failAll(ws []*want, err error) {
	for _, w := range ws {
		if !w.settled {
			w.fail(err)
		}
	}
}

// distinct returns one want for each object version, which stands for the
// others. If the same bytes were put several times under a key, the last put is
// the one that is pinned, because it stays longest.
func distinct(ws []*want) []*want {
	first := make(map[unit.ObjectID]*want, len(ws))
	kept := make([]*want, 0, len(ws))
	for _, w := range ws {
		w.id = w.Object.ID()
		k, ok := first[w.id]
		if !ok {
			first[w.id] = w
			kept = append(kept, w)
			continue
		}
		if later(w, k) {
			again := max(w.Again, k.Again)
			k.Object, k.sequencer = w.Object, w.sequencer
			k.Again = again
		}
		k.again = k.again || w.again
		w.as, w.settled = k, true
	}
	return kept
}

// later orders puts of the same bytes, whatever the order in which they came.
func later(a, b *want) bool {
	return cmp.Or(event.CompareSequencers(a.sequencer, b.sequencer),
		cmp.Compare(a.Version, b.Version), a.LastModified.Compare(b.LastModified)) > 0
}
