package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/unit"
)

// run is a series under way.
type run struct {
	*Pipe
	series
	w       *worker
	mem     *memory
	objects *object.Reader
	src     source
	cut     segment.Cutter
	segment int
	rows    []chain.Rows // of the current segment; taken once there is something to put in
	out     chain.Output // its rows are those
	gone    int          // rejects that are no longer in rows
	writer  writer
	decoded int64
}

func (p *Pipe) run(ctx context.Context, s series, m *memory) (res Result, err error) {
	w := p.takeWorker()
	defer func() {
		if m.floor.window > codec.DefaultWindow { // the decoder would keep memory that is given back
			w.codec.Close()
		}
		p.putWorker(w)
	}()
	w.window = m.window
	r := &run{
		Pipe: p, series: s, w: w, mem: m,
		objects: object.NewReader(ctx, p.config.Source, s.parts(), p.metrics.reader()),
		writer:  writer{pipe: p, unit: s.ID, objects: s.Unit.Objects, series: s.number, onAcked: s.Acked},
	}
	if s.From != nil {
		r.segment, r.writer.begin = s.From.Segment, s.From.Segment
	}
	r.src.Reader = r.objects
	defer func() {
		// Neither the write under way nor the requests sent ahead outlive the
		// series.
		err = errors.Join(err, r.writer.wait(), r.objects.Close())
		p.putRows(r.rows)
		if err != nil {
			res = r.writer.acked.result()
		}
	}()
	err = r.read(ctx)
	if errors.Is(err, errPaused) {
		return r.writer.acked.result(), nil
	}
	if err == nil {
		err = r.writer.commit(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	counts := r.writer.counts
	counts.Counts = r.out.Counts
	counts.Counts.Add(r.writer.refused.moved)
	counts.BytesRead = r.src.bytes
	counts.BytesDecoded = r.decoded
	return Result{Counts: counts}, nil
}

// read reads the members, closing a segment at the end of every group.
func (r *run) read(ctx context.Context) error {
	groups := segment.Groups(r.Unit.Objects)
	for i, m := range r.members {
		if i > 0 && groups[m.ordinal] != groups[r.members[i-1].ordinal] {
			if err := r.closeGroup(ctx, m); err != nil {
				return err
			}
		}
		if err := r.objects.Next(); err != nil {
			return fmt.Errorf("open %s: %w", r.key(m), err)
		}
		if err := r.member(ctx, m); err != nil {
			return err
		}
	}
	// Even if no segment is under way, a block of earlier ones may be.
	if !r.cut.Close() && r.rows == nil {
		return nil
	}
	return r.seal(ctx, nil) // nothing resumes at the end
}

// closeGroup ends the segment where the next member begins another group. The
// reading may pause there even where no segment was under way.
func (r *run) closeGroup(ctx context.Context, next member) error {
	under := r.cut.Close()
	end := &place{counts: r.counts(), cursor: unit.Cursor{Member: next.ordinal}}
	if under {
		return r.seal(ctx, end)
	}
	if !r.allEnd(r.segment) {
		return nil
	}
	end.cursor.Series, end.cursor.Segment = r.number, r.segment
	return r.pause(end)
}

// seal ends the segment and hands the rows of the blocks that end with it to
// the sinks. If all blocks end, the series can resume at end; nil: the series
// ends, and so do they.
func (r *run) seal(ctx context.Context, end *place) error {
	if r.out.Rejects != nil {
		r.gone += len(r.out.Rejects.Ends)
	}
	c := cut{segment: r.segment, routed: r.out.Routed}
	r.segment++
	c.whole = end == nil || r.allEnd(r.segment)
	c.rows = r.cutRows(r.segment, c.whole)
	if c.whole && end != nil {
		c.end = end
		end.cursor.Series, end.cursor.Segment = r.number, r.segment
	}
	if err := r.writer.put(ctx, c); err != nil || c.end == nil {
		return err
	}
	return r.pause(end)
}

// errPaused ends a reading that is past Until, at a place.
var errPaused = errors.New("paused")

// pause ends the reading at a place, if it is past its time.
func (r *run) pause(at *place) error {
	if r.Until.IsZero() || time.Now().Before(r.Until) {
		return nil
	}
	if err := r.writer.wait(); err != nil {
		return err
	}
	r.writer.ack(at)
	return errPaused
}

// wrongFormat is how many records a member must have, none of which decodes, to
// be taken for one of another format. Of a member that was cut only the first
// range is judged: a bad stretch further on says nothing about the format.
const wrongFormat = 100

// member reads one member and settles what a fault of it means.
func (r *run) member(ctx context.Context, m member) error {
	c := r.cursor(m)
	rejects := r.rejects()
	framed, err := r.frames(ctx, c)
	f := unit.Fault{Member: m.ordinal, Record: framed, Framed: framed}
	if err == nil {
		n := framed - m.skip
		whole := m.limit == noLimit && (r.Unit.Range == nil || r.Unit.Range.Start == 0)
		wrong := whole && n >= wrongFormat && r.undecodedOf(c) == n
		if wrong {
			f.Record = 0
			err = failure.Errorf(failure.Member, failure.Undecodable,
				"%s: none of its %d records decodes: does decode name its format?", r.key(m), n)
		}
		if wrong || m.void {
			r.out.Counts = c.without
			r.dropRejects(rejects)
		}
	}
	if err == nil || r.found == nil || !failure.Is(err, failure.Member) {
		return err
	}
	_, f.Reason = failure.Of(err)
	f.Detail = err.Error()
	return r.found(ctx, f)
}

func (r *run) key(m member) string { return r.Unit.Objects[m.ordinal].Key }

// source remembers the error of the store, which a decoder on top may reword:
// a transport that broke is not bad data.
type source struct {
	io.Reader
	bytes int64
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.bytes += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
