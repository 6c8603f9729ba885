// Package record holds what the hot path hands along: frames, which are views
// of records inside one buffer, and positions.
package record

// Position orders the records of a unit: member ordinal (23 bits), then the
// record's index within the object or range (40 bits).
type Position int64

const indexBits = 40

// At is the position of record index of member ordinal.
func At(member int, index int64) Position {
	return Position(int64(member)<<indexBits | index)
}

// Member is the ordinal of the object in its unit.
func (p Position) Member() int { return int(p >> indexBits) }

// Index is the record's index within its object or range.
func (p Position) Index() int64 { return int64(p) & (1<<indexBits - 1) }

// Frame is one record as a view: the bytes [Start, End) of the buffer that it
// was framed in. It is valid until that buffer is filled again.
type Frame struct {
	Start, End int
	// Next is where the bytes after the record and its delimiter begin.
	Next int
	// Oversize marks a record over the framer's limit: it has an index, its
	// bytes are gone (Start == End), and it counts as rejected.
	Oversize bool
}

// Counts are what became of records. In + Expanded = Out + Filtered + Rejected.
type Counts struct {
	In       int64 // framed
	Out      int64 // rows handed to the sinks and refused by none
	Filtered int64 // dropped by a filter
	// Rejected counts records that do not decode, are over the limit or fail in
	// an operator, and rows that some sink refused: each such row counts once,
	// and the other rows of its record count as Out.
	Rejected int64
	Expanded int64 // the surplus of records that became several rows
}

// Add adds o.
func (c *Counts) Add(o Counts) {
	c.In += o.In
	c.Out += o.Out
	c.Filtered += o.Filtered
	c.Rejected += o.Rejected
	c.Expanded += o.Expanded
}
