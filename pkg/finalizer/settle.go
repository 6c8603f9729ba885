package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// maxCrashed is how many units one settling gives up: it keeps them in memory.
const maxCrashed = 10_000

// quiet is the open units of a run that nobody works on.
type quiet struct {
	crashed []ledger.Item // at their last delivery, maxCrashed at most
	more    bool          // more have crashed than that
	waiting int           // not at their last delivery
}

// settle decides on the units of a run that nobody works on: whoever did would
// have touched the counters. Units at their last delivery have crashed. The
// others are sent again, a few times; after that the job fails and names them.
//
// It rests while something that is not the units' fault keeps them from being
// worked on: a halt, a send that is due, a backlog in the feed.
func (l *look) settle(ctx context.Context) error {
	if !l.meta.Listed || l.still() < l.opt.Window {
		return nil
	}
	// A feed that has not been empty for longer than it keeps a message holds
	// nothing of this run.
	if l.still() < l.opt.Retention {
		if starved, err := l.starved(ctx); err != nil || starved {
			return err
		}
	}
	q, err := l.open(ctx)
	if err != nil {
		return err
	}
	// The counters are read again after the items: if work began while the items
	// were queried, the counters show it, and nothing is decided.
	moved, err := l.moved(ctx)
	if err != nil || moved {
		return err
	}
	for _, i := range q.crashed {
		if err := l.giveUp(ctx, i, failure.Crashed, crashed); err != nil {
			return err
		}
	}
	if q.more {
		return nil
	}
	var ended bool
	switch {
	case q.waiting == 0:
		ended, err = prove(ctx, l.ledger, l.meta, true)
	case l.meta.Resends < l.opt.Resends:
		return l.resend(ctx, q.waiting)
	default:
		ended, err = conclude(ctx, l.ledger, l.meta, ledger.Failed)
	}
	if err != nil || !ended {
		return err
	}
	return l.finish(ctx, l.meta.Job)
}

// starved reports whether units may be waiting in the feed for their turn.
func (l *look) starved(ctx context.Context) (bool, error) {
	if l.opt.Empty == nil {
		return false, nil
	}
	empty, err := l.opt.Empty(ctx)
	if err != nil {
		return true, fmt.Errorf("look whether the feed is empty: %w", err)
	}
	return !empty, nil
}

// open finds the open units.
func (l *look) open(ctx context.Context) (q quiet, err error) {
	err = l.ledger.Unfinished(ctx, l.meta.Job, l.meta.Run, func(i ledger.Item) error {
		switch {
		case i.State != ledger.Open:
		case !i.Last:
			q.waiting++
		case len(q.crashed) < maxCrashed:
			q.crashed = append(q.crashed, i)
		default:
			q.more = true
		}
		return nil
	})
	if err != nil {
		return q, fmt.Errorf("find open units of job %s: %w", l.meta.Job, err)
	}
	return q, nil
}

// moved reports whether anything happened to the job since the look began.
func (l *look) moved(ctx context.Context) (bool, error) {
	p, err := l.progress(ctx, l.meta)
	if err != nil {
		return true, err
	}
	overtaken, err := l.overtaken(ctx)
	return p.Beat != l.seen.Beat || overtaken, err
}

// overtaken reports whether the job is no longer as the look found it.
func (l *look) overtaken(ctx context.Context) (bool, error) {
	meta, err := read(ctx, l.ledger, l.meta.Job)
	if err != nil {
		return true, err
	}
	return !same(meta, l.meta) || meta.Halt != nil || meta.Ask != l.meta.Ask, nil
}

// crashed is the detail of a unit that crashed.
const crashed = "its last delivery ended without word from the reader: out of memory or time, or its process was killed"

// giveUp marks a unit dead that nobody works on. It uses the serial that was
// read: a reader that has woken since keeps its unit.
func (l *look) giveUp(ctx context.Context, i ledger.Item, why failure.Reason, detail string) error {
	c, err := l.cause(ctx, i, why, detail)
	if err != nil {
		return err
	}
	_, err = l.ledger.Dead(ctx, l.ref(i.ID), i.Serial, c)
	if errors.Is(err, ledger.ErrFenced) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("give up unit %s of job %s: %w", i.ID, l.meta.Job, err)
	}
	l.opt.Log.Error("unit given up", "job", l.meta.Job, "unit", i.ID, "reason", c.Reason, "attempts", i.Attempts, "key", i.FirstKey)
	return nil
}

// cause says what of a unit was not delivered.
func (l *look) cause(ctx context.Context, i ledger.Item, why failure.Reason, detail string) (ledger.Cause, error) {
	body, err := l.ledger.Body(ctx, l.ref(i.ID))
	if err != nil && !errors.Is(err, ledger.ErrNoUnit) {
		return ledger.Cause{}, fmt.Errorf("read unit %s of job %s: %w", i.ID, l.meta.Job, err)
	}
	u, err := unit.Decode(body)
	if err != nil { // the body is gone, or from another release: all that is known is its first key
		u = &unit.Unit{Objects: []unit.Object{{Key: i.FirstKey}}}
	}
	var bad []ledger.Fault
	if err == nil && i.RestDone {
		bad = i.Faults
	}
	return ledger.NewCause(why, detail, u, bad), nil
}

// resend counts a re-send of every open unit, and makes it. No settling comes
// before they went out, because it rests while a send is due.
func (l *look) resend(ctx context.Context, waiting int) error {
	err := l.ledger.Resend(ctx, l.meta.Job, l.meta.Run, l.meta.Generation, l.meta.Resends)
	if errors.Is(err, ledger.ErrState) { // another tick was first, or it moved on
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for a re-send of job %s: %w", l.meta.Job, err)
	}
	l.opt.Log.Warn("no reader works on the run: its open units are sent again",
		"job", l.meta.Job, "run", l.meta.Run, "units", waiting, "resends", l.meta.Resends+1)
	meta, err := read(ctx, l.ledger, l.meta.Job)
	if err != nil || !same(meta, l.meta) || meta.Halt != nil {
		return err
	}
	l.meta = meta
	return l.sweep(ctx)
}
