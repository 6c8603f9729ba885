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
	objects []unit.Object
	series  int
	begin   int // the first segment
	counts  unit.Counts
	refused refusals
	pending chan error // of the write under way; nil: none
	sealed  *place     // the end of its segment, if the series may go on from there
	acked   *place     // the last place up to which all is acked; nil: none yet
	part    int        // blocks of rejects written of the current segment
	hasRows bool       // there were rows
	onAcked func()     // called once rows are acked by all sinks; may be nil
}

// put writes a cut, whose rows are put's from now on. It returns the error of
// this write or of the previous one.
func (w *writer) put(ctx context.Context, c cut) error {
	if !c.whole && empty(c.rows) && w.pending != nil { // nothing to wait for either
		w.pipe.putRows(c.rows)
		return nil
	}
	if err := w.wait(); err != nil {
		w.pipe.putRows(c.rows)
		return err
	}
	size := w.pipe.weigh(c.rows)
	// The write overlaps with reading only if there is memory for it: the next
	// segment needs buffers of its own meanwhile.
	if empty(c.rows) || !w.pipe.config.Budget.TryAcquire(size) {
		err := w.write(ctx, &c)
		if err == nil {
			w.ack(c.end)
		}
		return err
	}
	pending := make(chan error, 1)
	w.pending, w.sealed = pending, c.end
	go func() {
		err := w.guarded(ctx, &c)
		w.pipe.config.Budget.Release(size)
		pending <- err
	}()
	return nil
}

func empty(rows []chain.Rows) bool {
	return !slices.ContainsFunc(rows, func(r chain.Rows) bool { return len(r.Ends) > 0 })
}

// guarded is write for a goroutine of its own, in which a sink's panic would
// end the process.
func (w *writer) guarded(ctx context.Context, c *cut) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failure.Errorf(failure.Unit, failure.Operator, "write segment %d.%d: panic: %v\n%s", w.series, c.segment, v, debug.Stack())
		}
	}()
	return w.write(ctx, c)
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

// ack notes that everything up to end is acked. No block after it is written
// yet, so the sinks' counts are those up to end.
func (w *writer) ack(end *place) {
	if end == nil || end == w.acked {
		return
	}
	end.counts.Sinks = maps.Clone(w.counts.Sinks)
	end.counts.Counts.Add(w.refused.moved)
	w.acked = end
}

func (w *writer) write(ctx context.Context, c *cut) error {
	defer w.pipe.putRows(c.rows)
	w.hasRows = w.hasRows || !empty(c.rows)
	for i := range min(w.pipe.outputs, len(c.rows)) {
		if err := w.writeSink(ctx, c, i); err != nil {
			return err
		}
	}
	if i := w.pipe.outputs; i < len(c.rows) {
		if _, err := w.writeRejects(ctx, c.segment, &c.rows[i], true); err != nil {
			return err
		}
	}
	w.part = 0
	if !c.whole {
		return nil
	}
	w.refused.seen = nil
	if w.onAcked != nil && w.hasRows {
		w.onAcked()
	}
	return nil
}

func (w *writer) writeSink(ctx context.Context, c *cut, i int) error {
	rows := &c.rows[i]
	if len(rows.Ends) == 0 {
		return nil
	}
	s := w.pipe.config.Sinks[i]
	row := 0
	return sink.Parts(rows.Data, rows.Ends, w.pipe.limits[i], func(b sink.Block) error {
		b.Unit, b.Series, b.Segment = w.unit, w.series, w.blockStart(i, c.segment)
		b.Token = sink.Token(b.Unit, s.Name, b.Series, b.Segment, b.Part, b.Data)
		if err := w.writeBlock(ctx, c, i, &b, row); err != nil {
			return fmt.Errorf("sink %s: %w", s.Name, err)
		}
		row += b.Rows
		return nil
	})
}

// writeBlock writes a block, whose first row is row first of its sink's, and
// counts the rows that were accepted.
func (w *writer) writeBlock(ctx context.Context, c *cut, i int, b *sink.Block, first int) error {
	s := w.pipe.config.Sinks[i]
	rows, size := b.Rows, int64(len(b.Data))
	err := s.Write(ctx, b)
	if r := rejected(err); r != nil {
		var refused int64
		if refused, err = w.refuse(ctx, c, i, b, first, r); err == nil {
			rows, size = rows-len(r.Rows), size-refused
		}
	}
	if err != nil || rows == 0 {
		return err
	}
	w.counts.AddSink(s.Name, unit.SinkCounts{Records: int64(rows), Blocks: 1, Bytes: size})
	w.pipe.metrics.wrote(i, rows, int(size))
	return nil
}

// commit ends the series, all of whose blocks are acked: a sink that shows a
// series only as a whole shows it now.
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
