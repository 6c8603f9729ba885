package unit

import (
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

// Fault is a member of a unit proved bad.
type Fault struct {
	Member int // ordinal
	// Record is where the member's own series begins: the index of its first
	// record that is not among the rest's.
	Record int64
	// Framed is how many of its records the rest reads whenever it is read, so
	// that its segments stay the same. It differs from Record where those
	// records count for nothing: a member of which no record decodes.
	Framed int64
	Reason failure.Reason
	Detail string
}

// Counts are what a unit, or a part of it, amounted to.
type Counts struct {
	record.Counts
	BytesRead    int64 // from the store
	BytesDecoded int64 // after decompression
	Sinks        map[string]SinkCounts
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
