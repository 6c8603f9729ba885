package pipe

import "github.com/spate-go/spate/pkg/chain"

// A sink that joins k segments has its blocks end where a segment's number is a
// multiple of k, and with the series: at places that depend on bytes alone, as
// those of segments do (INV-3). Numbers count from the series' beginning,
// wherever a reading goes on, and groups of members end segments, not blocks.
//
// A reading pauses only where every sink's block ends. Going on from there it
// holds what one that came by would hold, nothing, and so cuts alike. Elsewhere
// a sink may have rows at hand that nobody has acked.

// ends reports whether a block of sink i ends where segment n begins.
func (p *Pipe) ends(i, n int) bool { return n%p.limits[i].Joined() == 0 }

// joint reports whether the blocks of all sinks do.
func (p *Pipe) joint(n int) bool {
	for i := range p.limits {
		if !p.ends(i, n) {
			return false
		}
	}
	return true
}

// first is the segment that sink i's block with this one in it begins with. A
// reading may go on within what would be a block now, from a time when the sink
// joined another number of segments: then from there, so that no two blocks
// have one place.
func (w *writer) first(i, segment int) int {
	return max(segment-segment%w.pipe.limits[i].Joined(), w.begin)
}

// cut is what a segment's end hands to the sinks.
type cut struct {
	segment int
	rows    []chain.Rows // none of a sink whose block goes on
	routed  bool         // rows of different sinks are different values
	whole   bool         // every block ends
	end     *place       // where the series may go on from here; nil: nowhere
}

// cutRows takes the rows of the blocks that end where segment n begins. The
// others stay.
func (r *run) cutRows(n int, whole bool) []chain.Rows {
	rows := r.rows
	if whole {
		// By the time the next are needed, a fast sink is done with these.
		r.rows, r.out.Sinks, r.out.Rejects = nil, nil, nil
		return rows
	}
	rows = r.takeRows()
	for i := range rows {
		if r.ends(i, n) {
			rows[i], r.rows[i] = r.rows[i], rows[i]
		}
	}
	return rows
}
