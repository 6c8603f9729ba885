package lister

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Bounds of one Send.
const (
	maxMessages  = 64
	maxSendBytes = 1 << 20
)

// publish enters the stretch in the ledger and then sends its units, in this
// order: a crash in between leaves units open that nobody was told of, which the
// ledger shows, and never a message whose unit nobody knows (INV-7).
//
// inside says that it is called between the ranges of one object.
func (r *run) publish(ctx context.Context, inside bool) error {
	page, ok := r.stretch.next(inside)
	if !ok {
		return nil
	}
	for i, u := range r.stretch.units {
		body, err := u.Encode()
		if err != nil {
			return fmt.Errorf("unit %s: %w", page.Units[i].ID, err)
		}
		page.Units[i].Body = body
	}
	var due []unit.ID
	err := retry(ctx, undecided, func() (err error) {
		due, err = r.planner.Publish(ctx, r.job, r.number, page)
		return err
	})
	if err != nil {
		return fmt.Errorf("publish the page after %q: %w", page.After, err)
	}
	send := make(map[unit.ID]bool, len(due))
	for _, id := range due {
		send[id] = true
	}
	b := batch{run: r}
	for i, u := range page.Units {
		switch {
		case send[u.ID]:
			if err := b.add(ctx, u); err != nil {
				return err
			}
		case r.opts.Kept != nil:
			r.opts.Kept(r.stretch.units[i])
		}
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	r.stretch.published(page)
	return nil
}

// batch collects messages for one Send.
type batch struct {
	run      *run
	messages []feed.Message
	bytes    int
}

func (b *batch) add(ctx context.Context, u ledger.Planned) error {
	if len(b.messages) == maxMessages || b.bytes+len(u.Body) > maxSendBytes {
		if err := b.send(ctx); err != nil {
			return err
		}
	}
	b.messages = append(b.messages, feed.Message{ID: u.ID, Job: b.run.job, Body: u.Body})
	b.bytes += len(u.Body)
	return nil
}

func (b *batch) send(ctx context.Context) error {
	if len(b.messages) == 0 {
		return nil
	}
	err := retry(ctx, undecided, func() error { return b.run.sender.Send(ctx, b.messages...) })
	if err != nil {
		return fmt.Errorf("send %d units from %s on: %w", len(b.messages), b.messages[0].ID, err)
	}
	// The feed may hold on to what it was given.
	b.messages, b.bytes = nil, 0
	return nil
}
