package unit

import (
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

// Fault is a member of a unit that proved bad.
type Fault struct {
	Member int // ordinal
	// Record is the index of the first record of the member's own series: those
	// before it are part of the rest, series 0.
	Record int64
	// Framed is how many of its records the rest frames each time it is read,
	// so that its segments stay the same. It differs from Record if those
	// records do not count: in a member none of whose records decodes.
	Framed int64
	Reason failure.Reason
	Detail string
	// Overwritten: a newer version replaced the one that an event announced.
	// The member is not read again and does not keep its unit from being done;
	// its key is looked up again instead.
	Overwritten bool
}

// Cursor is a place in a series where every sink's block ends: everything
// before it is acked, and reading resumes there.
type Cursor struct {
	Series  int   // 0: the rest; ordinal + 1: a faulty member's own
	Segment int   // the next one
	Member  int   // ordinal of the member that it begins in
	Record  int64 // index of its first record
	// Offset is the byte of the object at which that record begins, if reading
	// can resume there; 0: the member is framed again from its beginning.
	Offset int64
	// Undecoded is how many of the member's earlier records did not decode;
	// they count as rejected.
	Undecoded int64
}

// Counts are the results of a unit, or of a part of it.
type Counts struct {
	record.Counts
	BytesRead    int64 // from the store
	BytesDecoded int64 // after decompression
	Sinks        map[string]SinkCounts
	// MemoryTime is the memory of the functions that worked on it times the time
	// they took, in MB·ms; 0 where none did.
	MemoryTime int64
	// Overwritten counts the objects that a newer version replaced before they
	// were read to their end.
	Overwritten int64
}

// SinkCounts are what one sink acked.
type SinkCounts struct {
	Records, Blocks, Bytes int64
}

// Add adds o.
func (c *Counts) Add(o Counts) {
	c.Counts.Add(o.Counts)
	c.BytesRead += o.BytesRead
	c.BytesDecoded += o.BytesDecoded
	c.MemoryTime += o.MemoryTime
	c.Overwritten += o.Overwritten
	for name, n := range o.Sinks {
		c.AddSink(name, n)
	}
}

// AddSink adds what the sink of that name acked.
func (c *Counts) AddSink(name string, n SinkCounts) {
	if c.Sinks == nil {
		c.Sinks = map[string]SinkCounts{}
	}
	t := c.Sinks[name]
	t.Records += n.Records
	t.Blocks += n.Blocks
	t.Bytes += n.Bytes
	c.Sinks[name] = t
}
