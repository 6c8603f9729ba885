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

// probeEvery is how often a sink that is down is probed.
const probeEvery = time.Minute

// waiting stands before the feed. It holds the messages that the reader acked while
// the job was halted because its sink is down: a ledger in memory keeps no messages,
// and resending all that is open in another ledger would repeat what is being read.
//
// While anything waits, nothing new is sent. So no more waits than the feed held,
// however long the halt lasts; and something is always left to probe with, at least
// the unit that met the sink.
type waiting struct {
	feed feed.Sender

	mu       sync.Mutex
	messages []feed.Message
	open     chan struct{} // closed when new units may be sent; nil: they may
}

// add takes a message that the reader is about to ack.
func (w *waiting) add(m feed.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m.Probe = false
	w.messages = append(w.messages, m)
	if w.open == nil {
		w.open = make(chan struct{})
	}
}

// any reports whether something waits, or is out as a probe.
func (w *waiting) any() bool { return w.closed() != nil }

func (w *waiting) closed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

// Send implements [feed.Sender], for units that are newly listed.
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

// probe sends the message that has waited longest, to see whether the sink is
// still down. If it is, the reader gives the message back, to the end of the
// queue.
func (w *waiting) probe(ctx context.Context) error {
	m := w.take(1)
	if len(m) == 0 { // the last probe is still at it
		return nil
	}
	m[0].Probe = true
	return w.again(ctx, m)
}

// release sends what waits now, and lets new units in if that is all: the job
// may have been halted again meanwhile.
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

// again sends ms. Those that it cannot send wait again.
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

// mind does for a job whose sink is down what the schedule does on a stack:
// once a minute one unit probes the sink, and when a probe succeeded all that
// waits is sent. It returns when ctx ends. What fails is tried again at the
// next tick; a ledger that stays silent is for watch to give up on.
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

// wasCleared announces, at the end, that an announced halt is over.
func (j *Job) wasCleared(ctx context.Context) {
	if meta, err := j.ledger.Meta(ctx, j.name); err == nil && meta.Halt == nil {
		j.tell(nil)
	}
}

// tell announces that the job is halted because its sink is down or, with nil,
// that it goes on.
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
		j.opt.Log.Warn("sink is down, and is retried once a minute", "job", j.name, "error", h.Detail)
	default:
		j.opt.Log.Info("sink is up again, and the job resumes", "job", j.name)
	}
}

// resume clears the halt after a probe found the sink up.
func (j *Job) resume(ctx context.Context, job string) error {
	_, err := j.ledger.Resume(ctx, job, failure.SinkDown)
	return err
}
