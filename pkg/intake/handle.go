package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// Message is one delivery from the queue that notifications go to.
type Message struct {
	ID       string // of the message in its queue
	Body     []byte
	Receives int // deliveries of it, this one included
}

// Failed is a message that must be delivered again.
type Failed struct {
	ID  string
	Err error
}

// Handle takes in the messages of one batching window together and returns
// those that must come again; the others may be acked. A message is through
// when each of its records is: what it announced is in units that were sent, or
// is known not to be wanted, or is among the dead letters. A message fails only
// for its own records, unless the fault concerns the whole job.
func (in *Intake) Handle(ctx context.Context, ms []Message) []Failed {
	b := in.decode(ms)
	units, err := in.takeIn(ctx, b)
	b.settle()
	// Refusing comes last: it would be repeated each time that the message fails for
	// another of its records.
	in.refuse(ctx, b)
	in.count(b, units)
	in.log(ctx, b, units, err)
	return b.failed()
}

// clocks is how far apart the clocks may be that a cutoff and an event's time
// are read from.
const clocks = time.Minute

// takeIn brings what the batch announces into units.
func (in *Intake) takeIn(ctx context.Context, b *batch) (units int, err error) {
	ws := unsettled(b.wants)
	if len(ws) == 0 {
		return 0, nil // so that a test event needs no job
	}
	m, err := in.job(ctx, fresh)
	if err != nil {
		failAll(ws, err)
		return 0, err
	}
	for _, w := range ws {
		// A listed job reads what was last modified before the cutoff; for an object
		// uploaded in parts, that is when its upload began. The event comes later than
		// that, so what is announced before the cutoff was modified before it. The
		// minute is for clocks that differ.
		if !w.LastModified.IsZero() && w.LastModified.Before(m.Cutoff.Add(-clocks)) {
			w.ignore(failure.BeforeCutoff)
		}
	}
	return in.take(ctx, m, ws)
}

// refuse puts what cannot be understood among the dead letters.
func (in *Intake) refuse(ctx context.Context, b *batch) {
	var through []*message
	for i := range b.messages {
		if m := &b.messages[i]; m.err == nil && len(m.bad) > 0 {
			through = append(through, m)
		}
	}
	each(atOnce, through, func(m *message) {
		for _, r := range m.bad {
			if err := in.refuseOne(ctx, m, r); err != nil {
				m.err = err
				return
			}
		}
	})
}

func (in *Intake) refuseOne(ctx context.Context, m *message, r refusal) error {
	if in.opts.Refuse == nil {
		return r.err
	}
	if err := in.opts.Refuse(ctx, r.body, failure.UnparsableEvent, r.err.Error()); err != nil {
		return fmt.Errorf("refuse event: %w (it is refused for: %v)", err, r.err) //nolint:errorlint // its mark is not to show
	}
	in.opts.Log.WarnContext(ctx, "event refused", "message", m.ID, "reason", string(failure.UnparsableEvent), "error", r.err)
	return nil
}
