package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
)

const (
	atOnce = 8 // units that are entered at a time
	// rounds bounds how often objects are packed again because others hold some of
	// them. One round finds that out and the next one enters the rest; further ones
	// are for what others take meanwhile.
	rounds = 6
)

// enter brings all of ws, which are distinct, into units of run m: into new
// ones, which it enters and sends, or, where a claim is held, into the unit
// that holds it. It returns how many units it sent.
//
// Each unit's effects come in one order. It is entered with its claims in one
// write, so that no crash leaves a claim on a unit that is not in the ledger,
// or a unit whose objects another may claim. Then it is sent, with the others
// of its round, because a send takes many. A crash or an error in between
// leaves it open and unsent: the messages of its objects were not acked, so
// they come again, find the claims held by it and send it; and if they are lost
// too, the schedule finds it open.
func (in *Intake) enter(ctx context.Context, m ledger.Meta, ws []*want) (sent int, err error) {
	var s sends
	left := unsettled(ws)
	for range rounds {
		each(atOnce, in.pack(m, left), func(g *group) { in.admit(ctx, m, g, &s) })
		in.send(ctx, m, &s)
		in.repeat(ctx, m, unsettled(left), &s)
		err = fatal(left)
		if err == nil && s.moved {
			s.moved = false
			m, err = in.renew(ctx, m)
		}
		if left = unsettled(left); err != nil || len(left) == 0 {
			failAll(left, err)
			return s.units, err
		}
	}
	failAll(left, failure.Errorf(failure.Transient, failure.RetriesExhausted,
		"enter %d objects, from %q on: other invocations took some of them each time", len(left), left[0].Key))
	return s.units, nil
}

// fatal returns the first error of ws that concerns the whole job.
func fatal(ws []*want) error {
	for _, w := range ws {
		if failure.Is(w.err, failure.Job) {
			return w.err
		}
	}
	return nil
}

// sends is what the goroutines share that enter units.
type sends struct {
	mu    sync.Mutex
	new   []*group // entered and to be sent; guarded by mu, as all below
	units int      // that were sent
	moved bool     // the ledger said that the job has moved on from what is known
}

func (s *sends) entered(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.new = append(s.new, g)
}

func (s *sends) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units += n
}

func (s *sends) jobMoved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = true
}

// admit enters a group. A want that it leaves unsettled is held by others, and
// then says so, or goes into the next round.
//
// Enter does not tell whether its unit was there before: the same object put
// twice, alone each time, gives the same unit twice. Only the ledger knows what
// the first announcement of it said, whether it is done, and whether it was
// overwritten, so the unit is looked up first; if it is there, this is as if
// others held the claims. The claims are entered all the same: whoever entered
// the ranges of an object may have died before claiming it.
func (in *Intake) admit(ctx context.Context, m ledger.Meta, g *group, s *sends) {
	_, err := in.lookUp(ctx, m, g.first().ID)
	known := err == nil
	if err != nil && !errors.Is(err, ledger.ErrNoUnit) {
		failAll(g.wants, err)
		return
	}
	held, err := ledger.Ask(ctx, func() ([]ledger.Held, error) { return in.ledger.Enter(ctx, g.entry) })
	switch {
	case errors.Is(err, ledger.ErrState):
		s.jobMoved()
	case err != nil:
		failAll(g.wants, fmt.Errorf("enter unit %s: %w", g.first().ID, err))
	case len(held) > 0:
		for _, h := range held {
			g.wants[h.Index].held = &h
		}
	case known:
		each(atOnce, g.wants, func(w *want) { in.claimed(ctx, m, w) })
	default:
		s.entered(g)
	}
}

// claimed reads the claim on w, which exists.
func (in *Intake) claimed(ctx context.Context, m ledger.Meta, w *want) {
	h, err := ledger.Ask(ctx, func() (ledger.Held, error) { return in.ledger.Claimed(ctx, m.Job, w.id) })
	if err != nil {
		w.fail(fmt.Errorf("look up the claim on %q: %w", w.Key, err))
		return
	}
	w.held = &h
}

// send sends what was entered in this round.
func (in *Intake) send(ctx context.Context, m ledger.Meta, s *sends) {
	groups := s.new
	s.new = nil
	var ms []feed.Message
	for _, g := range groups {
		for _, u := range g.entry.Units {
			ms = append(ms, feed.Message{ID: u.ID, Job: m.Job, Body: u.Body})
		}
	}
	err := in.deliver(ctx, ms, s)
	for _, g := range groups {
		if err != nil {
			failAll(g.wants, err)
			continue
		}
		for _, w := range g.wants {
			w.sent(g.first().ID)
		}
	}
}

// deliver puts messages into the feed.
func (in *Intake) deliver(ctx context.Context, ms []feed.Message, s *sends) error {
	if len(ms) == 0 {
		return nil
	}
	if err := ledger.Retry(ctx, func() error { return in.sender.Send(ctx, ms...) }); err != nil {
		return fmt.Errorf("send %d units from %s on: %w", len(ms), ms[0].ID, err)
	}
	s.add(len(ms))
	return nil
}
