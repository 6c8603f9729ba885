package pipe

import (
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// place is where a segment ends, and what the reading counted up to there.
type place struct {
	cursor unit.Cursor
	counts unit.Counts // those of the sinks are set once they are acked
}

// result is that of a call that got as far as p, which may be nil.
func (p *place) result() Result {
	if p == nil {
		return Result{}
	}
	c := p.cursor
	return Result{Counts: p.counts, Cursor: &c}
}

// counts are the reading's without the sinks'.
func (r *run) counts() unit.Counts {
	return unit.Counts{Counts: r.out.Counts, BytesRead: r.src.bytes, BytesDecoded: r.decoded}
}

// cursor is where a member's reading stands.
type cursor struct {
	member
	object *unit.Object
	index  int64 // records framed
	origin int64 // offset in the object at which the decoded stream begins
	base   int64 // offset of the buffer in the decoded stream
	taken  int64 // offset up to which bytes are in segments
	direct bool  // reading may begin at any record's first byte

	undecoded int64         // of all members before
	without   record.Counts // the counts without its records, should they not count
}

func (r *run) cursor(m member) *cursor {
	c := &cursor{member: m, object: &r.Unit.Objects[m.ordinal], undecoded: r.out.Undecoded, without: r.out.Counts}
	// Of a member none of whose records decodes, earlier calls counted every
	// record as rejected.
	c.without.In -= m.undecoded
	c.without.Rejected -= m.undecoded
	if m.offset > 0 {
		c.index, c.origin = m.done, m.offset
	}
	return c
}

// undecodedOf is how many of the member's records did not decode, those of
// earlier calls included.
func (r *run) undecodedOf(c *cursor) int64 {
	return c.member.undecoded + r.out.Undecoded - c.undecoded
}

// place is the end of the segment that ends where c stands, ahead bytes having
// been decoded beyond.
func (r *run) place(c *cursor, ahead int64) *place {
	p := &place{counts: r.counts(), cursor: unit.Cursor{Member: c.ordinal, Record: c.index, Undecoded: r.undecodedOf(c)}}
	p.counts.BytesDecoded -= ahead
	if c.direct {
		p.cursor.Offset = c.origin + c.taken
	}
	if c.void { // nothing of it is in the counts, not even what an earlier call put there
		p.counts.Counts, p.cursor.Undecoded = c.without, 0
	}
	return p
}
