package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// Backlog implements [ledger.Minder].
func (l *Shared) Backlog(ctx context.Context, name string, run int) (b ledger.Backlog, err error) {
	items, err := l.unfinished(ctx, name, run)
	for _, it := range items {
		if it.State == ledger.Dead {
			b.Dead++
			continue
		}
		b.Open++
		if b.Oldest.IsZero() || it.Entered.Before(b.Oldest) {
			b.Oldest = it.Entered
		}
	}
	return b, err
}

// Stale implements [ledger.Minder]. The items are of one moment.
func (l *Shared) Stale(ctx context.Context, name string, run int, then time.Time, yield func(ledger.Item) error) error {
	items, err := l.unfinished(ctx, name, run)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.State != ledger.Open || !it.Entered.Before(then) || !it.Touched.Before(then) {
			continue
		}
		if err := yield(it); err != nil {
			return err
		}
	}
	return nil
}

// Repeat implements [ledger.Minder].
func (l *Shared) Repeat(ctx context.Context, r ledger.Ref, repeats int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "repeat a unit of", r.Job)
	if err != nil {
		return err
	}
	it, ok := j.look(r.ID)
	if !ok {
		return unknown("repeat", r)
	}
	if it.State != ledger.Open || it.Run != r.Run || it.Repeats != repeats {
		return fmt.Errorf("repeat unit %s of job %s: it is %s in run %d after %d re-sends, and one of run %d after %d came: %w",
			r.ID, r.Job, it.State, it.Run, it.Repeats, r.Run, repeats, ledger.ErrFenced)
	}
	is := j.items[keyOf(r.ID)]
	is.Repeats++
	is.touch(l.now())
	return nil
}

// Keys implements [ledger.Minder]. The todos are of one moment.
func (l *Shared) Keys(ctx context.Context, name string, yield func(ledger.KeyTodo) error) error {
	todos, err := l.keyTodos(ctx, name)
	if err != nil {
		return err
	}
	for _, t := range todos {
		if err := yield(t); err != nil {
			return err
		}
	}
	return nil
}

func (l *Shared) keyTodos(ctx context.Context, name string) (todos []ledger.KeyTodo, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "list the keys to look at of", name)
	if err != nil {
		return nil, err
	}
	for _, t := range j.keys {
		todos = append(todos, t)
	}
	slices.SortFunc(todos, func(a, b ledger.KeyTodo) int { return cmp.Compare(a.Object.Key, b.Object.Key) })
	return todos, nil
}

// KeySent implements [ledger.Minder].
func (l *Shared) KeySent(ctx context.Context, name string, t ledger.KeyTodo) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "note a key that was sent of", name)
	if err != nil {
		return err
	}
	if j.keys[t.Object.Key].Number == t.Number {
		delete(j.keys, t.Object.Key)
	}
	return nil
}
