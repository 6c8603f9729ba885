// Package sink is the contract of a place that rows are written to, and what
// all sinks share: tokens, retries, limits.
package sink

import (
	"context"

	"github.com/spate-go/spate/pkg/unit"
)

// Limits bound a sink's blocks. Zero is no limit.
type Limits struct {
	Rows  int
	Bytes int64
	// Segments is how many consecutive segments of a series make one block; 0 is
	// 1. A block ends where the number of segments since the series began is a
	// multiple of it, and at the end of the series. So blocks depend on bytes
	// alone, as segments do, but they do change with Segments: a sink that names
	// what it writes by a block's place keeps it constant for the whole job.
	//
	// The rows of that many segments are held in memory, and a unit can pause
	// only where the blocks of all its sinks end.
	Segments int
	// Rejects says that Write may return *Rejected. Rows are then kept with the
	// records that they came from: 8 bytes a row.
	Rejects bool
}

// Joined is Segments with its default applied.
func (l Limits) Joined() int { return max(l.Segments, 1) }

// Sink writes blocks.
type Sink interface {
	// Write returns nil once the rows of b are durable. A sink that can tell
	// repeats may drop a block whose token it has acked, and return nil. Write
	// retains nothing of b. Calls for different units may overlap; those of one
	// unit come in order.
	//
	// Errors: *Rejected when all rows but some are durable, if Limits.Rejects
	// is set; failure.Transient when the write may be tried again (it may also
	// have happened); failure.Unit with sink_rejected when these rows are
	// refused; failure.Job when no write could succeed.
	Write(ctx context.Context, b *Block) error
	// Commit follows the last acked block of a unit's series, before the unit
	// is done: a sink that shows a series only as a whole shows it now,
	// durably. It may be repeated, and may come for a series that had no block.
	// Errors are those of Write, except *Rejected.
	Commit(ctx context.Context, u unit.ID, series int) error
	// Limits are constant.
	Limits() Limits
	// Close releases what the sink holds, after the last call of the others. It
	// is not a commit: rows that were not acked may be dropped.
	Close() error
}
