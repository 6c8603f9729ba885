package pipe

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/reject"
	"github.com/spate-go/spate/pkg/sink"
)

// refusals are the rows that sinks refused, and how they change the counts: a
// row that any of its sinks refused is rejected, not out. It counts once either
// way, so that in + expanded = out + filtered + rejected still holds, even if
// one record became several rows. A sink's own counts are of the rows that it
// accepted.
type refusals struct {
	moved record.Counts
	// seen holds the values refused so far that another sink may refuse as
	// well. It is emptied where every block ends: everything before that is
	// settled.
	seen map[value]struct{}
}

// value identifies a value of the chain, of which several sinks may have a row.
type value struct {
	record record.Position
	row    int // of the record
	sink   int // the only one with a row of it; -1: all have one
}

// rejected returns the rows of a block that a sink refused, if that is all that
// err says. It is nil for a refusal inside a marked error, such as that of a
// call whose response was lost as well.
func rejected(err error) *sink.Rejected {
	if r, ok := errors.AsType[*sink.Rejected](err); ok && !failure.Marked(err) {
		return r
	}
	return nil
}

// refuse handles the rows that sink i refused of a block, whose first row is
// row first of rows. It returns their size in bytes.
//
// They are in the rejects, durably, before the segment counts as acked: once a
// cursor is past them, or the unit is done, they would be lost.
func (w *writer) refuse(ctx context.Context, c *cut, i int, b *sink.Block, first int, r *sink.Rejected) (n int64, err error) {
	rows := &c.rows[i]
	if err := checkRefused(b, rows, r); err != nil {
		return 0, err
	}
	for k := range r.Rows {
		refused := &r.Rows[k]
		n += int64(len(b.Row(refused.Index)))
		row := first + refused.Index
		w.move(rows, row, i, c.routed)
		if err := w.rejectRow(ctx, c, i, rows.Records[row], refused); err != nil {
			return 0, err
		}
	}
	w.pipe.metrics.refused(i, len(r.Rows))
	return n, nil
}

// checkRefused checks that the rows a sink refused are rows of the block.
func checkRefused(b *sink.Block, rows *chain.Rows, r *sink.Rejected) error {
	if len(rows.Records) != len(rows.Ends) {
		return failure.Errorf(failure.Unit, failure.SinkRejected,
			"%w, and whose they are is not known: the sink's limits do not say that it rejects rows, or the chain does not trace them", r)
	}
	last := -1
	for _, row := range r.Rows {
		if row.Index <= last || row.Index >= b.Rows {
			return failure.Errorf(failure.Unit, failure.SinkRejected, "%w: not in order, or none of its %d rows", r, b.Rows)
		}
		last = row.Index
	}
	return nil
}

// move counts a row as rejected, once whichever of its sinks refuse it.
func (w *writer) move(rows *chain.Rows, row, i int, routed bool) {
	if w.pipe.rejecting > 1 {
		v := value{record: rows.Records[row], sink: -1}
		for row > 0 && rows.Records[row-1] == v.record {
			v.row, row = v.row+1, row-1
		}
		if routed {
			v.sink = i
		}
		if _, ok := w.refused.seen[v]; ok {
			return
		}
		if w.refused.seen == nil {
			w.refused.seen = map[value]struct{}{}
		}
		w.refused.seen[v] = struct{}{}
	}
	w.refused.moved.Out--
	w.refused.moved.Rejected++
}

// rejectRow appends a refused row to the rejects of the segment, after those of
// the chain, and writes them once they fill a block.
func (w *writer) rejectRow(ctx context.Context, c *cut, i int, at record.Position, r *sink.RejectedRow) error {
	if w.pipe.config.Rejects == nil {
		return nil
	}
	rows := &c.rows[w.pipe.outputs]
	o := &w.objects[at.Member()]
	rows.Data = reject.Append(rows.Data, reject.Line{
		Key: o.Key, ETag: o.ETag, Version: o.Version, Record: at.Index(), Offset: -1, Reason: failure.SinkRejected,
		Detail: reject.Detail(fmt.Sprintf("sink %s: %s", w.pipe.config.Sinks[i].Name, r.Detail)), Bytes: r.Text,
	})
	rows.End()
	_, err := w.spill(ctx, c.segment, rows)
	return err
}
