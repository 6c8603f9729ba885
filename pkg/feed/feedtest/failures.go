package feedtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/unit"
)

var failures = []subtest{
	{"a failed message comes again, counted, and not before its delay", comesAgain},
	{"each failed message waits out its own delay", ownDelay},
	{"a failure without a delay comes again", noDelay},
	{"a message is dead after as many deliveries as the cap, whole", dies},
	{"a message that succeeds at its last delivery is not dead", lastChance},
}

var errBad = errors.New("bad luck")

func comesAgain(t *testing.T, h Harness) {
	f, m, got := h.Open(t, 5), messages(1)[0], &log{}
	var mu sync.Mutex
	var failed time.Time
	send(t, f, m)
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		mu.Lock()
		defer mu.Unlock()
		if len(got.of(m.ID)) > 1 {
			return nil
		}
		failed = time.Now()
		return fmt.Errorf("unit: %w", feed.RetryAfter(errBad, h.Delay))
	})
	h.eventually(t, "it comes again", func() bool { return len(got.of(m.ID)) > 1 })
	h.settles(t, f, 0, 0, 0)
	again := got.of(m.ID)[1]
	if !bytes.Equal(again.Body, m.Body) {
		t.Errorf("came again as %q", again.Body)
	}
	if again.Receives < 2 || again.Receives > 2+h.ExtraReceives {
		t.Errorf("second delivery: Receives is %d", again.Receives)
	}
	mu.Lock()
	defer mu.Unlock()
	if after := again.at.Sub(failed); after < h.Delay-h.Early {
		t.Errorf("came again after %v, asked for %v", after, h.Delay)
	}
}

func ownDelay(t *testing.T, h Harness) {
	f, ms, got := h.Open(t, 5), messages(4), &log{}
	delays := map[unit.ID]time.Duration{}
	for i, n := range []time.Duration{4, 1, 3, 2} {
		delays[ms[i].ID] = n * h.Delay
	}
	send(t, f, ms...)
	run(t, f, len(ms), func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if len(got.of(d.ID)) > 1 {
			return nil
		}
		return feed.RetryAfter(errBad, delays[d.ID])
	})
	for _, m := range ms {
		h.eventually(t, "each comes again", func() bool { return len(got.of(m.ID)) > 1 })
		ds := got.of(m.ID)
		if after := ds[1].at.Sub(ds[0].at); after < delays[m.ID]-h.Early {
			t.Errorf("unit %s came again after %v, asked for %v", m.ID, after, delays[m.ID])
		}
	}
	h.settles(t, f, 0, 0, 0)
}

func noDelay(t *testing.T, h Harness) {
	f, m, got := h.Open(t, 5), messages(1)[0], &log{}
	send(t, f, m)
	run(t, f, 1, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if len(got.of(m.ID)) < 3 {
			return errBad
		}
		return nil
	})
	h.eventually(t, "it is delivered three times", func() bool { return len(got.of(m.ID)) >= 3 })
	h.settles(t, f, 0, 0, 0)
	for i, d := range got.of(m.ID) {
		if d.Receives < i+1 || d.Receives > i+1+h.ExtraReceives {
			t.Errorf("delivery %d: Receives is %d", i+1, d.Receives)
		}
	}
}

func dies(t *testing.T, h Harness) {
	const limit = 3
	f, got := h.Open(t, limit), &log{}
	bad, good := message("s3-bad-0000000000000000000", "{\"a\":\"\\u0001é\U0001F600\"}\n"), messages(1)[0]
	bad.Probe = true
	send(t, f, bad, good)
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if d.ID == good.ID {
			return nil
		}
		return feed.RetryAfter(fmt.Errorf("delivery %d: %w", d.Receives, errBad), h.Delay)
	})
	h.settles(t, f, 0, 0, 1)
	time.Sleep(h.Lease + h.Quiet)
	if n := len(got.of(bad.ID)); n > limit || n < limit-h.ExtraReceives {
		t.Errorf("given up after %d deliveries, the cap is %d", n, limit)
	}
	if n := len(got.of(good.ID)); n != 1 {
		t.Errorf("the other message was delivered %d times", n)
	}
	d := h.soleDeadLetter(t, f)
	if d.ID != bad.ID || d.Job != bad.Job || !d.Probe || !bytes.Equal(d.Body, bad.Body) {
		t.Errorf("sent %+v, dead is %+v", bad, d.Message)
	}
	if d.Receives < limit {
		t.Errorf("dead after %d receives, the cap is %d", d.Receives, limit)
	}
	if h.LosesErrors {
		return
	}
	if want := fmt.Sprintf("delivery %d: bad luck", limit); !errors.Is(d.Err, errBad) || d.Err.Error() != want {
		t.Errorf("dead by %v, the last error was %q", d.Err, want)
	}
}

// soleDeadLetter looks until it sees one: if the answer to a look was lost, the
// dead letter is hidden from the next looks for a while.
func (h Harness) soleDeadLetter(t *testing.T, f Feed) feed.DeadLetter {
	t.Helper()
	var dead []feed.DeadLetter
	h.eventually(t, "a dead letter is seen", func() (seen bool) {
		var err error
		if dead, err = f.DeadLetters(t.Context()); err != nil {
			t.Fatalf("dead letters: %v", err)
		}
		return len(dead) > 0
	})
	if len(dead) != 1 {
		t.Fatalf("dead letters: %+v", dead)
	}
	return dead[0]
}

func lastChance(t *testing.T, h Harness) {
	limit := 3 + h.ExtraReceives
	f, m, got := h.Open(t, limit), messages(1)[0], &log{}
	send(t, f, m)
	run(t, f, 1, func(_ context.Context, d feed.Delivery) error {
		got.add(d)
		if len(got.of(m.ID)) < 3 {
			return feed.RetryAfter(errBad, h.Delay)
		}
		return nil
	})
	h.eventually(t, "it gets its last delivery", func() bool { return len(got.of(m.ID)) >= 3 })
	h.settles(t, f, 0, 0, 0)
}
