package pipe

import "github.com/spate-go/spate/pkg/chain"

// The blocks of a sink that joins k segments end where a segment's number is a
// multiple of k, and with the series: like segments, at places that depend on
// bytes alone (INV-3). Segments are numbered from the start of the series,
// wherever a reading resumes, and groups of members end segments, not blocks.
//
// A reading pauses only where every sink's block ends. There a reading that
// never paused holds no rows either, so the one that resumes cuts alike.
// Anywhere else a sink may hold rows that nobody has acked.

// blockEnds reports whether a block of sink i ends where segment n begins.
func (p *Pipe) blockEnds(i, n int) bool { return n%p.limits[i].Joined() == 0 }

// allEnd reports whether the blocks of all sinks do.
func (p *Pipe) allEnd(n int) bool {
	for i := range p.limits {
		if !p.blockEnds(i, n) {
			return false
		}
	}
	return true
}

// blockStart is the first segment of sink i's block that holds this one. A
// reading may resume in the middle of a block, if the sink joined another
// number of segments when it paused: then the block begins there, so that no
// two blocks have the same place.
func (w *writer) blockStart(i, segment int) int {
	return max(segment-segment%w.pipe.limits[i].Joined(), w.begin)
}

// cut is what a segment's end hands to the sinks.
type cut struct {
	segment int
	rows    []chain.Rows // empty for a sink whose block goes on
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
		if r.blockEnds(i, n) {
			rows[i], r.rows[i] = r.rows[i], rows[i]
		}
	}
	return rows
}
