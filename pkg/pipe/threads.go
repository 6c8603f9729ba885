package pipe

import (
	"context"
	"slices"
	"sync"
)

// threads bounds how many pieces go through the chain at once. Among those that
// wait, the series that began first goes first: series end one after the other,
// not all at once, so that sinks get whole blocks early, and the next ones
// while they write those. A thread never waits for a series that is away
// reading.
type threads struct {
	mu      sync.Mutex
	free    int       // guarded by mu
	waiting []*waiter // guarded by mu; in the order of their turns
}

type waiter struct {
	turn  int64
	ready chan struct{} // closed once it has a thread
}

func (t *threads) acquire(ctx context.Context, turn int64) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	w := &waiter{turn, make(chan struct{})}
	i, _ := slices.BinarySearchFunc(t.waiting, turn, func(o *waiter, turn int64) int { return int(o.turn - turn) })
	t.waiting = slices.Insert(t.waiting, i, w)
	t.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i = slices.Index(t.waiting, w)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // a thread was granted meanwhile
		t.release()
	}
	return ctx.Err()
}

func (t *threads) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	close(t.waiting[0].ready)
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
