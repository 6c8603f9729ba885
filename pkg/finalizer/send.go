package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Limits of one send, so that what waits to be sent is bounded.
const (
	batchUnits = 100
	batchBytes = 1 << 20
)

// batch holds the messages of a job that wait to be sent.
type batch struct {
	messages []feed.Message
	bytes    int
}

func (b *batch) add(m feed.Message) {
	b.messages = append(b.messages, m)
	b.bytes += len(m.Body)
}

func (b *batch) full() bool { return len(b.messages) >= batchUnits || b.bytes >= batchBytes }

// send sends and empties b.
func (l *look) send(ctx context.Context, b *batch) error {
	if len(b.messages) == 0 {
		return nil
	}
	if err := l.feed.Send(ctx, b.messages...); err != nil {
		return fmt.Errorf("send %d units of job %s: %w", len(b.messages), l.meta.Job, err)
	}
	*b = batch{messages: b.messages[:0]}
	return nil
}

func (l *look) ref(id unit.ID) ledger.Ref {
	return ledger.Ref{Job: l.meta.Job, Run: l.meta.Run, ID: id}
}

func (l *look) message(id unit.ID, body []byte) feed.Message {
	return feed.Message{ID: id, Job: l.meta.Job, Body: body}
}

// todos sends what is due again. A todo is removed after its send, and only at
// the number that was sent, so that one that a reader put meanwhile stays. A
// unit that cannot be read keeps no other from being sent.
func (l *look) todos(ctx context.Context) error {
	var (
		b      batch
		sent   []ledger.Todo
		unread []error
	)
	flush := func() error {
		if err := l.send(ctx, &b); err != nil {
			return err
		}
		if err := l.sent(ctx, sent); err != nil {
			return err
		}
		sent = sent[:0]
		return nil
	}
	err := l.ledger.Due(ctx, l.meta.Job, l.meta.Run, func(t ledger.Todo) error {
		body, err := l.ledger.Body(ctx, l.ref(t.ID))
		switch {
		case errors.Is(err, ledger.ErrNoUnit):
			l.opt.Log.Warn("todo of no unit", "job", l.meta.Job, "unit", t.ID)
		case err != nil && len(unread) < batchUnits && ctx.Err() == nil:
			unread = append(unread, fmt.Errorf("read unit %s of job %s: %w", t.ID, l.meta.Job, err))
			return nil
		case err != nil:
			return err
		default:
			b.add(l.message(t.ID, body))
		}
		sent = append(sent, t)
		if b.full() {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		err = fmt.Errorf("send what is due of job %s: %w", l.meta.Job, err)
	}
	return errors.Join(append(unread, err)...)
}

// sent removes todos. What is on its way is given a window to arrive; in a
// continuous job each unit has its own.
func (l *look) sent(ctx context.Context, todos []ledger.Todo) error {
	if len(todos) == 0 {
		return nil
	}
	if !l.meta.Continuous {
		if err := l.restart(ctx); err != nil {
			return err
		}
	}
	for _, t := range todos {
		if err := l.ledger.Sent(ctx, l.meta.Job, t); err != nil {
			return fmt.Errorf("remove todo of unit %s: %w", t.ID, err)
		}
	}
	return nil
}

// sweep sends every open unit, if that was asked for. It records as carried out
// the request that was read before, so one that comes meanwhile is not lost. A
// sweep that is cut off is repeated whole.
func (l *look) sweep(ctx context.Context) error {
	if l.meta.Ask == l.meta.Swept {
		return nil
	}
	var b batch
	n := 0
	err := l.ledger.Pending(ctx, l.meta.Job, l.meta.Run, func(p ledger.Planned) error {
		b.add(l.message(p.ID, p.Body))
		n++
		if b.full() {
			return l.send(ctx, &b)
		}
		return nil
	})
	if err == nil {
		err = l.send(ctx, &b)
	}
	if err != nil {
		return fmt.Errorf("send every open unit of job %s: %w", l.meta.Job, err)
	}
	if err := l.restart(ctx); err != nil {
		return err
	}
	if err := l.ledger.Swept(ctx, l.meta.Job, l.meta.Run, l.meta.Ask); err != nil {
		return fmt.Errorf("note that every open unit of job %s was sent: %w", l.meta.Job, err)
	}
	l.opt.Log.Info("open units sent", "job", l.meta.Job, "run", l.meta.Run, "units", n, "ask", l.meta.Ask)
	return nil
}

// errFound ends a walk over items early.
var errFound = errors.New("found")

// probe sends one open unit of a job whose sink is down, to see whether it
// still is. It takes the next unit each time, because one that is bad itself
// finds nothing out. Whose turn it was is recorded before the send, so that a
// unit whose message cannot be made does not keep the turn.
func (l *look) probe(ctx context.Context) error {
	if !l.meta.Halt.SinkDown() {
		return nil
	}
	id, err := l.nextProbe(ctx)
	if err != nil || id == "" {
		return err
	}
	l.watch.Probe = id
	if err := l.remember(ctx); err != nil {
		return err
	}
	body, err := l.ledger.Body(ctx, l.ref(id))
	if err != nil {
		return fmt.Errorf("read unit %s of job %s: %w", id, l.meta.Job, err)
	}
	m := l.message(id, body)
	m.Probe = true
	return l.send(ctx, &batch{messages: []feed.Message{m}})
}

// nextProbe is the first open unit after the last probe, or else the first one; ""
// if none is open.
func (l *look) nextProbe(ctx context.Context) (unit.ID, error) {
	var first, next unit.ID
	passed := false
	err := l.ledger.Unfinished(ctx, l.meta.Job, l.meta.Run, func(i ledger.Item) error {
		open := i.State == ledger.Open
		if open && first == "" {
			first = i.ID
		}
		if open && passed {
			next = i.ID
			return errFound
		}
		passed = passed || i.ID == l.watch.Probe
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return "", fmt.Errorf("find an open unit of job %s: %w", l.meta.Job, err)
	}
	if next != "" {
		return next, nil
	}
	return first, nil
}
