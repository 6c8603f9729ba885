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

// refusals are the rows that sinks refused, and what they move in the counts: a
// row that any of its sinks refused is rejected, not out. It is one value in
// both, so that in + expanded = out + filtered + rejected goes on to hold, also
// where one record became several rows. A sink's own counts are of what it
// took.
type refusals struct {
	moved record.Counts
	// seen are the values so far, where another sink may refuse them as well. It
	// is empty where every block ends: what is behind is settled.
	seen map[value]struct{}
}

// value is what the rows of several sinks may be of.
type value struct {
	record record.Position
	row    int // of the record
	sink   int // that alone has rows of it; -1: all have
}

// rejected returns what a sink refused of a block, if that is what err says: not
// if it stands in an error of another kind, such as that of a call whose answer
// was lost as well.
func rejected(err error) *sink.Rejected {
	if r, ok := errors.AsType[*sink.Rejected](err); ok && !failure.Marked(err) {
		return r
	}
	return nil
}

// refuse deals with the rows that sink i refused of a block, which begins with
// row first of rows. It returns the bytes of those rows.
//
// They are in the rejects, durably, before the segment counts as acked: a cursor
// behind them, or a unit that is done, would be the end of them.
func (w *writer) refuse(ctx context.Context, c *cut, i int, b *sink.Block, first int, r *sink.Rejected) (n int64, err error) {
	rows := &c.rows[i]
	if err := answers(b, rows, r); err != nil {
		return 0, err
	}
	for k := range r.Rows {
		refused := &r.Rows[k]
		n += int64(len(b.Row(refused.Index)))
		row := first + refused.Index
		w.move(rows, row, i, c.routed)
		if err := w.writeDown(ctx, c, i, rows.Records[row], refused); err != nil {
			return 0, err
		}
	}
	w.pipe.metrics.refused(i, len(r.Rows))
	return n, nil
}

// answers checks that a sink speaks of rows that it was given.
func answers(b *sink.Block, rows *chain.Rows, r *sink.Rejected) error {
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

// writeDown appends a refused row to the rejects of the segment, behind what the
// chain rejected of it, and writes them where they fill a block.
func (w *writer) writeDown(ctx context.Context, c *cut, i int, at record.Position, r *sink.RejectedRow) error {
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
