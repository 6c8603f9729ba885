package feedtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/feed"
)

var bounds = []subtest{
	{"as many are delivered at once as asked for, and no more", concurrency},
	{"Send under a context that ended says so", sendCancelled},
	{"a full feed makes Send wait for room", sendWaits},
	{"a Send that waits for room ends with its context", waitCancelled},
	{"a batch larger than the feed passes while it is read", largeBatch},
	{"a delivery that is extended does not come again meanwhile", extends},
	{"a delivery that is not extended comes again", lapses},
}

func concurrency(t *testing.T, h Harness) {
	const n = 3
	f, full := h.Open(t, 4), make(chan struct{})
	var mu sync.Mutex
	active, most, done := 0, 0, 0
	send(t, f, messages(4*n)...)
	run(t, f, n, func(context.Context, feed.Delivery) error {
		mu.Lock()
		active++
		most = max(most, active)
		if active == n && most == n {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		select {
		case <-full: // with all at work, a further one would show by now
			time.Sleep(h.Quiet / 4)
		case <-time.After(h.Wait / 2):
		}
		mu.Lock()
		defer mu.Unlock()
		active--
		done++
		return nil
	})
	h.eventually(t, "all are delivered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return done >= 4*n
	})
	mu.Lock()
	defer mu.Unlock()
	if most != n {
		t.Errorf("asked for %d at once, had up to %d", n, most)
	}
}

func sendCancelled(t *testing.T, h Harness) {
	f := h.Open(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Sender.Send(ctx, messages(3)...); !errors.Is(err, context.Canceled) {
		t.Errorf("Send: %v", err)
	}
}

func (h Harness) bounded(t *testing.T) {
	t.Helper()
	if h.Capacity == 0 {
		t.Skip("this feed has no bound that a test could reach")
	}
}

func sendWaits(t *testing.T, h Harness) {
	h.bounded(t)
	f, sent, got := h.Open(t, 4), make(chan error, 1), &log{}
	ms := messages(h.Capacity + 1)
	send(t, f, ms[:h.Capacity]...)
	go func() { sent <- f.Sender.Send(context.Background(), ms[h.Capacity]) }()
	select {
	case err := <-sent:
		t.Errorf("a full feed took a message: %v", err)
		sent <- err
	case <-time.After(h.Quiet):
	}
	run(t, f, 1, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	if err := <-sent; err != nil {
		t.Errorf("Send: %v", err)
	}
	arrive(t, h, got, ms)
}

func waitCancelled(t *testing.T, h Harness) {
	h.bounded(t)
	f := h.Open(t, 4)
	send(t, f, messages(h.Capacity)...)
	ctx, cancel := context.WithTimeout(t.Context(), h.Quiet)
	defer cancel()
	if err := f.Sender.Send(ctx, messages(1)...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Send: %v", err)
	}
}

func largeBatch(t *testing.T, h Harness) {
	h.bounded(t)
	f, ms, got := h.Open(t, 4), messages(2*h.Capacity+5), &log{}
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if len(got.of(d.ID)) == 1 {
			return errBad // what comes again asks for no room
		}
		return nil
	})
	send(t, f, ms...)
	arrive(t, h, got, ms)
	h.settles(t, f, 0, 0, 0)
}

func (h Harness) leased(t *testing.T) {
	t.Helper()
	if h.Lease == 0 {
		t.Skip("a delivery of this feed needs no renewing")
	}
}

func extends(t *testing.T, h Harness) {
	h.leased(t)
	f, m, got := h.Open(t, 4), messages(1)[0], &log{}
	send(t, f, m)
	run(t, f, 2, func(ctx context.Context, d feed.Delivery) error {
		got.add(d)
		for range 4 {
			if err := d.Extend(ctx, h.Lease); err != nil {
				t.Errorf("Extend: %v", err)
			}
			time.Sleep(h.Lease / 2)
		}
		return nil
	})
	h.eventually(t, "it is delivered", func() bool { return len(got.of(m.ID)) > 0 })
	h.settles(t, f, 0, 0, 0)
	if n := len(got.of(m.ID)); n != 1 {
		t.Errorf("delivered %d times", n)
	}
}

func lapses(t *testing.T, h Harness) {
	h.leased(t)
	f, m, got := h.Open(t, 4), messages(1)[0], &log{}
	again := make(chan struct{})
	repeated := sync.OnceFunc(func() { close(again) })
	send(t, f, m)
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if len(got.of(m.ID)) > 1 {
			repeated()
			return nil
		}
		select { // it froze
		case <-again:
		case <-time.After(h.Wait):
		}
		return errBad
	})
	h.eventually(t, "it comes again", func() bool { return len(got.of(m.ID)) > 1 })
}
