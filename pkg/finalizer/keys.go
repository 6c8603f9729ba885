package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// keys has what is current under overwritten keys claimed and sent. A key that
// fails does not keep the others from it.
func (l *look) keys(ctx context.Context) error {
	if l.opt.Take == nil {
		return nil
	}
	var (
		todos []ledger.KeyTodo
		left  []error
	)
	flush := func() error {
		again, err := l.take(ctx, todos)
		todos = todos[:0]
		if room := batchUnits - len(left); again != nil && room > 0 {
			left = append(left, again)
		}
		return err
	}
	err := l.ledger.Keys(ctx, l.meta.Job, func(t ledger.KeyTodo) error {
		if todos = append(todos, t); len(todos) < ledger.MaxClaims {
			return nil
		}
		return flush()
	})
	if err == nil && len(todos) > 0 {
		err = flush()
	}
	if err = errors.Join(append(left, err)...); err != nil {
		return fmt.Errorf("look again at keys of job %s: %w", l.meta.Job, err)
	}
	return nil
}

// take takes the objects of some todos; again is why some of them have to come
// again. A todo is removed after that, and only at the number that was read, so
// that one that a reader put meanwhile stays; after a crash between the two,
// the claims recognise the object.
//
// A version that is not there any more was replaced or deleted before anyone
// claimed it: what replaced it sends an event, which no claim swallows.
func (l *look) take(ctx context.Context, todos []ledger.KeyTodo) (again, err error) {
	objects := make([]unit.Object, len(todos))
	for i, t := range todos {
		objects[i] = t.Object
	}
	whys, err := l.opt.Take(ctx, l.meta, objects)
	if err != nil {
		return nil, err
	}
	for i, t := range todos {
		switch why := whys[i]; {
		case failure.Is(why, failure.Member):
			l.opt.Log.Info("key left to its events", "job", l.meta.Job, "key", t.Object.Key, "error", why)
		case why != nil:
			again = why
			continue
		}
		if err := l.ledger.KeySent(ctx, l.meta.Job, t); err != nil {
			return again, fmt.Errorf("remove todo of key %q: %w", t.Object.Key, err)
		}
	}
	return again, nil
}
