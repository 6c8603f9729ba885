package memledger

import (
	"context"

	"github.com/spate-go/spate/pkg/ledger"
)

// Touch implements [ledger.Worker].
func (l *Ledger) Touch(ctx context.Context, r ledger.Ref) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "touch a unit of", r.Job)
	if err != nil {
		return err
	}
	if _, ok := j.look(r.ID); !ok {
		return unknown("touch", r)
	}
	if it, ok := j.items[keyOf(r.ID)]; ok && it.State == ledger.Open && it.Run == r.Run {
		it.touch(l.now())
	}
	if r.Run == j.meta.Run {
		j.count.Beat++
	}
	return nil
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
		return j.progress().Tally, nil
	}
	current := it.Run == j.meta.Run
	if current {
		j.add(it.Objects, c)
	}
	if it.State == ledger.Dead {
		// In the same step: a verdict that was proved with the unit dead must
		// not pass once it is done.
		j.meta.Generation++
		if current {
			j.count.Dead--
		}
	}
	delete(j.items, k)
	if it.end(l.now()); it.entered() {
		it.finish(c)
		j.kept[k] = it
	}
	j.done.add(k, it.Run, c)
	return j.progress().Tally, nil
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
		return j.progress().Tally, nil
	}
	if !ok || !it.held(r, serial) && !it.unbegun(r, serial) {
		return ledger.Tally{}, j.refuse("give up", r, serial)
	}
	c = cloneCause(c)
	it.State, it.Cause = ledger.Dead, &c
	it.end(l.now())
	if it.Run == j.meta.Run {
		j.count.Dead++
	}
	j.beat(it)
	return j.progress().Tally, nil
}
