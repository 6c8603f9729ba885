// Package feedtest is the contract of package feed as a test suite. Every driver
// runs it; its Harness says, as data, what the driver cannot do or does only
// roughly.
package feedtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/unit"
)

// Feed is a driver's feed as the suite uses it.
type Feed struct {
	Sender feed.Sender
	// Run delivers to h, n at a time, until ctx ends and every handler returned.
	Run         func(ctx context.Context, n int, h feed.Handler) error
	Depth       func(ctx context.Context) (feed.Depth, error)
	DeadLetters func(ctx context.Context) ([]feed.DeadLetter, error)
}

// Harness opens feeds and says how far the driver keeps the contract.
type Harness struct {
	// Open returns an empty feed that gives a message up after limit deliveries.
	// It cleans up by t.Cleanup.
	Open func(t *testing.T, limit int) Feed
	// Bubble runs the body of a subtest; nil calls it. A driver that uses no clock
	// but the process's own passes synctest.Test.
	Bubble func(t *testing.T, body func(*testing.T))

	Wait  time.Duration // for what must happen; 0: 10 s
	Quiet time.Duration // watched for what must not happen; 0: 500 ms
	Delay time.Duration // unit of the delays asked for; 0: 200 ms
	Early time.Duration // how much too early a message may come, clocks being coarse

	// Lease is the time after which a delivery that is not extended comes
	// again; 0: Delivery.Extend is nil.
	Lease time.Duration
	// Capacity is the number of waiting messages at which Send blocks; 0: more than
	// a test could send.
	Capacity int

	ExtraReceives   int  // how much too high Receives may be
	CountsCancelled bool // a delivery whose context ended counts as one
	LosesErrors     bool // dead letters do not keep the error
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	h.Wait = or(h.Wait, 10*time.Second)
	h.Quiet = or(h.Quiet, 500*time.Millisecond)
	h.Delay = or(h.Delay, 200*time.Millisecond)
	if h.Bubble == nil {
		h.Bubble = func(t *testing.T, body func(*testing.T)) { body(t) }
	}
	for _, topic := range [][]subtest{delivery, failures, bodies, bounds} {
		for _, s := range topic {
			t.Run(s.name, func(t *testing.T) {
				h.Bubble(t, func(t *testing.T) { s.test(t, h) })
			})
		}
	}
}

type subtest struct {
	name string
	test func(*testing.T, Harness)
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// log records deliveries.
type log struct {
	mu   sync.Mutex
	list []entry
}

type entry struct {
	feed.Delivery
	at time.Time
}

func (l *log) add(d feed.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Body = append([]byte(nil), d.Body...)
	l.list = append(l.list, entry{d, time.Now()})
}

func (l *log) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]entry(nil), l.list...)
}

func (l *log) of(id unit.ID) (out []entry) {
	for _, e := range l.all() {
		if e.ID == id {
			out = append(out, e)
		}
	}
	return out
}

// run starts f and returns what stops it and waits; the test's end does too.
func run(t *testing.T, f Feed, n int, h feed.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx, n, h) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func send(t *testing.T, f Feed, ms ...feed.Message) {
	t.Helper()
	if err := f.Sender.Send(t.Context(), ms...); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

// eventually waits for cond.
func (h Harness) eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(h.Wait); !cond(); time.Sleep(h.Wait / 1000) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", h.Wait, what)
		}
	}
}

// settles waits for the depth to be as wanted. ready and held are compared as
// one sum, because a message that waits out a delay may be counted as in
// flight.
func (h Harness) settles(t *testing.T, f Feed, ready, held, dead int) {
	t.Helper()
	var got feed.Depth
	h.eventually(t, fmt.Sprintf("depth is %d ready, %d in flight or delayed, %d dead", ready, held, dead), func() bool {
		d, err := f.Depth(t.Context())
		if err != nil {
			t.Fatalf("Depth: %v", err)
		}
		got = d
		return d.Ready == ready && d.InFlight+d.Delayed == held && d.Dead == dead
	})
	if want := ready+held == 0; got.Empty() != want {
		t.Errorf("depth %+v: Empty is %v", got, !want)
	}
}

func messages(n int) []feed.Message {
	ms := make([]feed.Message, n)
	for i := range ms {
		ms[i] = message(fmt.Sprintf("s3-%022d", i), fmt.Sprintf(`{"v":1,"unit":%d}`, i))
	}
	return ms
}

func message(id, body string) feed.Message {
	return feed.Message{ID: unit.ID(id), Job: "nightly", Body: []byte(body)}
}
