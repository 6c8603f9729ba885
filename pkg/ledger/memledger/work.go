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
	if !ok || it.State != ledger.Open || it.Run != r.Run {
		v, ok := j.look(r.ID)
		if !ok {
			return ledger.Item{}, unknown("begin", r)
		}
		return v, nil
	}
	if it.Run < j.meta.Run {
		return ledger.Item{}, j.moved("begin a unit of", fmt.Sprintf("and a message of run %d came", r.Run))
	}
	it.Serial++
	it.Attempts++
	it.Last = receives >= limit || it.Attempts >= limit
	it.counted = true
	it.touch(l.now())
	return it.view(), nil
}

// write calls change with the item of r if the reader of that start of work
// still holds it.
func (l *Ledger) write(ctx context.Context, verb string, r ledger.Ref, serial int, change func(*job, *item)) error {
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
	change(j, it)
	return nil
}

// beat shows that something happened to a unit. It beats as rarely as the
// contract allows: callers must not rely on more than a driver gives that pays
// for each beat.
func (j *job) beat(it *item) {
	if it.Run == j.meta.Run {
		j.count.Beat++
	}
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
	return l.write(ctx, "mark a member faulty in", r, serial, func(_ *job, it *item) {
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
	return l.write(ctx, "mark the rest done of", r, serial, func(_ *job, it *item) {
		it.RestDone, it.Cursor = true, nil
		it.amountsTo(c)
	})
}

// Recovered implements [ledger.Worker].
func (l *Ledger) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c ledger.Counts) error {
	return l.write(ctx, "recover a member of", r, serial, func(_ *job, it *item) {
		if i := it.fault(member); i >= 0 {
			it.Faults = append(it.Faults[:i], it.Faults[i+1:]...)
			if it.Cursor != nil && it.Cursor.Series == member+1 {
				it.Cursor = nil
			}
			it.amountsTo(c)
		}
	})
}

// Pause implements [ledger.Worker].
func (l *Ledger) Pause(ctx context.Context, r ledger.Ref, serial int, cur ledger.Cursor, c ledger.Counts) error {
	return l.write(ctx, "pause", r, serial, func(j *job, it *item) {
		it.Cursor = &cur
		it.amountsTo(c)
		it.forgive()
		it.touch(l.now())
		j.beat(it)
		if l.resends {
			// The serial is its number: whoever pauses again has begun again before.
			j.todos[r.ID] = todo{run: r.Run, number: serial}
		}
	})
}

// GiveBack implements [ledger.Worker].
func (l *Ledger) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return l.write(ctx, "give back", r, serial, func(_ *job, it *item) {
		if it.counted {
			it.counted = false
			it.Attempts--
			it.Last = false
		}
	})
}
