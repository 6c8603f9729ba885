package intake_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// picky is a ledger that takes no unit whose first key is key.
type picky struct {
	*actor
	key   string
	tries *int
}

func (p *picky) Enter(ctx context.Context, e ledger.Entry) ([]ledger.Held, error) {
	if e.Units[0].FirstKey == p.key {
		*p.tries++
		return nil, errors.New("odd")
	}
	return p.actor.Enter(ctx, e)
}

// line is an object of lines.
type line struct{}

func (line) Close() error { return nil }

func (line) ReadRange(_ context.Context, _, n int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(strings.Repeat("line\n", int(n))[:n])), nil
}

// inBubble handles the queue where waits take no time.
func inBubble(t *testing.T, w *world) (failed []intake.Failed) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { failed = w.handle(w.intake(nil), 100) })
	return failed
}

// read does to a unit what a reader's law asks of it: what is as it was announced
// is read, what was overwritten is marked so, and only then looked at again.
func (w *world) read(m feed.Message) {
	w.t.Helper()
	ctx := context.Background()
	u, err := unit.Decode(m.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	r := ledger.Ref{Job: u.Job, Run: u.Run, ID: m.ID}
	it, err := w.ledger.Begin(ctx, r, 1, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	if it.State != ledger.Open {
		return
	}
	var got []unit.ObjectID
	for i, o := range u.Objects {
		body, err := w.bucket.Pin(o).ReadRange(ctx, 0, 1)
		if err == nil {
			body.Close()
			got = append(got, o.ID())
			continue
		}
		if err := w.ledger.Overwritten(ctx, r, it.Serial, ledger.Fault{Member: i, Overwritten: true}, o); err != nil {
			w.t.Fatal(err)
		}
		now, err := w.bucket.Stat(ctx, o.Key)
		if err != nil {
			continue // gone
		}
		now.Again = o.Again + 1
		if err := w.ledger.Again(ctx, job, now); err != nil {
			w.t.Fatal(err)
		}
	}
	if _, err := w.ledger.Done(ctx, r, ledger.Counts{}); err != nil {
		w.t.Fatal(err)
	}
	if u.Range != nil && u.Range.Start > 0 {
		return // the first range stands for the object
	}
	for _, id := range got {
		if w.rows[id] == nil {
			w.rows[id] = map[unit.ID]bool{}
		}
		w.rows[id][m.ID] = true
	}
}

// readAll reads what is in the feed.
func (w *world) readAll() {
	w.t.Helper()
	for len(w.feed) > 0 {
		m := w.feed[0]
		w.feed = w.feed[1:]
		w.read(m)
	}
}

// schedule does what the schedule does: it takes keys that are to be looked at
// again, and sends what was never sent.
func (w *world) schedule(in *intake.Intake) {
	w.t.Helper()
	ctx := context.Background()
	m, err := w.ledger.Meta(ctx, job)
	if err != nil {
		return // there is none yet
	}
	err = w.ledger.Keys(ctx, job, func(k ledger.KeyTodo) error {
		taken, err := in.Take(ctx, m, []unit.Object{k.Object})
		if err != nil {
			return err
		}
		if taken[0].Err != nil {
			return taken[0].Err
		}
		return w.ledger.KeySent(ctx, job, k)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// rest brings everything to rest, and checks that each key's current version was
// read, once.
func (w *world) rest(keys ...string) {
	w.t.Helper()
	in := w.intake(nil)
	for range 50 {
		w.drain()
		w.readAll()
		w.schedule(in)
		if len(w.queue)+len(w.feed) == 0 {
			break
		}
	}
	for _, key := range keys {
		o, err := w.bucket.Stat(context.Background(), key)
		if err != nil {
			continue
		}
		if n := len(w.rows[o.ID()]); n != 1 {
			w.t.Errorf("the current version of %q was read in %d units, want 1", key, n)
		}
	}
}
