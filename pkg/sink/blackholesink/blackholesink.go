// Package blackholesink discards rows, to measure everything before a sink. It
// counts what it is given, repeats included.
package blackholesink

import (
	"context"
	"sync/atomic"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

var _ sink.Sink = (*Sink)(nil)

// Sink counts blocks. It never fails but with its context.
type Sink struct{ blocks, rows, bytes atomic.Int64 }

// New returns a sink that has counted nothing.
func New() *Sink { return new(Sink) }

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, b *sink.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.blocks.Add(1)
	s.rows.Add(int64(b.Rows))
	s.bytes.Add(int64(len(b.Data)))
	return nil
}

// Commit implements sink.Sink.
func (s *Sink) Commit(ctx context.Context, _ unit.ID, _ int) error { return ctx.Err() }

// Limits implements sink.Sink: none.
func (s *Sink) Limits() sink.Limits { return sink.Limits{} }

// Close implements sink.Sink.
func (s *Sink) Close() error { return nil }

// Blocks is the number of blocks written.
func (s *Sink) Blocks() int64 { return s.blocks.Load() }

// Rows is the number of rows written.
func (s *Sink) Rows() int64 { return s.rows.Load() }

// Bytes is the number of encoded bytes written.
func (s *Sink) Bytes() int64 { return s.bytes.Load() }
