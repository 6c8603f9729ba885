package finalizer_test

import (
	"context"
	"time"

	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
)

// wired is a ledger each call of which passes through its world.
type wired struct {
	finalizer.Ledger
	w *world
}

func (l wired) Live(ctx context.Context) ([]string, error) {
	return call(l.w, "Live", "", func() ([]string, error) { return l.Ledger.Live(ctx) })
}

func (l wired) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	return call(l.w, "Meta", job, func() (ledger.Meta, error) { return l.Ledger.Meta(ctx, job) })
}

func (l wired) Progress(ctx context.Context, job string, run int) (ledger.Progress, error) {
	return call(l.w, "Progress", job, func() (ledger.Progress, error) {
		p, err := l.Ledger.Progress(ctx, job, run)
		p.Done -= l.w.lag
		return p, err
	})
}

func (l wired) Prove(ctx context.Context, job string, run int) (ledger.Census, error) {
	return call(l.w, "Prove", job, func() (ledger.Census, error) {
		c, err := l.Ledger.Prove(ctx, job, run)
		if l.w.lost != "" {
			c.Open--
		}
		return c, err
	})
}

func (l wired) Unfinished(ctx context.Context, job string, run int, yield func(ledger.Item) error) error {
	_, err := call(l.w, "Unfinished", job, nothing(func() error {
		return l.Ledger.Unfinished(ctx, job, run, func(i ledger.Item) error {
			if i.ID == l.w.lost {
				return nil
			}
			return yield(i)
		})
	}))
	return err
}

func (l wired) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	_, err := call(l.w, "Conclude", job, nothing(func() error { return l.Ledger.Conclude(ctx, job, run, generation, s) }))
	return err
}

func (l wired) Pending(ctx context.Context, job string, run int, yield func(ledger.Planned) error) error {
	_, err := call(l.w, "Pending", job, nothing(func() error { return l.Ledger.Pending(ctx, job, run, yield) }))
	return err
}

func (l wired) Body(ctx context.Context, r ledger.Ref) ([]byte, error) {
	return call(l.w, "Body", r.Job, func() ([]byte, error) { return l.Ledger.Body(ctx, r) })
}

func (l wired) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	return call(l.w, "Dead", r.Job, func() (ledger.Tally, error) { return l.Ledger.Dead(ctx, r, serial, c) })
}

func (l wired) Due(ctx context.Context, job string, run int, yield func(ledger.Todo) error) error {
	_, err := call(l.w, "Due", job, nothing(func() error { return l.Ledger.Due(ctx, job, run, yield) }))
	return err
}

func (l wired) Sent(ctx context.Context, job string, t ledger.Todo) error {
	_, err := call(l.w, "Sent", job, nothing(func() error { return l.Ledger.Sent(ctx, job, t) }))
	return err
}

func (l wired) Swept(ctx context.Context, job string, run, ask int) error {
	_, err := call(l.w, "Swept", job, nothing(func() error { return l.Ledger.Swept(ctx, job, run, ask) }))
	return err
}

func (l wired) Resend(ctx context.Context, job string, run, generation, resends int) error {
	_, err := call(l.w, "Resend", job, nothing(func() error { return l.Ledger.Resend(ctx, job, run, generation, resends) }))
	return err
}

func (l wired) Watch(ctx context.Context, job string) (ledger.Watch, error) {
	return call(l.w, "Watch", job, func() (ledger.Watch, error) { return l.Ledger.Watch(ctx, job) })
}

func (l wired) Watched(ctx context.Context, job string, wt ledger.Watch) error {
	_, err := call(l.w, "Watched", job, nothing(func() error { return l.Ledger.Watched(ctx, job, wt) }))
	return err
}

func (l wired) Retire(ctx context.Context, job string, run, generation int) error {
	_, err := call(l.w, "Retire", job, nothing(func() error { return l.Ledger.Retire(ctx, job, run, generation) }))
	return err
}

func (l wired) Stale(ctx context.Context, job string, run int, then time.Time, yield func(ledger.Item) error) error {
	_, err := call(l.w, "Stale", job, nothing(func() error { return l.Ledger.Stale(ctx, job, run, then, yield) }))
	return err
}

func (l wired) Repeat(ctx context.Context, r ledger.Ref, repeats int) error {
	_, err := call(l.w, "Repeat", r.Job, nothing(func() error { return l.Ledger.Repeat(ctx, r, repeats) }))
	return err
}

func (l wired) Keys(ctx context.Context, job string, yield func(ledger.KeyTodo) error) error {
	_, err := call(l.w, "Keys", job, nothing(func() error { return l.Ledger.Keys(ctx, job, yield) }))
	return err
}

func (l wired) KeySent(ctx context.Context, job string, t ledger.KeyTodo) error {
	_, err := call(l.w, "KeySent", job, nothing(func() error { return l.Ledger.KeySent(ctx, job, t) }))
	return err
}
