package memfeed

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
)

// Run delivers to h, at most n messages at a time (0: 1), and waits for every
// handler that it started. After Stop no message is delivered; handlers at work
// keep a context that is alive, and Run returns nil. When ctx ends, handlers see
// it end and Run returns its error.
func (f *Feed) Run(ctx context.Context, n int, h feed.Handler) error {
	var workers sync.WaitGroup
	for range max(n, 1) {
		workers.Go(func() {
			for e := f.next(ctx); e != nil; e = f.next(ctx) {
				f.deliver(ctx, e, h)
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// next waits for a message; nil when deliveries are over.
func (f *Feed) next(ctx context.Context) *entry {
	for {
		e, changed, due := f.take(ctx)
		if e != nil || changed == nil {
			return e
		}
		var timer <-chan time.Time
		if !due.IsZero() {
			timer = time.After(time.Until(due))
		}
		select {
		case <-changed:
		case <-timer:
		case <-ctx.Done():
		}
	}
}

// take takes a message that is ready, or says what to wait for: a change, or
// the time when the first delayed message is due. Neither: deliveries are over.
func (f *Feed) take(ctx context.Context) (e *entry, changed <-chan struct{}, due time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || ctx.Err() != nil {
		return nil, nil, time.Time{}
	}
	f.promote(time.Now())
	if e = f.ready.pop(); e == nil {
		if f.delayed.Len() > 0 {
			due = f.delayed[0].due
		}
		return nil, f.changed, due
	}
	e.receives++
	f.inFlight++
	f.bytes -= int64(len(e.Body))
	f.meters.received.Add(1)
	f.announce()
	return e, nil, time.Time{}
}

// deliver hands e to h and settles what became of it, even when h panics or
// ends its goroutine.
func (f *Feed) deliver(ctx context.Context, e *entry, h feed.Handler) {
	d := feed.Delivery{Message: e.Message, Receives: e.receives, Cap: f.options.Cap}
	d.Body = bytes.Clone(e.Body)
	returned := false
	defer func() {
		if returned {
			return
		}
		// A panic is an answer of its own: it counts even when ctx has ended.
		what := "its goroutine ended"
		if p := recover(); p != nil {
			what = fmt.Sprintf("panic: %v", p)
		}
		err := failure.Errorf(failure.Unit, failure.Operator, "handle unit %s: %s\n%s", e.ID, what, debug.Stack())
		f.options.Log.Error("handler panicked", "job", e.Job, "unit", string(e.ID), "receives", e.receives, "error", err)
		f.fail(e, err)
	}()
	err := h(ctx, d)
	returned = true
	switch {
	case err == nil:
		f.ack()
	case ctx.Err() != nil:
		f.handBack(e)
	default:
		f.fail(e, err)
	}
}

func (f *Feed) ack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	f.meters.acknowledged.Add(1)
	f.announce()
}

// handBack puts e where it was, as if it had not been delivered.
func (f *Feed) handBack(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	e.receives--
	f.bytes += int64(len(e.Body))
	f.ready.unpop(e)
	f.announce()
}

// fail makes e due again after the delay that err carries, or gives it up. The
// delay is used as it is: whoever set it has added the jitter.
func (f *Feed) fail(e *entry, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	f.meters.failed.Add(1)
	if e.receives >= f.options.Cap {
		f.bury(e, err)
	} else {
		f.bytes += int64(len(e.Body))
		f.delay(e, time.Now().Add(feed.Delay(err)))
	}
	f.announce()
}

func (f *Feed) bury(e *entry, err error) {
	f.deadCount++
	f.meters.dead.Set(int64(f.deadCount))
	if size := int64(len(e.Body)); f.deadBytes+size <= f.options.DeadBytes {
		f.deadBytes += size
		f.dead = append(f.dead, feed.DeadLetter{Message: e.Message, Receives: e.receives, Err: err})
	}
}
