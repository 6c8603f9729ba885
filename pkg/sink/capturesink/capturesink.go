// Package capturesink keeps rows in memory for tests. It fails on script, and
// it watches its caller: a call that breaks the contract of sink.Sink is
// reported whether or not the test looks for it.
//
// It is not a sink for real data: nothing bounds what it holds.
package capturesink

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

var _ sink.Sink = (*Sink)(nil)

// Options tune a Sink. The zero value acks everything and keeps repeats.
type Options struct {
	Dedup  bool        // a token that was applied is acked and not applied again
	Limits sink.Limits // zero is none
	Script Script      // what becomes of each call; nil acks all
	// Refuses, if not nil, says why a row is refused, "" if it is not; the
	// sink's Limits then say that it rejects rows. It may be called
	// concurrently.
	Refuses func(row []byte) string
	// Violation is called with each breach of the contract, from the goroutine
	// of the call; testing.T's Errorf fits. Nil panics.
	Violation func(format string, args ...any)
}

// Op is a method of a sink.
type Op string

// The operations that a script decides on.
const (
	Write  Op = "write"
	Commit Op = "commit"
)

// Call is one call of Write or Commit. Of a Commit only Op, Unit, Series and
// Outcome are set.
type Call struct {
	Op      Op
	Block   sink.Block // Data and Ends are the sink's own copies
	Outcome Outcome
	Applied bool  // the rows count, except the refused ones: not failed, not dropped as a repeat
	Refused []int // rows that Refuses refused; an OK call was answered with them
}

// Taken is the data of the rows that were not refused.
func (c *Call) Taken() []byte {
	if len(c.Refused) == 0 {
		return c.Block.Data
	}
	var data []byte
	next := 0
	for _, i := range c.Refused {
		data = append(data, c.Block.Span(next, i)...)
		next = i + 1
	}
	return append(data, c.Block.Span(next, c.Block.Rows)...)
}

// Sink captures blocks. All its methods may be called at any time.
type Sink struct {
	o Options

	mu     sync.Mutex
	calls  []Call                 // guarded by mu, in the order of their ends
	begun  int                    // guarded by mu: calls that started
	tokens map[string]*sink.Block // guarded by mu: first block of each token
	done   map[string]bool        // guarded by mu: tokens that were applied
	units  map[unit.ID]*progress  // guarded by mu
	closed bool                   // guarded by mu
}

// progress is what a unit's calls have come to.
type progress struct {
	busy   bool        // a call is under way
	failed map[int]Op  // series whose last call was not acked
	acked  map[int]int // series with their acked blocks since the last commit
}

// New returns a sink that has captured nothing.
func New(o Options) *Sink {
	o.Limits.Rejects = o.Limits.Rejects || o.Refuses != nil
	return &Sink{
		o:      o,
		tokens: map[string]*sink.Block{},
		done:   map[string]bool{},
		units:  map[unit.ID]*progress{},
	}
}

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, b *sink.Block) error {
	own := *b
	own.Data, own.Ends = slices.Clone(b.Data), slices.Clone(b.Ends)
	c, refused := s.refuse(Call{Op: Write, Block: own})
	if err := s.call(ctx, c); err != nil || refused == nil {
		return err
	}
	return refused
}

// refuse finds the rows that are refused, nil if there are none.
func (s *Sink) refuse(c Call) (Call, *sink.Rejected) {
	if s.o.Refuses == nil {
		return c, nil
	}
	r := new(sink.Rejected)
	for i := range c.Block.Rows {
		row := c.Block.Row(i)
		if why := s.o.Refuses(row); why != "" {
			c.Refused = append(c.Refused, i)
			r.Rows = append(r.Rows, sink.RejectedRow{Index: i, Detail: why, Text: bytes.TrimSuffix(bytes.Clone(row), []byte("\n"))})
		}
	}
	if len(r.Rows) == 0 {
		return c, nil
	}
	return c, r
}

// Commit implements sink.Sink.
func (s *Sink) Commit(ctx context.Context, u unit.ID, series int) error {
	return s.call(ctx, Call{Op: Commit, Block: sink.Block{Unit: u, Series: series}})
}

// call asks the script without holding the lock, so that a script may wait.
func (s *Sink) call(ctx context.Context, c Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := s.begin(&c)
	if s.o.Script != nil {
		c.Outcome = s.o.Script(n, c)
	}
	s.end(&c)
	return c.Outcome.err(c)
}

func (s *Sink) begin(c *Call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check(c)
	s.unit(c.Block.Unit).busy = true
	s.begun++
	return s.begun
}

func (s *Sink) end(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, b := s.unit(c.Block.Unit), &c.Block
	p.busy = false
	if c.Outcome.applies() && c.Op == Write {
		c.Applied = !s.o.Dedup || !s.done[b.Token]
		s.done[b.Token] = true
	}
	switch {
	case c.Outcome != OK:
		p.failed[b.Series] = c.Op
	case c.Op == Write:
		delete(p.failed, b.Series)
		p.acked[b.Series]++
	default:
		delete(p.failed, b.Series)
		delete(p.acked, b.Series)
	}
	s.calls = append(s.calls, *c)
}

// check holds the caller to the contract. The caller holds mu.
func (s *Sink) check(c *Call) {
	b := &c.Block
	p := s.unit(b.Unit)
	if s.closed {
		s.violation("%s of unit %s after Close", c.Op, b.Unit)
	}
	if p.busy {
		s.violation("%s of unit %s while another call of it is under way", c.Op, b.Unit)
	}
	if c.Op == Commit {
		if p.failed[b.Series] == Write {
			s.violation("commit of unit %s, series %d, whose last block was not acked", b.Unit, b.Series)
		}
		return
	}
	if l := s.o.Limits; b.Rows > 1 && (l.Rows > 0 && b.Rows > l.Rows || l.Bytes > 0 && int64(len(b.Data)) > l.Bytes) {
		s.violation("block %s of %d rows, %d bytes is over the limits %+v", b.Token, b.Rows, len(b.Data), l)
	}
	if n := len(b.Ends); b.Ends != nil && (n != b.Rows || n > 0 && b.Ends[n-1]-b.Base != len(b.Data)) {
		s.violation("block %s of %d rows, %d bytes has its rows end at %v from %d on", b.Token, b.Rows, len(b.Data), b.Ends, b.Base)
	}
	if b.Token == "" {
		s.violation("block %d.%d.%d of unit %s has no token", b.Series, b.Segment, b.Part, b.Unit)
		return
	}
	first, ok := s.tokens[b.Token]
	if !ok {
		s.tokens[b.Token] = b
		return
	}
	if string(first.Data) != string(b.Data) || first.Rows != b.Rows || placeOf(first) != placeOf(b) {
		s.violation("token %s came again with other rows or another place", b.Token)
	}
}

func placeOf(b *sink.Block) string {
	return fmt.Sprintf("%s %d.%d.%d", b.Unit, b.Series, b.Segment, b.Part)
}

func (s *Sink) unit(u unit.ID) *progress {
	p, ok := s.units[u]
	if !ok {
		p = &progress{failed: map[int]Op{}, acked: map[int]int{}}
		s.units[u] = p
	}
	return p
}

func (s *Sink) violation(format string, args ...any) {
	if s.o.Violation == nil {
		panic("capturesink: " + fmt.Sprintf(format, args...))
	}
	s.o.Violation("capturesink: "+format, args...)
}

// Limits implements sink.Sink.
func (s *Sink) Limits() sink.Limits { return s.o.Limits }

// Close implements sink.Sink. What was captured stays readable.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for u, p := range s.units {
		if p.busy {
			s.violation("close while a call of unit %s is under way", u)
		}
	}
	s.closed = true
	return nil
}
