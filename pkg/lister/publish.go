package lister

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// errElsewhere: the run does not stand where this lister does.
var errElsewhere = errors.New("the run stands elsewhere")

// publish makes the stretch up to last a page: it enters the page in the
// ledger, sends what is due of it and then says so, in this order. A crash
// before the sends leaves open units that nobody was told of, which the ledger
// shows, and never a message whose unit nobody knows (INV-7). A crash before
// the end of the sends leaves the run where the page begins, so that the next
// lister sends it again.
//
// If an earlier lister entered a page here, that page is sent instead: what was
// listed since may differ, and a unit that is open must be in the plan. publish
// returns errElsewhere then, because this lister's packing continues from
// another place.
func (r *run) publish(ctx context.Context, last string) error {
	page := r.stretch.page(last)
	var (
		stored ledger.Page
		due    []unit.ID
	)
	err := retry(ctx, undecided, func() (err error) {
		stored, due, err = r.planner.Publish(ctx, r.lease, page)
		return err
	})
	if err != nil {
		return fmt.Errorf("publish the page after %q: %w", page.After, err)
	}
	if err := r.send(ctx, stored, due); err != nil {
		return err
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := retry(ctx, undecided, func() error { return r.planner.Advance(ctx, r.lease, stored) }); err != nil {
		return fmt.Errorf("advance to %q: %w", stored.Last, err)
	}
	r.renewed, r.published, r.alone = began, time.Now(), true
	if stored.Last != last {
		return errElsewhere
	}
	r.stretch.published(last)
	return nil
}

// send sends what is due of the page.
func (r *run) send(ctx context.Context, p ledger.Page, due []unit.ID) error {
	wanted := make(map[unit.ID]bool, len(due))
	for _, id := range due {
		wanted[id] = true
	}
	messages := make([]feed.Message, 0, len(due))
	for i, u := range p.Units {
		if wanted[u.ID] {
			messages = append(messages, feed.Message{ID: u.ID, Job: r.lease.Job, Body: u.Body})
		} else if err := r.kept(i, u); err != nil {
			return err
		}
	}
	if len(messages) == 0 {
		return nil
	}
	if err := retry(ctx, undecided, func() error { return r.sender.Send(ctx, messages...) }); err != nil {
		return fmt.Errorf("send %d units from %s on: %w", len(messages), messages[0].ID, err)
	}
	return nil
}

// kept calls Options.Kept for unit i of a page, which is done.
func (r *run) kept(i int, p ledger.Planned) error {
	if r.opts.Kept == nil {
		return nil
	}
	if s := &r.stretch; i < len(s.planned) && s.planned[i].ID == p.ID {
		r.opts.Kept(s.units[i])
		return nil
	}
	u, err := unit.Decode(p.Body)
	if err != nil {
		return fmt.Errorf("unit %s: %w", p.ID, err)
	}
	r.opts.Kept(u)
	return nil
}
