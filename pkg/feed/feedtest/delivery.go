package feedtest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/feed"
)

var delivery = []subtest{
	{"every message that was sent is delivered, as it was sent", deliversAll},
	{"a probe arrives as one, also when it comes again, and nothing else does", probes},
	{"a message that was acked is not delivered again", acks},
	{"a message that was sent twice is delivered twice", deliversTwice},
	{"depth counts what is ready and what is in flight", counts},
	{"a delivery whose context ended comes again and is no attempt", cancelled},
	{"Run returns only after its handlers did", waits},
}

func deliversAll(t *testing.T, h Harness) {
	const limit = 4
	f, ms, got := h.Open(t, limit), messages(25), &log{}
	send(t, f, ms...)
	run(t, f, 4, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	for _, m := range ms {
		h.eventually(t, "unit "+string(m.ID)+" is delivered", func() bool { return len(got.of(m.ID)) > 0 })
		d := got.of(m.ID)[0]
		if !bytes.Equal(d.Body, m.Body) || d.Job != m.Job {
			t.Errorf("sent %+v, delivered %+v", m, d.Message)
		}
		if d.Receives < 1 || d.Receives > 1+h.ExtraReceives {
			t.Errorf("first delivery of %s: Receives is %d", m.ID, d.Receives)
		}
		if d.Cap != limit {
			t.Errorf("delivery of %s: Cap is %d, want %d", m.ID, d.Cap, limit)
		}
		if (d.Extend != nil) != (h.Lease > 0) {
			t.Errorf("delivery of %s: Extend is there: %v; lease %v", m.ID, d.Extend != nil, h.Lease)
		}
	}
}

func probes(t *testing.T, h Harness) {
	f, ms, got := h.Open(t, 4), messages(3), &log{}
	ms[1].Probe = true
	send(t, f, ms...)
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if len(got.of(d.ID)) == 1 {
			return feed.RetryAfter(errBad, h.Delay)
		}
		return nil
	})
	for _, m := range ms {
		h.eventually(t, "unit "+string(m.ID)+" comes again", func() bool { return len(got.of(m.ID)) > 1 })
		for i, d := range got.of(m.ID) {
			if d.Probe != m.Probe {
				t.Errorf("unit %s, delivery %d: Probe is %v", m.ID, i+1, d.Probe)
			}
		}
	}
	h.settles(t, f, 0, 0, 0)
}

func acks(t *testing.T, h Harness) {
	f, ms, got := h.Open(t, 4), messages(12), &log{}
	send(t, f, ms...)
	run(t, f, 3, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	h.eventually(t, "all are delivered", func() bool { return len(got.all()) >= len(ms) })
	h.settles(t, f, 0, 0, 0)
	time.Sleep(h.Lease + h.Quiet)
	if n := len(got.all()); n != len(ms) {
		t.Errorf("%d messages, %d deliveries", len(ms), n)
	}
}

func deliversTwice(t *testing.T, h Harness) {
	f, m, got := h.Open(t, 4), messages(1)[0], &log{}
	send(t, f, m, m)
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	h.eventually(t, "both are delivered", func() bool { return len(got.of(m.ID)) >= 2 })
	h.settles(t, f, 0, 0, 0)
}

func counts(t *testing.T, h Harness) {
	f, release := h.Open(t, 4), make(chan struct{})
	h.settles(t, f, 0, 0, 0)
	send(t, f, messages(5)...)
	h.settles(t, f, 5, 0, 0)
	run(t, f, 1, func(ctx context.Context, d feed.Delivery) error {
		if h.Lease > 0 { // it may take a while to be counted
			if err := d.Extend(ctx, h.Wait); err != nil {
				t.Errorf("Extend: %v", err)
			}
		}
		<-release
		return nil
	})
	h.settles(t, f, 4, 1, 0)
	close(release)
	h.settles(t, f, 0, 0, 0)
}

func cancelled(t *testing.T, h Harness) {
	limit, times := 2, 3 // more often than the cap
	if h.CountsCancelled {
		limit, times = 2+h.ExtraReceives, 1
	}
	f, m, got := h.Open(t, limit), messages(1)[0], &log{}
	send(t, f, m)
	for n := 1; n <= times; n++ {
		stop := run(t, f, 1, func(ctx context.Context, d feed.Delivery) error {
			got.add(d)
			<-ctx.Done()
			return ctx.Err()
		})
		h.eventually(t, "it is delivered", func() bool { return len(got.of(m.ID)) >= n })
		stop()
		if !h.CountsCancelled {
			h.settles(t, f, 1, 0, 0)
		}
	}
	run(t, f, 1, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	h.eventually(t, "it comes again", func() bool { return len(got.of(m.ID)) > times })
	h.settles(t, f, 0, 0, 0)
	most := 1 + h.ExtraReceives
	if h.CountsCancelled {
		most++
	}
	for _, d := range got.of(m.ID) {
		if d.Receives < 1 || d.Receives > most {
			t.Errorf("Receives is %d, want 1 to %d", d.Receives, most)
		}
	}
}

func waits(t *testing.T, h Harness) {
	f, begun, returned := h.Open(t, 2), make(chan struct{}), &log{}
	send(t, f, messages(1)...)
	stop := run(t, f, 2, func(ctx context.Context, d feed.Delivery) error {
		close(begun)
		<-ctx.Done()
		time.Sleep(h.Delay)
		returned.add(d)
		return nil
	})
	<-begun
	stop()
	if len(returned.all()) != 1 {
		t.Error("Run returned while a handler was at work")
	}
	h.settles(t, f, 0, 0, 0) // what a handler finished after the end is acked all the same
}
