package pipe

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

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
	sealed  *place     // the end of its segment
	acked   *place     // the last segment's end up to which all is acked; nil: none yet
	part    int        // blocks of rejects written of the segment at hand
	first   func()     // is told of segments with rows that are acked; nil: is not
}

// put writes the rows of a segment that ends at a place, which it owns from now
// on. It returns the error of this or of the write before it.
func (w *writer) put(ctx context.Context, end *place, segment int, rows []chain.Rows) error {
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
		err := w.write(ctx, segment, rows)
		if err == nil {
			w.ack(end)
		}
		return err
	}
	pending := make(chan error, 1)
	w.pending, w.sealed = pending, end
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
	if err == nil {
		w.ack(w.sealed)
	}
	return err
}

// ack notes that all up to the place is acked. No block behind it is written
// yet, so that the counts are of just that.
func (w *writer) ack(end *place) {
	if end != nil {
		end.counts.Sinks = maps.Clone(w.counts.Sinks)
		w.acked = end
	}
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
	if w.first != nil && slices.ContainsFunc(rows, func(r chain.Rows) bool { return len(r.Ends) > 0 }) {
		w.first()
	}
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
