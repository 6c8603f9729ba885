// Package feed is the contract for the transport of units: at least once, in
// any order, each delivery with a receipt and a count, dead letters at a cap.
//
// A feed is not a job's memory: what it loses is open in the ledger, and is sent
// again.
//
// The law: while the feed lives, a message that Send took is delivered until a
// handler acks it, or until its deliveries reach the cap and it becomes a dead
// letter.
package feed

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/unit"
)

// Message is a unit on its way: its id and its encoded descriptor.
type Message struct {
	ID   unit.ID
	Job  string // for fairness: no job starves another
	Body []byte
	// Probe: the job is halted because its sink is down, and this unit is sent to
	// see whether it still is.
	Probe bool
}

// Sender puts units into the feed.
type Sender interface {
	// Send returns nil once the feed holds every message durably. After an
	// error any of them may be in the feed: the caller sends all of them again,
	// and a unit that is in the feed twice is delivered twice. A feed of
	// bounded size blocks until there is room.
	Send(ctx context.Context, ms ...Message) error
}

// Delivery is one hand-over of a message.
type Delivery struct {
	Message
	// Receives is the number of deliveries of this message, including this one.
	// It is never too low; a feed may count one too many.
	Receives int
	// Cap is the number of deliveries after which the feed gives the message up.
	Cap int
	// Extend keeps the message from being delivered again for d from now. It is
	// nil if the feed needs no renewing.
	Extend func(ctx context.Context, d time.Duration) error
}

// Handler processes one delivery. Returning nil acks it. Returning an error
// fails it: the message is delivered again after the delay that the error
// carries (RetryAfter), or becomes a dead letter after delivery number Cap. A
// handler that returns because ctx ended fails its delivery too, but that is
// not an attempt.
type Handler func(ctx context.Context, d Delivery) error

// Depth counts a feed's messages.
type Depth struct {
	Ready, Delayed, InFlight, Dead int
}

// Empty reports whether nothing is left to deliver.
func (d Depth) Empty() bool { return d.Ready+d.Delayed+d.InFlight == 0 }

// DeadLetter is a message that the feed gave up.
type DeadLetter struct {
	Message
	Receives int
	Err      error // of the last delivery; nil if the feed does not keep it
}

type delayedError struct {
	error
	delay time.Duration
}

func (e *delayedError) Unwrap() error { return e.error }

// RetryAfter returns err with the delay after which its message is due again.
func RetryAfter(err error, d time.Duration) error { return &delayedError{err, d} }

// Delay returns the delay that err carries; 0: none.
func Delay(err error) time.Duration {
	if e, ok := errors.AsType[*delayedError](err); ok {
		return e.delay
	}
	return 0
}
