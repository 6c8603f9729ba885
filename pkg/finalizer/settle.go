package finalizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// maxCrashed is how many units one settling gives up: it has to remember them.
const maxCrashed = 10_000

// quiet is what is open of a run that nobody works on.
type quiet struct {
	crashed []ledger.Item // at their last delivery, maxCrashed at most
	more    bool          // there are others
	waiting int           // not at their last delivery
}

// settle decides on the units of a run that nobody works on: whoever did would
// have touched the counters. Units at their last delivery crashed, the others
// are sent again, a few times, and then the job fails and names them.
//
// It rests while something keeps units from being worked on that is no fault of
// theirs: a halt, a send that is due, a backlog in the feed.
func (l *look) settle(ctx context.Context) error {
	if !l.meta.Listed || l.still < l.opt.Window {
		return nil
	}
	if starved, err := l.starved(ctx); err != nil || starved {
		return err
	}
	q, err := l.open(ctx)
	if err != nil {
		return err
	}
	// The counters are read after the items: if these had begun to move while
	// they were queried, those show it, and everything is dropped.
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

// starved reports whether units may still be waiting for their turn. A feed that
// is not empty for longer than it keeps a message holds none of them.
func (l *look) starved(ctx context.Context) (bool, error) {
	if l.opt.Empty == nil || l.still >= l.opt.Retention {
		return false, nil
	}
	empty, err := l.opt.Empty(ctx)
	if err != nil {
		return true, fmt.Errorf("look whether the feed is empty: %w", err)
	}
	return !empty, nil
}

// open finds what is open.
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

// overtaken reports whether the job is no more as the look found it.
func (l *look) overtaken(ctx context.Context) (bool, error) {
	meta, err := read(ctx, l.ledger, l.meta.Job)
	if err != nil {
		return true, err
	}
	return !same(meta, l.meta) || meta.Halt != nil || meta.Ask != l.meta.Ask, nil
}

// crashed is the detail of such a unit.
const crashed = "its last delivery ended with no word of the reader: out of memory or time, or its process was killed"

// giveUp marks a unit dead that nobody works on. The serial is the one that was
// read: a reader that woke since keeps its unit.
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
	c := ledger.Cause{Reason: why, Detail: detail, Record: -1}
	body, err := l.ledger.Body(ctx, l.ref(i.ID))
	if err != nil && !errors.Is(err, ledger.ErrNoUnit) {
		return c, fmt.Errorf("read unit %s of job %s: %w", i.ID, l.meta.Job, err)
	}
	c.Objects = []unit.Object{{Key: i.FirstKey}} // all that is known of one that is gone, or of another release
	if u, err := unit.Decode(body); err == nil {
		blame(&c, u, i)
	}
	return c, nil
}

// blame names what of u is not in the sinks: its faulty members, where the rest
// was delivered.
func blame(c *ledger.Cause, u *unit.Unit, i ledger.Item) {
	c.Objects = u.Objects
	if !i.RestDone || len(i.Faults) == 0 {
		return
	}
	slices.SortFunc(i.Faults, func(f, g ledger.Fault) int { return cmp.Compare(f.Member, g.Member) })
	c.Objects, c.Faults, c.Record = nil, i.Faults, i.Faults[0].Record
	for _, f := range i.Faults {
		c.Objects = append(c.Objects, u.Objects[f.Member])
	}
}

// resend asks for every open unit to be sent again, and sends them. No settling
// comes before they went out, for a send that is due keeps it at rest.
func (l *look) resend(ctx context.Context, waiting int) error {
	err := l.ledger.Resend(ctx, l.meta.Job, l.meta.Run, l.meta.Generation, l.meta.Resends)
	if errors.Is(err, ledger.ErrState) { // another tick was first, or it moved on
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for a re-send of job %s: %w", l.meta.Job, err)
	}
	l.opt.Log.Warn("nobody works on the run: its open units are sent again",
		"job", l.meta.Job, "run", l.meta.Run, "units", waiting, "resends", l.meta.Resends+1)
	meta, err := read(ctx, l.ledger, l.meta.Job)
	if err != nil || !same(meta, l.meta) || meta.Halt != nil {
		return err
	}
	l.meta = meta
	return l.sweep(ctx)
}
