package pipe

import (
	"context"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Reading is what one call reads of a unit.
type Reading struct {
	Unit *unit.Unit
	ID   unit.ID
	// From is where the series goes on; nil: it begins.
	From *unit.Cursor
	// Until is when to stop. From then on the reading pauses at the first place
	// where every sink's block ends, once all have acked what is before it;
	// nothing after it is written. Zero: it goes on to the end of the series.
	Until time.Time
	// Acked, if not nil, is called once, at the first place where every sink's
	// block ends and everything is acked, at least one row among it.
	Acked func()
}

// Result is how far a call came.
type Result struct {
	// Counts are of what this call read and every sink acked, up to Cursor if
	// there is one. Added to those of earlier calls they are what a single call
	// would have counted, except for bytes from the store. By themselves they
	// may be negative, where records that were counted no longer count.
	//
	// A row that a sink refused is Rejected in place of Out, once, though other
	// sinks may have taken it; the counts of each sink are of what it took.
	Counts unit.Counts
	// Cursor is where the series goes on; nil: it is at its end and committed.
	// Beside an error it is the last place up to which every sink had acked
	// everything, nil if there was none in this call.
	Cursor *unit.Cursor
}

// series is one reading of a unit, or of a faulty member of it: segments and
// tokens carry its number.
type series struct {
	Reading
	number  int
	turn    int64 // among the process's series
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

	// Of a member that an earlier call paused in:
	done      int64 // records framed up to there
	offset    int64 // byte of the object where reading may go on; 0: nowhere but at its beginning
	undecoded int64 // of its records, counted as rejected by then
}

const noLimit = -1

// ReadUnit reads a unit as series 0, its known faulty members only as far as their
// faults say. A member that proves bad is passed to found, and the others are
// delivered all the same.
func (p *Pipe) ReadUnit(ctx context.Context, r Reading, known []unit.Fault,
	found func(context.Context, unit.Fault) error,
) (Result, error) {
	s := series{Reading: r, found: found}
	for i := range r.Unit.Objects {
		m := member{ordinal: i, limit: noLimit}
		for _, f := range known {
			if f.Member == i {
				m.limit = f.Framed
				m.void = f.Record < f.Framed
			}
		}
		s.add(m)
	}
	return p.admit(ctx, s)
}

// ReadMember reads a faulty member from where it was left, as a series of its own.
// An error with scope failure.Member says that it is still bad.
func (p *Pipe) ReadMember(ctx context.Context, r Reading, f unit.Fault) (Result, error) {
	s := series{Reading: r, number: f.Member + 1}
	s.add(member{ordinal: f.Member, skip: f.Record, limit: noLimit})
	return p.admit(ctx, s)
}

// add appends a member if anything is left to read of it.
func (s *series) add(m member) {
	if c := s.From; c != nil {
		if m.ordinal < c.Member {
			return
		}
		if m.ordinal == c.Member {
			m.done, m.offset, m.undecoded = c.Record, c.Offset, c.Undecoded
		}
	}
	if m.limit == noLimit || m.done < m.limit {
		s.members = append(s.members, m)
	}
}

// parts are the stretches to fetch, one a member.
func (s *series) parts() []object.Part {
	parts := make([]object.Part, len(s.members))
	for i, m := range s.members {
		o := s.Unit.Objects[m.ordinal]
		p := object.Part{Object: o, Start: m.offset, End: o.Size}
		if g := s.Unit.Range; g != nil {
			// The byte before tells whether a record begins at Start; a record
			// that begins before End may go on after it.
			p = object.Part{Object: o, Start: max(g.Start-1, m.offset, 0), End: g.End, Limit: o.Size}
			if p.Start >= p.End { // the last record went on after it
				p.End, p.Limit = p.Start, 0
			}
		}
		parts[i] = p
	}
	return parts
}

// once lets Acked be called once, however often the series starts over.
func (s *series) once() {
	if s.Acked != nil {
		s.Acked = sync.OnceFunc(s.Acked)
	}
}
