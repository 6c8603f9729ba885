package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/feed"
)

const (
	limit      = 3                // receives before the dead-letter queue
	visibility = 15 * time.Minute // of the queue; readers shorten it
)

// queue is like SQS: at least once, in no order, with counts of receives that
// may be too many.
type queue struct {
	w        *world
	messages []*message
	dead     int
	serial   int
	sent     int
}

type message struct {
	feed.Message
	id       int
	receives int
	halted   int // of those, while the job was halted
	receipt  int // of the last receive; the ones before are stale
	visible  time.Time
}

func (m *message) String() string {
	probe := ""
	if m.Probe {
		probe = "?"
	}
	return fmt.Sprintf("m%d(%s%s)", m.id, short(m.ID), probe)
}

// sender is the queue as one actor sees it.
type sender struct {
	*queue
	who func() *actor
}

var _ feed.Sender = sender{}

// Send may take some of the messages and give an error.
func (q sender) Send(ctx context.Context, ms ...feed.Message) error {
	a := q.who()
	what := "send"
	for _, m := range ms {
		what += " " + short(m.ID)
	}
	channel := "send"
	if q.w.inbox != nil { // several at a time
		channel += " " + string(ms[0].ID)
	}
	return a.do(ctx, channel, what, func(_ context.Context, roll float64) error {
		part := len(ms)
		if q.w.on("partly") && !q.w.quiet && roll < 0.1 {
			part = int(roll * 10 * float64(len(ms)))
		}
		for _, m := range ms[:part] {
			q.w.laws.sends(a, m)
			q.serial++
			q.sent++
			m.Body = slices.Clone(m.Body)
			q.messages = append(q.messages, &message{Message: m, id: q.serial, visible: time.Now()})
		}
		if part < len(ms) {
			a.waits(channel)
			return errFault
		}
		return nil
	})
}

// ready are the messages that can be received.
func (q *queue) ready() (ready []*message) {
	for _, m := range q.messages {
		if !m.visible.After(time.Now()) {
			ready = append(ready, m)
		}
	}
	return ready
}

func (q *queue) empty() bool { return len(q.messages) == 0 }

// receive hands a message over, or gives it up.
func (q *queue) receive(m *message) (feed.Delivery, int, bool) {
	if m.receives >= limit {
		q.lose(m)
		q.dead++
		return feed.Delivery{}, 0, false
	}
	m.receives++
	m.receipt++
	m.visible = time.Now().Add(visibility)
	return feed.Delivery{Message: m.Message, Receives: m.receives, Cap: limit}, m.receipt, true
}

func (q *queue) remove(m *message) {
	q.messages = slices.DeleteFunc(q.messages, func(o *message) bool { return o == m })
}

// lose removes a message that nobody acked.
func (q *queue) lose(ms ...*message) {
	for _, m := range ms {
		q.remove(m)
		q.w.laws.of(m.ID).lost = true
	}
}

var errReceipt = errors.New("sim: the receipt is stale")

// extend changes when a message that was received is visible again.
func (q *queue) extend(m *message, receipt int, d time.Duration) error {
	if m.receipt != receipt || !slices.Contains(q.messages, m) {
		return errReceipt
	}
	m.visible = time.Now().Add(d)
	return nil
}

// ack removes a message. By a stale receipt it may or may not.
func (q *queue) ack(m *message, receipt int, roll float64) {
	if m.receipt == receipt || roll < 0.5 {
		q.remove(m)
	}
}
