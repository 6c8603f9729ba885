package pipe

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// writer hands a series' segments to the sinks, in order, one at a time, while
// the next one is being read.
type writer struct {
	pipe    *Pipe
	unit    unit.ID
	series  int
	counts  unit.Counts
	pending chan error // of the write under way; nil: none
	part    int        // blocks of rejects written of the segment at hand
}

// put writes the rows of a segment, which it owns from now on. It returns the
// error of this or of the write before it.
func (w *writer) put(ctx context.Context, segment int, rows []chain.Rows) error {
	if err := w.wait(); err != nil {
		w.pipe.putRows(rows)
		return err
	}
	var size int64
	for _, r := range rows {
		size += r.Bytes()
	}
	// Only with memory for it is the write overlapped: the next segment needs
	// buffers of its own meanwhile.
	if size == 0 || !w.pipe.config.Budget.TryAcquire(size) {
		return w.write(ctx, segment, rows)
	}
	pending := make(chan error, 1)
	w.pending = pending
	go func() {
		err := w.guarded(ctx, segment, rows)
		w.pipe.config.Budget.Release(size)
		pending <- err
	}()
	return nil
}

// guarded is write for a goroutine of its own, where a panic of a sink would
// end the process.
func (w *writer) guarded(ctx context.Context, segment int, rows []chain.Rows) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failure.Errorf(failure.Unit, failure.Operator, "write segment %d.%d: panic: %v\n%s", w.series, segment, v, debug.Stack())
		}
	}()
	return w.write(ctx, segment, rows)
}

// wait returns the error of the write under way, if there is one.
func (w *writer) wait() error {
	if w.pending == nil {
		return nil
	}
	err := <-w.pending
	w.pending = nil
	return err
}

func (w *writer) write(ctx context.Context, segment int, rows []chain.Rows) error {
	defer w.pipe.putRows(rows)
	for i := range rows[:w.pipe.outputs] {
		if err := w.writeSink(ctx, i, segment, &rows[i]); err != nil {
			return err
		}
	}
	for i := w.pipe.outputs; i < len(rows); i++ {
		if _, err := w.writeRejects(ctx, segment, &rows[i], true); err != nil {
			return err
		}
	}
	w.part = 0
	return nil
}

func (w *writer) writeSink(ctx context.Context, i, segment int, rows *chain.Rows) error {
	if len(rows.Ends) == 0 {
		return nil
	}
	s := w.pipe.config.Sinks[i]
	return sink.Parts(rows.Data, rows.Ends, s.Limits(), func(part, n int, data []byte) error {
		b := sink.Block{
			Unit: w.unit, Series: w.series, Segment: segment, Part: part, Rows: n, Data: data,
			Token: sink.Token(w.unit, s.Name, w.series, segment, part, data),
		}
		if err := s.Write(ctx, &b); err != nil {
			return fmt.Errorf("sink %s: %w", s.Name, err)
		}
		w.counts.AddSink(s.Name, unit.SinkCounts{Records: int64(n), Blocks: 1, Bytes: int64(len(data))})
		w.pipe.metrics.wrote(i, n, len(data))
		return nil
	})
}

// commit ends the series: every block is acked, and what a sink shows only
// whole, it shows now.
func (w *writer) commit(ctx context.Context) error {
	if err := w.wait(); err != nil {
		return err
	}
	for _, s := range w.pipe.config.Sinks {
		if err := s.Commit(ctx, w.unit, w.series); err != nil {
			return fmt.Errorf("sink %s: %w", s.Name, err)
		}
	}
	return nil
}
