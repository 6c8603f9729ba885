// Package budget is the process's memory bound (INV-6): one weighted semaphore
// that admits windows, decoder windows, records and blocks.
//
// A unit acquires its floor in one step before it starts. Beyond the floor it
// only tries, and never waits while it holds memory, so no two units can wait
// for each other.
package budget

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/failure"
)

// Budget is a number of bytes shared by everything that holds memory.
type Budget struct {
	sem  *semaphore.Weighted
	size int64
}

// New returns a budget of size bytes.
func New(size int64) *Budget {
	return &Budget{sem: semaphore.NewWeighted(size), size: size}
}

// Size is the whole budget in bytes.
func (b *Budget) Size() int64 { return b.size }

// Acquire waits for n bytes. More than the whole budget fails at once, as
// failure.Unit with too_large; otherwise the error is ctx's.
func (b *Budget) Acquire(ctx context.Context, n int64) error {
	if n > b.size {
		return failure.Errorf(failure.Unit, failure.TooLarge,
			"needs %v of memory and pipeline.memory is %v: raise pipeline.memory", config.Size(n), config.Size(b.size))
	}
	return b.sem.Acquire(ctx, n)
}

// TryAcquire takes n bytes if they are free now.
func (b *Budget) TryAcquire(n int64) bool { return b.sem.TryAcquire(n) }

// Release gives n bytes back.
func (b *Budget) Release(n int64) { b.sem.Release(n) }
