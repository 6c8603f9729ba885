package boltledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Begin implements [ledger.Worker]. It writes nothing.
func (l *Ledger) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (it ledger.Item, err error) {
	defer l.lock(r.ID)()
	err = l.view(ctx, "begin a unit of", r.Job, func(j *job) error {
		var ok bool
		if it, ok = j.unit(r.ID); !ok {
			return unknown("begin", r)
		}
		if it.State != ledger.Open || it.Run != r.Run {
			return nil
		}
		if it.Run < j.head.Run {
			it = ledger.Item{}
			return j.moved("begin a unit of", fmt.Sprintf("and a message of run %d came", r.Run))
		}
		it.Serial++
		it.Attempts++
		it.Last = receives >= limit || it.Attempts >= limit
		l.process.begin(r.Job, it)
		l.process.beat(r.Job, it.Run)
		return nil
	})
	return it, err
}

// held returns the item of r if the reader of that start of work still holds it.
// No start has serial 0.
func (j *job) held(verb string, r ledger.Ref, serial int) (*ledger.Item, error) {
	it, ok := j.item(r.ID)
	if ok && serial > 0 && it.Run == r.Run && it.Serial == serial && it.State == ledger.Open {
		return it, nil
	}
	now, ok := j.unit(r.ID)
	if !ok {
		return nil, unknown(verb, r)
	}
	return nil, fmt.Errorf("%s unit %s of job %s: serial %d of run %d wrote, the item is %s at %d of run %d: %w",
		verb, r.ID, r.Job, serial, r.Run, now.State, now.Serial, now.Run, ledger.ErrFenced)
}

func unknown(verb string, r ledger.Ref) error {
	return fmt.Errorf("%s unit %s of job %s: %w", verb, r.ID, r.Job, ledger.ErrNoUnit)
}

// write changes the item of r if the reader of that start of work still holds it.
func (l *Ledger) write(ctx context.Context, verb string, r ledger.Ref, serial int, change func(*ledger.Item)) error {
	defer l.lock(r.ID)()
	return l.change(ctx, verb+" a unit of", r.Job, func(j *job) error {
		it, err := j.held(verb, r, serial)
		if err == nil {
			change(it)
			j.putItem(it)
			j.process.beat(r.Job, r.Run)
		}
		return err
	})
}

// Fault implements [ledger.Worker].
func (l *Ledger) Fault(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault) error {
	return l.write(ctx, "mark a member faulty in", r, serial, func(it *ledger.Item) {
		i := member(it.Faults, f.Member)
		switch {
		case i < 0:
			it.Faults = append(it.Faults, f)
		case f.Record < it.Faults[i].Record:
			it.Faults[i] = f
		}
	})
}

// RestDone implements [ledger.Worker].
func (l *Ledger) RestDone(ctx context.Context, r ledger.Ref, serial int, c ledger.Counts) error {
	return l.write(ctx, "mark the rest done of", r, serial, func(it *ledger.Item) {
		it.RestDone, it.Cursor, it.Counts = true, nil, c
	})
}

// Recovered implements [ledger.Worker].
func (l *Ledger) Recovered(ctx context.Context, r ledger.Ref, serial, m int, c ledger.Counts) error {
	return l.write(ctx, "recover a member of", r, serial, func(it *ledger.Item) {
		if i := member(it.Faults, m); i >= 0 {
			it.Faults = slices.Delete(it.Faults, i, i+1)
			it.Counts = c
			if it.Cursor != nil && it.Cursor.Series == m+1 {
				it.Cursor = nil
			}
		}
	})
}

func member(faults []ledger.Fault, m int) int {
	return slices.IndexFunc(faults, func(f ledger.Fault) bool { return f.Member == m })
}

// Pause implements [ledger.Worker]. The feed, not the ledger, remembers that
// the unit is due.
func (l *Ledger) Pause(ctx context.Context, r ledger.Ref, serial int, cur ledger.Cursor, c ledger.Counts) error {
	return l.write(ctx, "pause", r, serial, func(it *ledger.Item) {
		it.Cursor, it.Counts = &cur, c
		l.process.forgive(r.Job, r.ID)
	})
}

// Touch implements [ledger.Worker]. It writes nothing.
func (l *Ledger) Touch(ctx context.Context, r ledger.Ref) error {
	return l.view(ctx, "touch a unit of", r.Job, func(j *job) error {
		if _, ok := j.unit(r.ID); !ok {
			return unknown("touch", r)
		}
		l.process.beat(r.Job, r.Run)
		return nil
	})
}

// GiveBack implements [ledger.Worker]. It writes nothing.
func (l *Ledger) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	defer l.lock(r.ID)()
	return l.view(ctx, "give back a unit of", r.Job, func(j *job) error {
		_, err := j.held("give back", r, serial)
		if err == nil {
			l.process.giveBack(r.Job, r.ID)
			l.process.beat(r.Job, r.Run)
		}
		return err
	})
}

// Done implements [ledger.Worker].
func (l *Ledger) Done(ctx context.Context, r ledger.Ref, c ledger.Counts) (t ledger.Tally, err error) {
	defer l.lock(r.ID)()
	err = l.change(ctx, "finish a unit of", r.Job, func(j *job) error {
		it, ok := j.item(r.ID)
		if !ok {
			if _, ok := j.doneUnit(r.ID); !ok {
				return unknown("finish", r)
			}
			t = j.head.progress().Tally
			return nil
		}
		j.finish(it, c)
		t = j.head.progress().Tally
		return nil
	})
	if err == nil {
		l.process.end(r.Job, r.ID)
	}
	return t, err
}

func (j *job) finish(it *ledger.Item, c ledger.Counts) {
	current := it.Run == j.head.Run
	if current {
		j.head.add(it.Objects, c)
	}
	if it.State == ledger.Dead {
		// In the same step: a verdict that was proved with the unit dead must not
		// pass once it is done.
		j.head.Generation++
		if current {
			j.head.count.Dead--
		}
	}
	j.dropBody(it.ID)
	j.drop(itemBucket, []byte(it.ID))
	j.putDone(it.ID, done{run: it.Run, counts: c})
	j.process.beat(j.name, it.Run)
	j.save()
}

// dropBody deletes the body of a unit, or moves it to the page under way if the
// unit is on that page.
func (j *job) dropBody(id unit.ID) {
	if j.in(pageBucket).Get([]byte(id)) != nil {
		j.put(pageBucket, []byte(id), bytes.Clone(j.in(bodyBucket).Get([]byte(id))))
	}
	j.drop(bodyBucket, []byte(id))
}

// Dead implements [ledger.Worker].
func (l *Ledger) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (t ledger.Tally, err error) {
	defer l.lock(r.ID)()
	err = l.change(ctx, "give up a unit of", r.Job, func(j *job) error {
		it, ok := j.item(r.ID)
		if ok && it.State == ledger.Dead && it.Run == r.Run && it.Serial == serial {
			t = j.head.progress().Tally
			return nil
		}
		it, err := j.held("give up", r, serial)
		if err != nil {
			return err
		}
		it.State, it.Cause = ledger.Dead, &c
		j.putItem(it)
		if it.Run == j.head.Run {
			j.head.count.Dead++
		}
		j.save()
		j.process.beat(r.Job, r.Run)
		t = j.head.progress().Tally
		return nil
	})
	if err == nil {
		l.process.end(r.Job, r.ID)
	}
	return t, err
}
