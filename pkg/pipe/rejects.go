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
// reject. Its blocks are acked and committed as any sink's are, before the unit
// is done, and come again the same when the unit does.
//
// The records of a member that turns out to be of another format count for
// nothing; those that are written by then stay written.
type Rejects struct {
	NamedSink
	// Admit says whether the block of that token may be written. What it refuses
	// is counted under the sink's name with DroppedSuffix. Nil admits all.
	Admit func(token string, bytes int64) bool
}

// DroppedSuffix ends the name under which rejects that were not admitted count.
const DroppedSuffix = "_dropped"

// rejectBytes ends a block of rejects with the row that reaches it. A segment
// of short records has more of them than one block, and than memory: their
// lines are many times as long.
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

// takeBack takes back the rejects behind the first n, as far as they are still
// here.
func (r *run) takeBack(n int) {
	if rows := r.out.Rejects; rows != nil {
		keep := max(n-r.gone, 0)
		end := 0
		if keep > 0 {
			end = rows.Ends[keep-1]
		}
		rows.Data, rows.Ends = rows.Data[:end], rows.Ends[:keep]
	}
}

// spill writes the blocks of rejects that are full. They are cut by their rows
// alone, so that it does not matter when.
func (r *run) spill(ctx context.Context) error {
	rows := r.out.Rejects
	if rows == nil || len(rows.Data) < rejectBytes {
		return nil
	}
	if err := r.writer.wait(); err != nil {
		return err
	}
	n, err := r.writer.writeRejects(ctx, r.segment, rows, false)
	if err != nil {
		return err
	}
	r.gone += n
	end := rows.Ends[n-1]
	rows.Data = rows.Data[:copy(rows.Data, rows.Data[end:])]
	rows.Ends = rows.Ends[:copy(rows.Ends, rows.Ends[n:])]
	for i := range rows.Ends {
		rows.Ends[i] -= end
	}
	return nil
}

// writeRejects writes full blocks of rows, and with all what is left of them,
// and returns how many rows that were.
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
		if err := w.writeReject(ctx, segment, k, rows.Data[start:end:end]); err != nil {
			return n, err
		}
		n, start = n+k, end
	}
	return n, nil
}

// writeReject writes one block, if it is admitted.
func (w *writer) writeReject(ctx context.Context, segment, rows int, data []byte) error {
	s := w.pipe.config.Rejects
	b := sink.Block{
		Unit: w.unit, Series: w.series, Segment: segment, Part: w.part, Rows: rows, Data: data,
		Token: sink.Token(w.unit, s.Name, w.series, segment, w.part, data),
	}
	w.part++
	name := s.Name
	if s.Admit != nil && !s.Admit(b.Token, int64(len(data))) {
		name += DroppedSuffix
	} else if err := s.Write(ctx, &b); err != nil {
		return fmt.Errorf("sink %s: %w", s.Name, err)
	} else {
		w.pipe.metrics.wrote(w.pipe.outputs, rows, len(data))
	}
	w.counts.AddSink(name, unit.SinkCounts{Records: int64(rows), Blocks: 1, Bytes: int64(len(data))})
	return nil
}
