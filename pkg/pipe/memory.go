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
)

// floor is what a series holds of the budget from its start.
type floor struct {
	fixed  int64 // piece and longest record
	window int64 // decoder window
	block  int64 // rows of the segment at hand, all sinks
}

func (f floor) total() int64 { return f.fixed + f.window + f.block }

func floorOf(need, sinks int) floor {
	return floor{
		fixed:  pieceBytes + int64(need),
		window: codec.DefaultWindow,
		block:  blockBytes * int64(sinks),
	}
}

// Floor is the number of bytes that a unit needs to be begun, framed by f and
// written to so many sinks. Under a smaller budget none can be read.
func Floor(f frame.Framer, sinks int) int64 { return floorOf(f.Need(), sinks).total() }

// growError ends a series that needs more than its floor when there is no more
// to be had at once. Waiting for it while holding the floor could wait for
// ever: another series may do the same.
type growError struct{ floor floor }

func (e *growError) Error() string {
	return fmt.Sprintf("needs %v of memory", config.Size(e.floor.total()))
}

// admit runs a series under its floor; a series that outgrows it gives all its
// memory back and starts again with a larger one. Its sinks know the blocks
// that they have seen.
func (p *Pipe) admit(ctx context.Context, s series) (Result, error) {
	s.once()
	f := floorOf(p.need, len(p.config.Sinks))
	for {
		res, err := p.under(ctx, s, f)
		g, ok := errors.AsType[*growError](err)
		if !ok {
			return res, err
		}
		f = g.floor
	}
}

func (p *Pipe) under(ctx context.Context, s series, f floor) (Result, error) {
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
	return m.grow(want)
}

// block admits n bytes of rows.
func (m *memory) block(n int64) error {
	if n <= m.floor.block {
		return nil
	}
	want := m.floor
	want.block = max(n, 2*m.floor.block)
	if want.total() > m.budget.Size() {
		want.block = n
	}
	if want.total() > m.budget.Size() {
		return failure.Errorf(failure.Unit, failure.TooLarge,
			"one segment's rows take %v: with them the unit needs %v of memory and pipeline.memory is %v: raise pipeline.memory",
			config.Size(n), config.Size(want.total()), config.Size(m.budget.Size()))
	}
	return m.grow(want)
}

func (m *memory) grow(want floor) error {
	more := want.total() - m.floor.total()
	if !m.budget.TryAcquire(more) {
		return &growError{want}
	}
	m.floor = want
	m.held += more
	return nil
}
