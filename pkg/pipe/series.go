package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/unit"
)

// series is one reading of a unit, or of a faulty member of it: segments and
// tokens carry its number.
type series struct {
	unit    *unit.Unit
	id      unit.ID
	number  int
	members []member
	// found records a fault, durably, before any later block is written.
	found func(context.Context, unit.Fault) error
}

// member is what a series reads of one object.
type member struct {
	ordinal int
	skip    int64 // records framed and passed over first
	limit   int64 // records to frame; noLimit reads to the end
	void    bool  // they fill segments but count for nothing
}

const noLimit = -1

// Rest reads a unit as series 0, with the faulty members as far as they count.
// A member that proves bad is reported through found and its neighbours are
// delivered all the same. A nil error says that every block was acked and
// committed by every sink.
func (p *Pipe) Rest(ctx context.Context, u *unit.Unit, id unit.ID, known []unit.Fault,
	found func(context.Context, unit.Fault) error,
) (unit.Counts, error) {
	s := series{unit: u, id: id, found: found}
	for i := range u.Objects {
		m := member{ordinal: i, limit: noLimit}
		for _, f := range known {
			if f.Member == i {
				m.limit = f.Framed
				m.void = f.Record < f.Framed
			}
		}
		if m.limit != 0 {
			s.members = append(s.members, m)
		}
	}
	return p.admit(ctx, s)
}

// Member reads a faulty member from where it was left, as a series of its own.
// An error with scope failure.Member says that it is still bad.
func (p *Pipe) Member(ctx context.Context, u *unit.Unit, id unit.ID, f unit.Fault) (unit.Counts, error) {
	return p.admit(ctx, series{
		unit: u, id: id, number: f.Member + 1,
		members: []member{{ordinal: f.Member, skip: f.Record, limit: noLimit}},
	})
}

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
	rows    []chain.Rows // of the segment at hand; taken when there is something to put in
	out     chain.Output // its rows are those
	gone    int          // rejects that are out of rows
	writer  writer
	decoded int64
}

func (p *Pipe) run(ctx context.Context, s series, m *memory) (counts unit.Counts, err error) {
	w := p.takeWorker()
	defer func() {
		if m.floor.window > codec.DefaultWindow { // a decoder may hold on to what goes back
			w.codec.Close()
		}
		p.putWorker(w)
	}()
	w.window = m.window
	r := &run{
		Pipe: p, series: s, w: w, mem: m,
		objects: object.NewReader(ctx, p.config.Source, s.parts(), p.metrics.reader()),
		writer:  writer{pipe: p, unit: s.id, series: s.number},
	}
	r.src.Reader = r.objects
	defer func() {
		// Neither the write under way nor the requests sent ahead outlive the
		// series.
		err = errors.Join(err, r.writer.wait(), r.objects.Close())
		p.putRows(r.rows)
	}()
	if err := r.read(ctx); err != nil {
		return unit.Counts{}, err
	}
	if err := r.writer.commit(ctx); err != nil {
		return unit.Counts{}, err
	}
	counts = r.writer.counts
	counts.Counts = r.out.Counts
	counts.BytesRead = r.src.bytes
	counts.BytesDecoded = r.decoded
	return counts, nil
}

// parts are the stretches to fetch, one a member.
func (s *series) parts() []object.Part {
	parts := make([]object.Part, len(s.members))
	for i, m := range s.members {
		o := s.unit.Objects[m.ordinal]
		parts[i] = object.Part{Object: o, End: o.Size}
		if g := s.unit.Range; g != nil {
			// The byte before tells whether a record begins at Start; a record
			// that begins before End may go on after it.
			parts[i] = object.Part{Object: o, Start: max(g.Start-1, 0), End: g.End, Limit: o.Size}
		}
	}
	return parts
}

// read reads the members, closing a segment at the end of every group.
func (r *run) read(ctx context.Context) error {
	groups := segment.Groups(r.unit.Objects)
	for i, m := range r.members {
		if i > 0 && groups[m.ordinal] != groups[r.members[i-1].ordinal] {
			if err := r.closeGroup(ctx); err != nil {
				return err
			}
		}
		if err := r.objects.Next(); err != nil {
			return fmt.Errorf("open %s: %w", r.unit.Objects[m.ordinal].Key, err)
		}
		if err := r.member(ctx, m); err != nil {
			return err
		}
	}
	return r.closeGroup(ctx)
}

func (r *run) closeGroup(ctx context.Context) error {
	if !r.cut.Close() {
		return nil
	}
	return r.seal(ctx)
}

// seal ends the segment and hands its rows to the sinks.
func (r *run) seal(ctx context.Context) error {
	rows, n := r.rows, r.segment
	if r.out.Rejects != nil {
		r.gone += len(r.out.Rejects.Ends)
	}
	r.rows, r.out.Sinks, r.out.Rejects = nil, nil, nil // by the time the next are needed, a fast sink is done with these
	r.segment++
	return r.writer.put(ctx, n, rows)
}

// member reads one member and settles what a fault of it means.
func (r *run) member(ctx context.Context, m member) error {
	counts, undecoded, rejects := r.out.Counts, r.out.Undecoded, r.rejects()
	framed, err := r.frames(ctx, m)
	f := unit.Fault{Member: m.ordinal, Record: framed, Framed: framed}
	if err == nil {
		n := framed - m.skip
		whole := m.limit == noLimit && (r.unit.Range == nil || r.unit.Range.Start == 0)
		wrong := whole && n >= wrongFormat && r.out.Undecoded-undecoded == n
		if wrong {
			f.Record = 0
			err = failure.Errorf(failure.Member, failure.Undecodable,
				"%s: none of its %d records decodes: is it the format that the pipeline decodes?", r.key(m), n)
		}
		if wrong || m.void {
			r.out.Counts = counts
			r.takeBack(rejects)
		}
	}
	if err == nil || r.found == nil || !failure.Is(err, failure.Member) {
		return err
	}
	_, f.Reason = failure.Of(err)
	f.Detail = err.Error()
	return r.found(ctx, f)
}

// wrongFormat is the number of records from which a member of which none
// decodes is taken to be of another format. Of a member that was cut its first
// range is judged: a bad stretch further on is no format.
const wrongFormat = 100

func (r *run) key(m member) string { return r.unit.Objects[m.ordinal].Key }

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
