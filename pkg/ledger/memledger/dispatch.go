package memledger

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
)

type todo struct{ run, number int }

// Live implements [ledger.Dispatcher].
func (l *Shared) Live(ctx context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list live jobs: %w", err)
	}
	var live []string
	for _, name := range slices.Sorted(maps.Keys(l.jobs)) {
		if !l.jobs[name].retired {
			live = append(live, name)
		}
	}
	return live, nil
}

// Retire implements [ledger.Dispatcher].
func (l *Shared) Retire(ctx context.Context, name string, run, generation int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "retire", name)
	if err != nil {
		return err
	}
	if j.meta.Run != run || j.meta.Generation != generation || !j.meta.State.Ended() {
		return j.moved("retire", fmt.Sprintf("at generation %d, and what was reported is run %d at generation %d", j.meta.Generation, run, generation))
	}
	j.retired = true
	return nil
}

// Body implements [ledger.Dispatcher].
func (l *Shared) Body(ctx context.Context, r ledger.Ref) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "look up a unit of", r.Job)
	if err != nil {
		return nil, err
	}
	body, ok := j.bodies[r.ID]
	if !ok {
		return nil, unknown("look up", r)
	}
	return bytes.Clone(body), nil
}

// Pending implements [ledger.Resumer]. The units are of one moment.
func (l *Shared) Pending(ctx context.Context, name string, run int, yield func(ledger.Planned) error) error {
	items, err := l.unfinished(ctx, name, run)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.State != ledger.Open {
			continue
		}
		it.Body, err = l.Body(ctx, ledger.Ref{Job: name, Run: run, ID: it.ID})
		if err != nil {
			return err
		}
		if err := yield(it.Planned); err != nil {
			return err
		}
	}
	return nil
}

// Due implements [ledger.Dispatcher]. The todos are of one moment.
func (l *Shared) Due(ctx context.Context, name string, run int, yield func(ledger.Todo) error) error {
	due, err := l.due(ctx, name, run)
	if err != nil {
		return err
	}
	for _, t := range due {
		if err := yield(t); err != nil {
			return err
		}
	}
	return nil
}

func (l *Shared) due(ctx context.Context, name string, run int) (due []ledger.Todo, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "list what is due of", name)
	if err != nil {
		return nil, err
	}
	for id, t := range j.todos {
		if t.run == run {
			due = append(due, ledger.Todo{ID: id, Number: t.number})
		}
	}
	slices.SortFunc(due, func(a, b ledger.Todo) int { return cmp.Compare(a.ID, b.ID) })
	return due, nil
}

// Sent implements [ledger.Dispatcher].
func (l *Shared) Sent(ctx context.Context, name string, t ledger.Todo) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "note what was sent of", name)
	if err != nil {
		return err
	}
	if j.todos[t.ID].number == t.Number {
		delete(j.todos, t.ID)
	}
	return nil
}
