package pipe

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/sink"
)

// floor is what a series holds of the budget from its start.
type floor struct {
	fixed    int64 // piece and longest record
	window   int64 // decoder window
	block    int64 // rows of the current blocks, all sinks
	blockMax int64 // usual upper bound of block
}

func (f floor) total() int64 { return f.fixed + f.window + f.block }

// floorOf is the floor that a series begins with: one segment for every sink,
// even for those that join several. Most units are smaller than one, and their
// decoded size is not known before they are read.
func floorOf(need int, sinks []sink.Limits) floor {
	f := floor{
		fixed:  pieceBytes + int64(need),
		window: codec.DefaultWindow,
		block:  blockBytes * int64(len(sinks)),
	}
	for _, l := range sinks {
		f.blockMax += blockBytes * int64(l.Joined())
	}
	return f
}

// Floor is the memory, in bytes, that a unit of any size may need if it is
// framed by f and written to sinks with these limits, those of the rejects
// included: for each sink the rows of as many segments as it joins. With a
// smaller budget a unit that needs all of it fails.
func Floor(f frame.Framer, sinks ...sink.Limits) int64 {
	all := floorOf(f.Need(), sinks)
	all.block = all.blockMax
	return all.total()
}

// growError ends a series that needs more than its floor when no more is free.
// Waiting while it holds the floor could deadlock: another series may do the
// same.
type growError struct{ floor floor }

func (e *growError) Error() string {
	return fmt.Sprintf("needs %v of memory", config.Size(e.floor.total()))
}

// admit runs a series under its floor; a series that outgrows it gives all its
// memory back and starts over with a larger one. Its sinks know the tokens of
// blocks that they have seen.
func (p *Pipe) admit(ctx context.Context, s series) (Result, error) {
	s.once()
	s.turn = p.turns.Add(1)
	f := p.floor
	for {
		res, err := p.attempt(ctx, s, f)
		g, ok := errors.AsType[*growError](err)
		if !ok {
			return res, err
		}
		f = g.floor
	}
}

// attempt runs a series under the floor f.
func (p *Pipe) attempt(ctx context.Context, s series, f floor) (Result, error) {
	if err := p.config.Budget.Acquire(ctx, f.total()); err != nil {
		return Result{}, fmt.Errorf("%s: %w", s.Unit.Objects[0].Key, err)
	}
	m := &memory{budget: p.config.Budget, floor: f, held: f.total()}
	defer func() { p.config.Budget.Release(m.held) }()
	return p.run(ctx, s, m)
}

// memory is what one series holds. It is used by one goroutine.
type memory struct {
	budget *budget.Budget
	floor  floor
	held   int64
}

// window admits a decoder window of n bytes.
func (m *memory) window(n int64) error {
	if n <= m.floor.window {
		return nil
	}
	want := m.floor
	want.window = n
	if want.total() > m.budget.Size() {
		return failure.Errorf(failure.Member, failure.TooLarge,
			"zstd window of %v: with it the unit needs %v of memory and pipeline.memory is %v: raise pipeline.memory",
			config.Size(n), config.Size(want.total()), config.Size(m.budget.Size()))
	}
	if !m.grow(want) {
		return &growError{want}
	}
	return nil
}

// block admits n bytes of rows.
func (m *memory) block(n int64) error {
	if n <= m.floor.block {
		return nil
	}
	want := m.floor
	want.block = max(n, 2*m.floor.block)
	if n <= m.floor.blockMax {
		want.block = min(want.block, m.floor.blockMax)
	}
	if want.total() > m.budget.Size() {
		want.block = n
	}
	if want.total() > m.budget.Size() {
		return failure.Errorf(failure.Unit, failure.TooLarge,
			"the rows of one block take %v: with them the unit needs %v of memory and pipeline.memory is %v: raise pipeline.memory",
			config.Size(n), config.Size(want.total()), config.Size(m.budget.Size()))
	}
	if !m.grow(want) {
		return &growError{m.whole(want)}
	}
	return nil
}

// whole is the floor that a series starts over with when there is no memory for
// its rows: all that its blocks usually need, so that it starts over only once.
// It has read little by then, since the first growth comes with a second
// segment.
func (m *memory) whole(want floor) floor {
	whole := want
	whole.block = max(want.block, want.blockMax)
	if whole.total() > m.budget.Size() {
		return want
	}
	return whole
}

// grow takes what is asked for, if it is free.
func (m *memory) grow(want floor) bool {
	more := want.total() - m.floor.total()
	if !m.budget.TryAcquire(more) {
		return false
	}
	m.floor = want
	m.held += more
	return true
}
