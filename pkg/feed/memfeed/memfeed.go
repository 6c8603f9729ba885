// Package memfeed is the feed of a job that runs in one process. Its messages
// are lost with the process; the units that they carried are open in the ledger.
//
// It is bounded: Send blocks while as many messages, or bytes of them, are waiting
// as the options allow. A message that failed comes back without asking for room,
// so no delivery ever waits for a sender; and it counts while it waits, so what
// is held is bounded by the options and the number of deliveries at work.
//
// Jobs take turns. Within a job, messages are delivered in the order in which they
// became due.
package memfeed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/metric"
)

var _ feed.Sender = (*Feed)(nil)

// ErrStopped is what Send returns once nothing will be delivered any more.
var ErrStopped = errors.New("feed is stopped")

// Options tune a Feed. The zero value is usable.
type Options struct {
	Cap           int   // deliveries after which a message is given up; 0: 10
	Capacity      int   // messages that may wait; 0: 1024
	CapacityBytes int64 // bytes of their bodies; 0: 16 MiB. One message alone may be larger
	// DeadBytes bounds the bodies of the dead letters that are kept for inspection;
	// later ones are only counted. 0: 64 MiB.
	DeadBytes int64
	Log       *slog.Logger     // for handlers that panic; nil: nothing is logged
	Metrics   *metric.Registry // nil: nothing is measured
	Labels    []metric.Label   // of the metrics
}

func (o Options) withDefaults() Options {
	o.Cap = cmp.Or(o.Cap, 10)
	o.Capacity = cmp.Or(o.Capacity, 1024)
	o.CapacityBytes = cmp.Or(o.CapacityBytes, 16<<20)
	o.DeadBytes = cmp.Or(o.DeadBytes, 64<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Feed is an in-process feed.
type Feed struct {
	options Options
	meters  meters

	mu        sync.Mutex
	ready     turns
	delayed   schedule
	bytes     int64 // of what is ready or delayed
	inFlight  int
	failures  int
	dead      []feed.DeadLetter
	deadCount int
	deadBytes int64
	stopped   bool
	changed   chan struct{} // closed and replaced when anything above changes
}

// entry is a message in the feed.
type entry struct {
	feed.Message
	receives int
	due      time.Time // while delayed
	failed   int       // number of the failure that delayed it
}

// New returns an empty feed.
func New(o Options) *Feed {
	o = o.withDefaults()
	return &Feed{options: o, meters: newMeters(o), changed: make(chan struct{})}
}

// announce wakes all who wait for a change. The caller holds the lock.
func (f *Feed) announce() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Send implements [feed.Sender]. It enters the messages one by one as room
// comes, so a batch of any size passes. ErrStopped after Stop.
func (f *Feed) Send(ctx context.Context, ms ...feed.Message) error {
	for i, m := range ms {
		if err := f.send(ctx, m); err != nil {
			return fmt.Errorf("send unit %s, number %d of %d: %w", m.ID, i+1, len(ms), err)
		}
	}
	return nil
}

func (f *Feed) send(ctx context.Context, m feed.Message) error {
	for {
		sent, changed, err := f.trySend(ctx, m)
		if sent || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *Feed) trySend(ctx context.Context, m feed.Message) (sent bool, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, nil, err
	}
	if f.stopped {
		return false, nil, ErrStopped
	}
	waiting, size := f.ready.n+f.delayed.Len(), int64(len(m.Body))
	if waiting > 0 && (waiting >= f.options.Capacity || f.bytes+size > f.options.CapacityBytes) {
		return false, f.changed, nil
	}
	m.Body = bytes.Clone(m.Body)
	f.bytes += size
	f.ready.push(&entry{Message: m})
	f.meters.published.Add(1)
	f.announce()
	return true, nil, nil
}

// Stop ends every Run once the handlers at work have returned. It may be called
// before Run and more than once.
func (f *Feed) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		f.stopped = true
		f.announce()
	}
}

// Depth counts the messages, exactly.
func (f *Feed) Depth() feed.Depth {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.promote(time.Now())
	return feed.Depth{Ready: f.ready.n, Delayed: f.delayed.Len(), InFlight: f.inFlight, Dead: f.deadCount}
}

// DeadLetters yields the messages that were given up, oldest first, as far as
// DeadBytes kept them.
func (f *Feed) DeadLetters(yield func(feed.DeadLetter) bool) {
	f.mu.Lock()
	dead := slices.Clone(f.dead)
	f.mu.Unlock()
	for _, d := range dead {
		d.Body = bytes.Clone(d.Body)
		if !yield(d) {
			return
		}
	}
}
