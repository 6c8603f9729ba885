package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// maxStale is how many units of a continuous job one look settles.
const maxStale = 10_000

// stale settles the units of a continuous job that nobody works on, one by one:
// whoever did would have touched them. A unit at its last delivery has crashed;
// any other is sent again, a few times, and is then given up.
//
// It rests, as settle does, for a window after all that is open was sent. And
// while the feed is not empty a unit may be waiting in it, for as long as the
// feed keeps a message.
func (l *look) stale(ctx context.Context) error {
	if l.now.Sub(l.watch.Since) < l.opt.Window {
		return nil
	}
	idle := l.opt.Window
	switch starved, err := l.starved(ctx); {
	case err != nil:
		return err
	case starved:
		idle = max(idle, l.opt.Retention)
	}
	r := &repeats{look: l}
	err := l.ledger.Stale(ctx, l.meta.Job, l.meta.Run, l.now.Add(-idle), func(i ledger.Item) error {
		if r.seen == 0 { // stale units are rare, so this is checked only when there is one
			switch overtaken, err := l.overtaken(ctx); {
			case err != nil:
				return err
			case overtaken:
				return errFound
			}
		}
		if r.seen++; r.seen > maxStale {
			return errFound
		}
		return r.settle(ctx, i)
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	if err == nil {
		err = l.send(ctx, &r.batch)
	}
	if err != nil {
		err = fmt.Errorf("settle open units of job %s: %w", l.meta.Job, err)
	}
	if r.sent > 0 {
		l.opt.Log.Warn("no reader works on these units: they are sent again", "job", l.meta.Job, "run", l.meta.Run, "units", r.sent)
	}
	return errors.Join(append(r.unread, err)...)
}

// repeats are the re-sends of one look.
type repeats struct {
	*look
	batch      batch
	seen, sent int
	unread     []error
}

// settle gives a unit up or sends it again.
//
// A re-send is counted before it is made. If it were counted after, a count
// that cannot be written would have the unit sent each minute forever, and two
// schedules would both send it. So a unit that was counted and not sent,
// because of a crash between the two, waits for the next window with one try
// less. The count is also the last look at the item: the word that nobody works
// on it may be some seconds old.
func (r *repeats) settle(ctx context.Context, i ledger.Item) error {
	switch {
	case i.Last:
		return r.giveUp(ctx, i, failure.Crashed, crashed)
	case i.Repeats >= r.opt.Resends:
		return r.giveUp(ctx, i, failure.Missing, fmt.Sprintf("no reader worked on it, re-sent %d times", i.Repeats))
	}
	body, err := r.ledger.Body(ctx, r.ref(i.ID))
	if err != nil {
		err = fmt.Errorf("read unit %s: %w", i.ID, err)
		if len(r.unread) >= batchUnits || ctx.Err() != nil {
			return err
		}
		r.unread = append(r.unread, err) // keeps no other from being sent
		return nil
	}
	err = r.ledger.Repeat(ctx, r.ref(i.ID), i.Repeats)
	if errors.Is(err, ledger.ErrFenced) { // it is done by now, or another schedule was first
		return nil
	}
	if err != nil {
		return fmt.Errorf("count a re-send of unit %s: %w", i.ID, err)
	}
	r.sent++
	r.batch.add(r.message(i.ID, body))
	if r.batch.full() {
		return r.send(ctx, &r.batch)
	}
	return nil
}
