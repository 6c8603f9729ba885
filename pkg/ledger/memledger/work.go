package memledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Begin implements [ledger.Worker].
func (l *Ledger) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (ledger.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "begin a unit of", r.Job)
	if err != nil {
		return ledger.Item{}, err
	}
	it, ok := j.items[keyOf(r.ID)]
	if !ok || it.State != ledger.Open || it.Run != r.Run || it.Run < j.meta.Run {
		v, ok := j.look(r.ID)
		if !ok {
			return ledger.Item{}, unknown("begin", r)
		}
		return v, nil
	}
	it.Serial++
	it.Attempts++
	it.Last = receives >= limit || it.Attempts >= limit
	it.counted = true
	return it.view(), nil
}

// hold calls change with the item of r if the reader of that start of work
// still holds it.
func (l *Ledger) hold(ctx context.Context, verb string, r ledger.Ref, serial int, change func(*item)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, verb+" a unit of", r.Job)
	if err != nil {
		return err
	}
	it, ok := j.items[keyOf(r.ID)]
	if !ok || !it.held(r, serial) {
		return j.refuse(verb, r, serial)
	}
	change(it)
	return nil
}

// refuse says why a fenced write of r is not applied.
func (j *job) refuse(verb string, r ledger.Ref, serial int) error {
	it, ok := j.look(r.ID)
	if !ok {
		return unknown(verb, r)
	}
	return fmt.Errorf("%s unit %s of job %s: serial %d of run %d wrote, the item is %s at %d of run %d: %w",
		verb, r.ID, r.Job, serial, r.Run, it.State, it.Serial, it.Run, ledger.ErrFenced)
}

func unknown(verb string, r ledger.Ref) error {
	return fmt.Errorf("%s unit %s of job %s: %w", verb, r.ID, r.Job, ledger.ErrNoUnit)
}

// Fault implements [ledger.Worker].
func (l *Ledger) Fault(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault) error {
	return l.hold(ctx, "mark a member faulty in", r, serial, func(it *item) {
		i := it.fault(f.Member)
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
	return l.hold(ctx, "mark the rest done of", r, serial, func(it *item) {
		if !it.RestDone {
			it.RestDone = true
			it.Counts.Add(c)
		}
	})
}

// Recovered implements [ledger.Worker].
func (l *Ledger) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c ledger.Counts) error {
	return l.hold(ctx, "recover a member of", r, serial, func(it *item) {
		if i := it.fault(member); i >= 0 {
			it.Faults = append(it.Faults[:i], it.Faults[i+1:]...)
			it.Counts.Add(c)
		}
	})
}

// GiveBack implements [ledger.Worker].
func (l *Ledger) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return l.hold(ctx, "give back", r, serial, func(it *item) {
		if it.counted {
			it.counted = false
			it.Attempts--
			it.Last = false
		}
	})
}

// Done implements [ledger.Worker].
func (l *Ledger) Done(ctx context.Context, r ledger.Ref, c ledger.Counts) (ledger.Tally, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "finish a unit of", r.Job)
	if err != nil {
		return ledger.Tally{}, err
	}
	k := keyOf(r.ID)
	it, ok := j.items[k]
	if !ok {
		if _, ok := j.done.run(k); !ok {
			return ledger.Tally{}, unknown("finish", r)
		}
		return j.tally, nil
	}
	current := it.Run == j.meta.Run
	if current {
		j.tally.Done++
	}
	if it.State == ledger.Dead {
		// In the same step: a verdict that was proved with the unit dead must
		// not pass once it is done.
		j.meta.Generation++
		if current {
			j.tally.Dead--
		}
	}
	it.Counts.Add(c)
	delete(j.items, k)
	j.done.add(k, it.Run, it.Counts)
	return j.tally, nil
}

// Dead implements [ledger.Worker].
func (l *Ledger) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "give up a unit of", r.Job)
	if err != nil {
		return ledger.Tally{}, err
	}
	it, ok := j.items[keyOf(r.ID)]
	if ok && it.State == ledger.Dead && it.Run == r.Run && it.Serial == serial {
		return j.tally, nil
	}
	if !ok || !it.held(r, serial) {
		return ledger.Tally{}, j.refuse("give up", r, serial)
	}
	c = cloneCause(c)
	it.State, it.Cause = ledger.Dead, &c
	if it.Run == j.meta.Run {
		j.tally.Dead++
	}
	return j.tally, nil
}
