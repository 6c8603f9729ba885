package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// What only continuous jobs call of the ledger.

func (l wired) Open(ctx context.Context, job string, s ledger.Start) (ledger.Meta, error) {
	return call(ctx, l, "Open", "", func(ctx context.Context) (ledger.Meta, error) {
		m, err := l.Shared.Open(ctx, job, s)
		if err == nil {
			l.w.laws.started(m)
		}
		return m, err
	})
}

func (l wired) Enter(ctx context.Context, e ledger.Entry) (held []ledger.Held, err error) {
	what := fmt.Sprintf("Enter %s with %d objects", short(e.Units[0].ID), len(e.Claims))
	err = l.who().do(ctx, what, what, func(ctx context.Context, _ float64) (err error) {
		held, err = l.Shared.Enter(ctx, e)
		if err == nil && len(held) == 0 {
			l.w.laws.entered(l.who(), e)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

func (l wired) Claimed(ctx context.Context, job string, id unit.ObjectID) (h ledger.Held, err error) {
	what := "Claimed " + string(id[len(id)-5:])
	err = l.who().do(ctx, what, what, func(ctx context.Context, _ float64) (err error) {
		h, err = l.Shared.Claimed(ctx, job, id)
		return err
	})
	if err != nil {
		return ledger.Held{}, err
	}
	return h, nil
}

func (l wired) Look(ctx context.Context, r ledger.Ref) (i ledger.Item, err error) {
	what := "Look " + short(r.ID)
	err = l.who().do(ctx, what, what, func(ctx context.Context, _ float64) (err error) {
		i, err = l.Shared.Look(ctx, r)
		return err
	})
	if err != nil {
		return ledger.Item{}, err
	}
	return i, nil
}

func (l wired) Overwritten(ctx context.Context, r ledger.Ref, serial int, f unit.Fault, o unit.Object) error {
	return call0(ctx, l, "Overwritten", fmt.Sprintf("%s %s from %d", short(r.ID), o.ETag, f.Record), func(ctx context.Context) error {
		err := l.Shared.Overwritten(ctx, r, serial, f, o)
		if err == nil {
			l.w.laws.overwritten(r, o)
		}
		return err
	})
}

func (l wired) Again(ctx context.Context, job string, o unit.Object) error {
	return call0(ctx, l, "Again", fmt.Sprintf("%s for the %d. time", o.ETag, o.Again), func(ctx context.Context) error {
		return l.Shared.Again(ctx, job, o)
	})
}

func (l wired) Adopt(ctx context.Context, job string, run int, read string) (string, error) {
	return call(ctx, l, "Adopt", read, func(ctx context.Context) (string, error) { return l.Shared.Adopt(ctx, job, run, read) })
}

// Stale is as old as a query of an index may be: it may be a while until the
// items are worked on.
func (l wired) Stale(ctx context.Context, job string, run int, then time.Time, yield func(ledger.Item) error) error {
	return listed(ctx, l, "Stale", fmt.Sprint("since ", then.Sub(epoch).Round(time.Second)), yield, func(ctx context.Context, keep func(ledger.Item) error) error {
		return l.Shared.Stale(ctx, job, run, then, keep)
	})
}

func (l wired) Repeat(ctx context.Context, r ledger.Ref, repeats int) error {
	return call0(ctx, l, "Repeat", fmt.Sprintf("%s after %d", short(r.ID), repeats), func(ctx context.Context) error {
		before := l.w.item(r)
		err := l.Shared.Repeat(ctx, r, repeats)
		if err == nil {
			l.w.laws.repeated(r, before)
		}
		return err
	})
}

func (l wired) Keys(ctx context.Context, job string, yield func(ledger.KeyTodo) error) error {
	return listed(ctx, l, "Keys", "", yield, func(ctx context.Context, keep func(ledger.KeyTodo) error) error {
		return l.Shared.Keys(ctx, job, keep)
	})
}

func (l wired) KeySent(ctx context.Context, job string, t ledger.KeyTodo) error {
	return call0(ctx, l, "KeySent", fmt.Sprintf("%s %d", t.Object.ETag, t.Number), func(ctx context.Context) error {
		return l.Shared.KeySent(ctx, job, t)
	})
}

// Stat looks at a key as it is.
func (b bucket) Stat(ctx context.Context, key string) (o unit.Object, err error) {
	err = b.who().do(ctx, "stat "+key, "stat "+key, func(context.Context, float64) error { return b.w.store.stat(key, &o) })
	if err != nil {
		return unit.Object{}, err
	}
	return o, nil
}
