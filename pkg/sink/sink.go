// Package sink is the contract of a place that rows are written to, and what
// all sinks share: tokens, retries, limits.
package sink

import (
	"context"

	"github.com/spate-go/spate/pkg/unit"
)

// Block is one sink's rows of one segment of a unit, or a numbered part of
// them: one write, one token.
type Block struct {
	Unit    unit.ID
	Series  int // 0 for the first reading, ordinal+1 for a faulty member's
	Segment int // within the series
	Part    int // within the segment
	// Token names the block and its bytes: the same rows of the same stretch
	// have the same token in every attempt.
	Token string
	Rows  int
	Data  []byte // encoded rows, uncompressed
}

// Limits bound a sink's blocks. Zero is no limit.
type Limits struct {
	Rows  int
	Bytes int64
}

// Sink writes blocks.
type Sink interface {
	// Write returns nil once the rows of b are durable. A token that was acked
	// before may be dropped, if only the sink can tell; then Write returns nil.
	// Write retains nothing of b. Calls for different units may overlap; those
	// of one unit come in order.
	//
	// Errors: failure.Transient when the write may be tried again (it may also
	// have happened); failure.Unit with sink_rejected when these rows are
	// refused; failure.Job when no write could succeed.
	Write(ctx context.Context, b *Block) error
	// Commit follows the last acked block of a unit's series, before the unit
	// is done: what the sink shows only whole, it shows now, durably. It may be
	// repeated, and may come for a series that had no block. Errors are those
	// of Write.
	Commit(ctx context.Context, u unit.ID, series int) error
	// Limits are constant.
	Limits() Limits
	// Close releases what the sink holds, after the last call of the others. It
	// is not a commit: rows that were not acked may be dropped.
	Close() error
}
