package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
)

// probeEvery is how often a sink that is down is tried.
const probeEvery = time.Minute

// waiting is the way into the feed, and holds what the reader acked of a job that
// is halted while its sink is down: a ledger in memory keeps no messages, and with
// any other all that is open would be sent, also what is being read.
//
// While anything waits nothing else is sent. So what waits is no more than what the
// feed held, though the halt may last; and of that something is always left to
// probe with, since the unit that met the sink is.
type waiting struct {
	feed feed.Sender

	mu       sync.Mutex
	messages []feed.Message
	open     chan struct{} // closed when what is listed may be sent; nil: it may
}

// add is told what the reader acks.
func (w *waiting) add(m feed.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m.Probe = false
	w.messages = append(w.messages, m)
	if w.open == nil {
		w.open = make(chan struct{})
	}
}

// any reports whether something waits, or is tried.
func (w *waiting) any() bool { return w.closed() != nil }

func (w *waiting) closed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

// Send implements [feed.Sender], for what is listed.
func (w *waiting) Send(ctx context.Context, ms ...feed.Message) error {
	for _, m := range ms {
		for open := w.closed(); open != nil; open = w.closed() {
			select {
			case <-open:
			case <-ctx.Done():
				return fmt.Errorf("send unit %s: %w", m.ID, ctx.Err())
			}
		}
		if err := w.feed.Send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// probe sends what has waited longest, to see whether the sink is down still. If
// so, the reader gives it back as the last.
func (w *waiting) probe(ctx context.Context) error {
	m := w.take(1)
	if len(m) == 0 { // the last probe is still at it
		return nil
	}
	m[0].Probe = true
	return w.again(ctx, m)
}

// release sends what waits by now, and lets in what is listed if that is all: the
// job may be halted again meanwhile.
func (w *waiting) release(ctx context.Context) error {
	if err := w.again(ctx, w.take(-1)); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.messages) == 0 && w.open != nil {
		close(w.open)
		w.open = nil
	}
	return nil
}

// take takes the first n; -1: all.
func (w *waiting) take(n int) []feed.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < 0 || n > len(w.messages) {
		n = len(w.messages)
	}
	taken := w.messages[:n:n]
	w.messages = w.messages[n:]
	return taken
}

// again sends ms, and what it cannot send waits.
func (w *waiting) again(ctx context.Context, ms []feed.Message) error {
	for i, m := range ms {
		if err := w.feed.Send(ctx, m); err != nil {
			for _, m := range ms[i:] {
				w.add(m)
			}
			return err
		}
	}
	return nil
}

// mind does for a job whose sink is down what the schedule of a stack does: one
// unit a minute tries the sink, and all that waits is sent once one fared well. It
// returns when ctx ends. What goes wrong is tried again; a ledger that stays silent
// ends watch.
func (j *Job) mind(ctx context.Context) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	var (
		down bool
		due  time.Time
	)
	for {
		select {
		case <-ctx.Done():
			if down { // the probe may have been the last unit
				j.wasCleared(context.WithoutCancel(ctx))
			}
			return
		case <-tick.C:
		}
		if !j.waits.any() {
			continue
		}
		meta, err := j.ledger.Meta(ctx, j.name)
		now := time.Now()
		switch {
		case err != nil:
		case meta.Halt == nil:
			if down {
				down = false
				j.tell(nil)
			}
			err = j.waits.release(ctx)
		case !meta.Halt.SinkDown(): // the job ends with it
		case !down:
			down, due = true, now.Add(probeEvery)
			j.tell(meta.Halt)
		case !now.Before(due):
			due = now.Add(probeEvery)
			err = j.waits.probe(ctx)
		}
		if err != nil && ctx.Err() == nil {
			j.opt.Log.Warn("units of a halted job not sent yet", "job", j.name, "error", err)
		}
	}
}

// wasCleared tells, at the end, that a halt that was told of is over.
func (j *Job) wasCleared(ctx context.Context) {
	if meta, err := j.ledger.Meta(ctx, j.name); err == nil && meta.Halt == nil {
		j.tell(nil)
	}
}

// tell says that the job is halted because its sink is down, or that it goes on.
func (j *Job) tell(h *ledger.Halt) {
	gauge := j.progress.halts(failure.SinkDown)
	gauge.Set(0)
	if h != nil {
		gauge.Set(1)
	}
	switch {
	case j.opt.down != nil:
		j.opt.down(h)
	case h != nil:
		j.opt.Log.Warn("sink is down, and is tried once a minute", "job", j.name, "error", h.Detail)
	default:
		j.opt.Log.Info("sink is up again, and the job goes on", "job", j.name)
	}
}

// resume clears the halt for a sink that a probe found to be up.
func (j *Job) resume(ctx context.Context, job string) error {
	_, err := j.ledger.Resume(ctx, job, failure.SinkDown)
	return err
}
