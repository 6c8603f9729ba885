package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// wire is the ledger for one actor.
func (w *world) wire(a *actor) wired {
	return wired{w.ledger, w, func() *actor { return a }}
}

// opener is the bucket of whoever reads: the context says who.
type opener struct{ w *world }

func (o opener) Pin(of unit.Object) object.Pinned { return late{o.w, of} }

type late struct {
	w *world
	o unit.Object
}

func (l late) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	a := actorOf(ctx)
	return (&pinned{bucket{l.w, func() *actor { return a }}, l.o}).ReadRange(ctx, off, n)
}

func (l late) Close() error { return nil }

// container is a process that reads one unit after another, and remembers what
// the reader does from one to the next.
type container struct {
	reader *reader.Reader
	at     *actor
}

func (w *world) container() *container {
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return c
	}
	c := &container{}
	l := wired{w.ledger, w, func() *actor { return c.at }}
	c.reader = reader.New(l, w.pipe, reader.Options{
		ReadDigest: "read", Pipeline: "pipeline", Cache: 5 * time.Second,
		BackoffMin: 15 * time.Second, BackoffMax: 2 * time.Minute, Settling: window, Log: w.log,
		Resume: func(ctx context.Context, job string) error {
			_, err := l.Resume(ctx, job, failure.SinkDown)
			return err
		},
		Announced: l,
		Stat: func(ctx context.Context, _, key string) (unit.Object, error) {
			return bucket{w, func() *actor { return c.at }}.Stat(ctx, key)
		},
		Settled: func(ctx context.Context, _ string) error { return w.finalize(ctx, c.at) },
	})
	return c
}

// receive is one receive of a message, and its delivery.
func (w *world) receive(m *message) {
	d, receipt, ok := w.queue.receive(m)
	if !ok {
		w.note("", "  dead letter "+m.String(), "")
		return
	}
	w.note("", fmt.Sprintf("  %v for the %d. time", m, m.receives), "")
	w.laws.received(m)
	if !w.quiet {
		if w.on("lost receive") && w.rng.Float64() < 0.05 {
			w.note("", "  and nobody gets it", "")
			return
		}
		if w.on("duplicate") && w.rng.Float64() < 0.15 {
			m.visible = time.Now()
		}
	}
	c := w.container()
	a := w.spawn("reader", w.timeout, func(ctx context.Context, a *actor) {
		c.at, a.probe = a, m.Probe
		ctx = context.WithValue(ctx, actorKey{}, a)
		d.Extend = func(ctx context.Context, t time.Duration) error {
			return a.do(ctx, "extend", "extend "+m.String(), func(context.Context, float64) error { return w.queue.extend(m, receipt, t) })
		}
		err := c.reader.Handle(ctx, d)
		w.answer(a, c, m, receipt, err)
	})
	w.busy = append(w.busy, a)
}

// answer is what the mapping does with what became of a delivery.
func (w *world) answer(a *actor, c *container, m *message, receipt int, err error) {
	if err == nil {
		_ = a.do(context.Background(), "answer", "ack "+m.String(), func(_ context.Context, roll float64) error {
			w.laws.acked(a, m)
			w.queue.ack(m, receipt, roll)
			w.idle = append(w.idle, c)
			return nil
		})
		return
	}
	delay := upTo(feed.Delay(err), 15*time.Second)
	_ = a.do(context.Background(), "answer", fmt.Sprintf("fail %v, again after %v: %.90s", m, delay, err), func(context.Context, float64) error {
		_ = w.queue.extend(m, receipt, delay)
		w.idle = append(w.idle, c)
		return nil
	})
}

// finalize has the finalizer called for the job.
func (w *world) finalize(ctx context.Context, a *actor) error {
	return a.do(ctx, "finalize", "call the finalizer", func(context.Context, float64) error {
		w.spawn("proof", time.Minute, func(ctx context.Context, a *actor) {
			a.proofOnly = true
			_ = w.finalizer(a).Triggered(ctx, job)
		})
		return nil
	})
}

// ticks is one event of the schedule.
func (w *world) ticks() {
	w.spawn("tick", 5*time.Minute, func(ctx context.Context, a *actor) { _ = w.finalizer(a).Tick(ctx) })
}

func (w *world) finalizer(a *actor) *finalizer.Shared {
	return finalizer.NewShared(w.wire(a), sender{w.queue, func() *actor { return a }}, finalizer.Options{
		List: func(ctx context.Context, _ string, run int) error {
			return a.do(ctx, "lister", "call the lister", func(context.Context, float64) error {
				w.spawn("lister", w.timeout, func(ctx context.Context, a *actor) { w.lists(ctx, a, run) })
				return nil
			})
		},
		Take:    w.takes(a),
		Reports: reports{w, a},
		Announce: func(ctx context.Context, r *report.Report) error {
			return a.do(ctx, "announce", fmt.Sprintf("announce %s %d.%d", r.State, r.Run, r.Generation), func(context.Context, float64) error {
				w.laws.announced(r)
				return nil
			})
		},
		Empty: func(ctx context.Context) (empty bool, err error) {
			err = a.do(ctx, "depth", "look into the queue", func(context.Context, float64) error {
				empty = w.queue.empty() || w.on("blind") // its count is no more than a hint
				return nil
			})
			return empty, err
		},
		Window: window, Resends: resends, Log: w.log,
	})
}

// reports are the reports' bucket.
type reports struct {
	w *world
	a *actor
}

func (r reports) Put(ctx context.Context, name string, body []byte) error {
	return r.a.do(ctx, "put", "put "+name, func(context.Context, float64) error {
		r.w.laws.put(name, body)
		r.w.reports[name] = body
		return nil
	})
}

// lists is an invocation of the lister function.
func (w *world) lists(ctx context.Context, a *actor, run int) {
	l := w.wire(a)
	m, err := l.Meta(ctx, job)
	if err != nil || m.Run != run || m.State != ledger.Listing || m.Halt != nil && m.Halt.Reason != failure.SinkDown {
		return
	}
	it := lister.New(bucket{w, func() *actor { return a }}, l, sender{w.queue, func() *actor { return a }},
		lister.Options{Bucket: "b", Options: cut.Options{Target: 12 * mib}})
	err = it.Run(ctx, job, m)
	switch {
	case err == nil:
		_ = w.finalize(ctx, a)
	case failure.Is(err, failure.Job) && !errors.Is(err, errCrashed):
		_, reason := failure.Of(err)
		_ = ledger.Retry(ctx, func() error {
			_, err := l.Halt(ctx, job, ledger.Halt{Reason: reason, Detail: err.Error(), At: time.Now()})
			return err
		})
	}
}

// operator gives a command, once.
func (w *world) operator(command string) *actor {
	w.starts++
	token := fmt.Sprint("start ", w.starts)
	return w.spawn("operator", 0, func(ctx context.Context, a *actor) {
		c := control.New(w.wire(a), control.Options{})
		switch command {
		case "resume":
			_, _ = c.Resume(ctx, job)
		case "redrive":
			_, _ = c.Redrive(ctx, job)
		case "cancel":
			_, _ = c.Cancel(ctx, job)
		case "start":
			w.start(ctx, a, token)
		}
	})
}

// start is a call of the lister function that starts the job, and goes on with
// its listing.
func (w *world) start(ctx context.Context, a *actor, token string) {
	var m ledger.Meta
	l := w.wire(a)
	err := ledger.Retry(ctx, func() (err error) {
		m, err = l.Start(ctx, job, ledger.Start{Token: token, Digests: ledger.Digests{Plan: "plan", Read: "read"}})
		return err
	})
	if err == nil {
		w.lists(ctx, a, m.Run)
	}
}
