package sim_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/unit"
)

// wired is the ledger as one actor sees it: each call is an effect. A counter
// may miss a unit whose writer crashed, as it may where items and counters are
// not one.
type wired struct {
	*memledger.Shared
	w   *world
	who func() *actor
}

var _ ledger.Shared = wired{}

// call is one call. On its answer's way through, laws look at it.
func call[T any](ctx context.Context, l wired, op, detail string, f func(context.Context) (T, error)) (v T, err error) {
	what := op
	if detail != "" {
		what += " " + detail
	}
	err = l.who().do(ctx, op, what, func(ctx context.Context, _ float64) (err error) {
		v, err = f(ctx)
		return err
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// listed is a call that lists things, which are yielded after it.
func listed[T any](ctx context.Context, l wired, op, detail string, yield func(T) error, list func(context.Context, func(T) error) error) error {
	var all []T
	err := call0(ctx, l, op, detail, func(ctx context.Context) error {
		return list(ctx, func(v T) error { all = append(all, v); return nil })
	})
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := yield(v); err != nil {
			return err
		}
	}
	return nil
}

func call0(ctx context.Context, l wired, op, detail string, f func(context.Context) error) error {
	_, err := call(ctx, l, op, detail, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func (l wired) Start(ctx context.Context, job string, s ledger.Start) (ledger.Meta, error) {
	return call(ctx, l, "Start", s.Token, func(ctx context.Context) (ledger.Meta, error) {
		m, err := l.Shared.Start(ctx, job, s)
		if err == nil {
			l.w.laws.started(m)
		}
		return m, err
	})
}

func (l wired) Lease(ctx context.Context, c ledger.Lease) (ledger.Meta, error) {
	return call(ctx, l, "Lease", "", func(ctx context.Context) (ledger.Meta, error) {
		m, err := l.Shared.Lease(ctx, c)
		if err == nil {
			l.w.laws.leased(c)
		}
		return m, err
	})
}

func (l wired) Publish(ctx context.Context, c ledger.Lease, p ledger.Page) (stored ledger.Page, due []unit.ID, err error) {
	err = call0(ctx, l, "Publish", fmt.Sprintf("%d units up to %q", len(p.Units), p.Last), func(ctx context.Context) (err error) {
		stored, due, err = l.Shared.Publish(ctx, c, p)
		if err == nil {
			l.w.laws.published(c, stored, due)
		}
		return err
	})
	if err != nil {
		return ledger.Page{}, nil, err
	}
	return stored, due, nil
}

func (l wired) Advance(ctx context.Context, c ledger.Lease, p ledger.Page) error {
	return call0(ctx, l, "Advance", fmt.Sprintf("to %q", p.Last), func(ctx context.Context) error {
		return l.Shared.Advance(ctx, c, p)
	})
}

func (l wired) Finish(ctx context.Context, c ledger.Lease) error {
	return call0(ctx, l, "Finish", "", func(ctx context.Context) error {
		err := l.Shared.Finish(ctx, c)
		if err == nil {
			l.w.laws.listed(c)
		}
		return err
	})
}

func (l wired) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	return call(ctx, l, "Meta", "", func(ctx context.Context) (ledger.Meta, error) {
		m, err := l.Shared.Meta(ctx, job)
		if err == nil {
			l.w.laws.saw(l.who(), m)
		}
		return m, err
	})
}

func (l wired) Joined(ctx context.Context, job, pipeline string) error {
	return call0(ctx, l, "Joined", "", func(ctx context.Context) error { return l.Shared.Joined(ctx, job, pipeline) })
}

func (l wired) Begin(ctx context.Context, r ledger.Ref, receives, most int) (ledger.Item, error) {
	return call(ctx, l, "Begin", fmt.Sprintf("%s at receive %d", short(r.ID), receives), func(ctx context.Context) (ledger.Item, error) {
		before := l.w.item(r)
		i, err := l.Shared.Begin(ctx, r, receives, most)
		if err == nil {
			l.w.laws.begun(l.who(), r, before, i, receives)
		}
		return i, err
	})
}

func (l wired) Touch(ctx context.Context, r ledger.Ref) error {
	return call0(ctx, l, "Touch", short(r.ID), func(ctx context.Context) error { return l.Shared.Touch(ctx, r) })
}

func (l wired) Fault(ctx context.Context, r ledger.Ref, serial int, f unit.Fault) error {
	return call0(ctx, l, "Fault", fmt.Sprintf("%s %d from %d", short(r.ID), f.Member, f.Record), func(ctx context.Context) error {
		return l.Shared.Fault(ctx, r, serial, f)
	})
}

func (l wired) RestDone(ctx context.Context, r ledger.Ref, serial int, c unit.Counts) error {
	return call0(ctx, l, "RestDone", short(r.ID), func(ctx context.Context) error { return l.Shared.RestDone(ctx, r, serial, c) })
}

func (l wired) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c unit.Counts) error {
	return call0(ctx, l, "Recovered", fmt.Sprintf("%s %d", short(r.ID), member), func(ctx context.Context) error {
		return l.Shared.Recovered(ctx, r, serial, member, c)
	})
}

func (l wired) Pause(ctx context.Context, r ledger.Ref, serial int, cur unit.Cursor, c unit.Counts) error {
	return call0(ctx, l, "Pause", fmt.Sprintf("%s at %d.%d", short(r.ID), cur.Series, cur.Segment), func(ctx context.Context) error {
		err := l.Shared.Pause(ctx, r, serial, cur, c)
		if err == nil {
			l.w.laws.paused(l.who(), r)
		}
		return err
	})
}

// Done may leave the counter behind when its writer is gone.
func (l wired) Done(ctx context.Context, r ledger.Ref, c unit.Counts) (ledger.Tally, error) {
	return call(ctx, l, "Done", short(r.ID), func(ctx context.Context) (ledger.Tally, error) {
		before, err := l.Shared.Progress(ctx, r.Job, r.Run)
		if err != nil {
			return ledger.Tally{}, err
		}
		t, err := l.Shared.Done(ctx, r, c)
		if err != nil {
			return t, err
		}
		l.w.laws.done(l.who(), r)
		if l.who().dead && t.Done > before.Done && l.w.on("lag") {
			l.w.lag[runOf{r.Job, r.Run}]++
		}
		t.Done -= l.w.lag[runOf{r.Job, r.Run}]
		return t, nil
	})
}

func (l wired) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	return call(ctx, l, "Dead", fmt.Sprintf("%s %s", short(r.ID), c.Reason), func(ctx context.Context) (ledger.Tally, error) {
		before := l.w.item(r)
		t, err := l.Shared.Dead(ctx, r, serial, c)
		if err == nil && before.State == ledger.Open {
			l.w.laws.died(l.who(), r, before, c)
		}
		t.Done -= l.w.lag[runOf{r.Job, r.Run}]
		return t, err
	})
}

func (l wired) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return call0(ctx, l, "GiveBack", short(r.ID), func(ctx context.Context) error {
		before := l.w.item(r).Attempts
		err := l.Shared.GiveBack(ctx, r, serial)
		if err == nil {
			l.w.laws.gaveBack(r, before-l.w.item(r).Attempts)
		}
		return err
	})
}

func (l wired) Halt(ctx context.Context, job string, h ledger.Halt) (bool, error) {
	return call(ctx, l, "Halt", string(h.Reason), func(ctx context.Context) (bool, error) {
		won, err := l.Shared.Halt(ctx, job, h)
		l.w.laws.halted(l.who(), won && err == nil)
		return won, err
	})
}

func (l wired) Resume(ctx context.Context, job string, r failure.Reason) (bool, error) {
	return call(ctx, l, "Resume", string(r), func(ctx context.Context) (bool, error) {
		before := l.w.meta().Halt
		cleared, err := l.Shared.Resume(ctx, job, r)
		if cleared {
			l.w.laws.resumed(before, r)
		}
		return cleared, err
	})
}

func (l wired) Redrive(ctx context.Context, job string, run int) (int, error) {
	return call(ctx, l, "Redrive", fmt.Sprint(run), func(ctx context.Context) (int, error) {
		n, err := l.Shared.Redrive(ctx, job, run)
		if err == nil {
			l.w.laws.redriven()
		}
		return n, err
	})
}

func (l wired) Progress(ctx context.Context, job string, run int) (ledger.Progress, error) {
	return call(ctx, l, "Progress", "", func(ctx context.Context) (ledger.Progress, error) {
		p, err := l.Shared.Progress(ctx, job, run)
		p.Done -= l.w.lag[runOf{job, run}]
		return p, err
	})
}

func (l wired) Prove(ctx context.Context, job string, run int) (ledger.Census, error) {
	return call(ctx, l, "Prove", "", func(ctx context.Context) (ledger.Census, error) { return l.Shared.Prove(ctx, job, run) })
}

// Unfinished is two queries: what happens between them one may see and the other
// not.
func (l wired) Unfinished(ctx context.Context, job string, run int, yield func(ledger.Item) error) error {
	for half := range 2 {
		var items []ledger.Item
		err := call0(ctx, l, "Unfinished", fmt.Sprintf("%d/2", half+1), func(ctx context.Context) error {
			return l.Shared.Unfinished(ctx, job, run, func(i ledger.Item) error {
				if halfOf(i.ID) == half {
					items = append(items, i)
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		for _, i := range items {
			if err := yield(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func halfOf(id unit.ID) int { return int(id[len(id)-1]) % 2 }

func (l wired) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	return call0(ctx, l, "Conclude", string(s), func(ctx context.Context) error {
		before, err := l.Shared.Meta(ctx, job)
		if err != nil {
			return err
		}
		err = l.Shared.Conclude(ctx, job, run, generation, s)
		if err == nil && !before.State.Ended() {
			l.w.laws.concluded(before, s)
		}
		return err
	})
}

// Pending is two queries, as Unfinished is.
func (l wired) Pending(ctx context.Context, job string, run int, yield func(ledger.Planned) error) error {
	for half := range 2 {
		var units []ledger.Planned
		err := call0(ctx, l, "Pending", fmt.Sprintf("%d/2", half+1), func(ctx context.Context) error {
			return l.Shared.Pending(ctx, job, run, func(p ledger.Planned) error {
				if halfOf(p.ID) == half {
					p.Body = slices.Clone(p.Body)
					units = append(units, p)
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		for _, p := range units {
			if err := yield(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l wired) Live(ctx context.Context) ([]string, error) {
	return call(ctx, l, "Live", "", func(ctx context.Context) ([]string, error) { return l.Shared.Live(ctx) })
}

func (l wired) Body(ctx context.Context, r ledger.Ref) ([]byte, error) {
	return call(ctx, l, "Body", short(r.ID), func(ctx context.Context) ([]byte, error) { return l.Shared.Body(ctx, r) })
}

func (l wired) Due(ctx context.Context, job string, run int, yield func(ledger.Todo) error) error {
	return listed(ctx, l, "Due", "", yield, func(ctx context.Context, keep func(ledger.Todo) error) error {
		return l.Shared.Due(ctx, job, run, keep)
	})
}

func (l wired) Sent(ctx context.Context, job string, t ledger.Todo) error {
	return call0(ctx, l, "Sent", fmt.Sprintf("%s %d", short(t.ID), t.Number), func(ctx context.Context) error { return l.Shared.Sent(ctx, job, t) })
}

func (l wired) Swept(ctx context.Context, job string, run, ask int) error {
	return call0(ctx, l, "Swept", fmt.Sprint(ask), func(ctx context.Context) error { return l.Shared.Swept(ctx, job, run, ask) })
}

func (l wired) Resend(ctx context.Context, job string, run, generation, resends int) error {
	return call0(ctx, l, "Resend", fmt.Sprint(resends), func(ctx context.Context) error {
		before := l.w.meta()
		err := l.Shared.Resend(ctx, job, run, generation, resends)
		if err == nil {
			l.w.laws.resent(before)
		}
		return err
	})
}

func (l wired) Watch(ctx context.Context, job string) (ledger.Watch, error) {
	return call(ctx, l, "Watch", "", func(ctx context.Context) (ledger.Watch, error) { return l.Shared.Watch(ctx, job) })
}

func (l wired) Watched(ctx context.Context, job string, w ledger.Watch) error {
	return call0(ctx, l, "Watched", "", func(ctx context.Context) error { return l.Shared.Watched(ctx, job, w) })
}

func (l wired) Retire(ctx context.Context, job string, run, generation int) error {
	return call0(ctx, l, "Retire", fmt.Sprintf("%d.%d", run, generation), func(ctx context.Context) error {
		err := l.Shared.Retire(ctx, job, run, generation)
		if err == nil {
			l.w.laws.retired(run, generation)
		}
		return err
	})
}
