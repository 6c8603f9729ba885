package pipe

import (
	"context"
	"fmt"
	"sort"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// Rejects is a sink for the records that are rejected, as lines of package
// reject. Its blocks are acked and committed like any sink's before the unit is
// done, and a repeated unit makes the same ones.
//
// Rejects of a member that turns out to be of another format do not count;
// those already written stay.
type Rejects struct {
	NamedSink
	// Admit says whether the block of that token, of so many bytes, may be
	// written. What it refuses is counted under the sink's name with
	// DroppedSuffix. Nil admits all.
	Admit func(token string, bytes int64) bool
}

// DroppedSuffix ends the name under which rejects that were not admitted count.
const DroppedSuffix = "_dropped"

// rejectBytes ends a block of rejects, with the row that reaches it. The
// rejects of a segment of short records may not fit into one block, nor into
// memory: their lines are many times as long.
const rejectBytes = 4 << 20

// take readies rows for the next segment.
func (r *run) take() {
	r.rows = r.takeRows()
	r.out.Sinks = r.rows[:r.outputs:r.outputs]
	if r.outputs < len(r.rows) {
		r.out.Rejects = &r.rows[r.outputs]
	}
}

// rejects is the number of rejects so far.
func (r *run) rejects() int {
	if r.out.Rejects == nil {
		return r.gone
	}
	return r.gone + len(r.out.Rejects.Ends)
}

// dropRejects drops the rejects after the first n, except those that are no
// longer in rows.
func (r *run) dropRejects(n int) {
	if rows := r.out.Rejects; rows != nil {
		keep := max(n-r.gone, 0)
		end := 0
		if keep > 0 {
			end = rows.Ends[keep-1]
		}
		rows.Data, rows.Ends = rows.Data[:end], rows.Ends[:keep]
	}
}

// spill writes the blocks of rejects that are full.
func (r *run) spill(ctx context.Context) error {
	rows := r.out.Rejects
	if rows == nil || len(rows.Data) < rejectBytes {
		return nil
	}
	if err := r.writer.wait(); err != nil {
		return err
	}
	n, err := r.writer.spill(ctx, r.segment, rows)
	r.gone += n
	return err
}

// spill writes the blocks of rejects that are full, takes them out of rows and
// returns how many rows that were. The cuts depend on the rows alone, and not
// on when it is called.
func (w *writer) spill(ctx context.Context, segment int, rows *chain.Rows) (int, error) {
	if len(rows.Data) < rejectBytes {
		return 0, nil
	}
	n, err := w.writeRejects(ctx, segment, rows, false)
	if err != nil {
		return 0, err
	}
	end := rows.Ends[n-1]
	rows.Data = rows.Data[:copy(rows.Data, rows.Data[end:])]
	rows.Ends = rows.Ends[:copy(rows.Ends, rows.Ends[n:])]
	for i := range rows.Ends {
		rows.Ends[i] -= end
	}
	return n, nil
}

// writeRejects writes the full blocks of rows, with all also the rest, and
// returns how many rows that were.
func (w *writer) writeRejects(ctx context.Context, segment int, rows *chain.Rows, all bool) (int, error) {
	n, start := 0, 0
	for n < len(rows.Ends) {
		left := rows.Ends[n:]
		k := 1 + sort.Search(len(left), func(i int) bool { return left[i]-start >= rejectBytes })
		if k > len(left) {
			if !all {
				break
			}
			k = len(left)
		}
		end := left[k-1]
		b := sink.Block{Segment: segment, Rows: k, Data: rows.Data[start:end:end], Ends: left[:k:k], Base: start}
		if err := w.writeReject(ctx, &b); err != nil {
			return n, err
		}
		n, start = n+k, end
	}
	return n, nil
}

// writeReject writes one block, if it is admitted.
func (w *writer) writeReject(ctx context.Context, b *sink.Block) error {
	s, size := w.pipe.config.Rejects, len(b.Data)
	b.Unit, b.Series, b.Part = w.unit, w.series, w.part
	b.Token = sink.Token(b.Unit, s.Name, b.Series, b.Segment, b.Part, b.Data)
	w.part++
	name := s.Name
	if s.Admit != nil && !s.Admit(b.Token, int64(size)) {
		name += DroppedSuffix
	} else if err := s.Write(ctx, b); err != nil {
		return fmt.Errorf("sink %s: %w", s.Name, err)
	} else {
		w.pipe.metrics.wrote(w.pipe.outputs, b.Rows, size)
	}
	w.counts.AddSink(name, unit.SinkCounts{Records: int64(b.Rows), Blocks: 1, Bytes: int64(size)})
	return nil
}
