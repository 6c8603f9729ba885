package reader_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

// world is a job of one unit, with all that lies around readers: the feed, the
// schedule, the store and the sink. Every object has two records and is a
// segment.
type world struct {
	t      *testing.T
	ledger *memledger.Shared
	unit   *unit.Unit
	step   step
	opt    reader.Options
	start  func() // is told of each new process; nil: is not
	// bad says at which record a member fails in a reading; 2: at none. nil: all
	// are well.
	bad  func(member int) int
	sink func() error // of each block; nil: acked
	rows map[string]bool
	// writing is how long a block takes, time how long a function has; 0: for
	// ever.
	writing, time time.Duration

	messages []feed.Delivery
	letters  []error
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, ledger: memledger.NewShared(), rows: map[string]bool{}, opt: quiet()}
	w.unit = &unit.Unit{Job: "j", Bucket: "b", Origin: unit.FromList, Objects: []unit.Object{
		{Key: "a", Size: 5, ETag: `"1"`}, {Key: "b", Size: 5, ETag: `"2"`}, {Key: "c", Size: 5, ETag: `"3"`},
	}}
	list(t, w.ledger, "token", w.unit)
	w.step = func(_ string, apply func() error) error { return apply() }
	w.send(false)
	return w
}

func (w *world) ref() ledger.Ref { return ledger.Ref{Job: "j", Run: w.unit.Run, ID: w.unit.ID()} }

func (w *world) send(probe bool) {
	body, err := w.unit.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.messages = append(w.messages, feed.Delivery{
		Message: feed.Message{ID: w.unit.ID(), Job: "j", Body: body, Probe: probe}, Cap: attempts,
	})
}

// process is a reader in a process of its own.
func (w *world) process() *reader.Reader {
	if w.start != nil {
		w.start()
	}
	o := w.opt
	o.Resume = func(ctx context.Context, job string) error {
		return w.step("resume", func() error {
			_, err := w.ledger.Resume(ctx, job, failure.SinkDown)
			return err
		})
	}
	return reader.New(stage{w.ledger, func(call string, apply func() error) error { return w.step(call, apply) }}, w, o)
}

// receive delivers the first message once to a new process, and returns what
// came of it.
func (w *world) receive() error {
	m := w.messages[0]
	w.messages = w.messages[1:]
	m.Receives++
	var renewing atomic.Bool
	m.Extend = func(context.Context, time.Duration) error {
		if renewing.Swap(true) {
			return nil // beside the others, which are in order
		}
		return w.step("extend", func() error { return nil })
	}
	ctx, cancel := w.t.Context(), func() {}
	if w.time > 0 {
		ctx, cancel = context.WithTimeout(ctx, w.time)
	}
	defer cancel()
	err := w.process().Handle(ctx, m)
	switch {
	case err == nil:
	case m.Receives >= m.Cap:
		w.letters = append(w.letters, err)
	default:
		w.messages = append(w.messages, m)
	}
	return err
}

// settle is what feed and schedule do until nothing is due any more.
func (w *world) settle() {
	w.t.Helper()
	for turns := 0; ; turns++ {
		if turns > 40 {
			w.t.Fatalf("no end: %+v, %d messages", w.items(), len(w.messages))
		}
		if len(w.messages) > 0 {
			_ = w.receive()
			continue
		}
		if !w.schedule() {
			return
		}
	}
}

// schedule sends what is due, and what is open without a message; it reports
// whether there was any.
func (w *world) schedule() bool {
	w.t.Helper()
	ctx := w.t.Context()
	meta, err := w.ledger.Meta(ctx, "j")
	if err != nil {
		w.t.Fatal(err)
	}
	if meta.Halt != nil { // whoever resumes it has mended the cause
		w.sink = nil
		if _, err := w.ledger.Resume(ctx, "j", meta.Halt.Reason); err != nil {
			w.t.Fatal(err)
		}
	}
	var todos []ledger.Todo
	if err := w.ledger.Due(ctx, "j", w.unit.Run, func(d ledger.Todo) error { todos = append(todos, d); return nil }); err != nil {
		w.t.Fatal(err)
	}
	for _, d := range todos {
		w.send(false)
		if err := w.ledger.Sent(ctx, "j", d); err != nil {
			w.t.Fatal(err)
		}
	}
	if len(todos) > 0 {
		return true
	}
	for _, i := range w.items() {
		if i.State != ledger.Open {
			continue
		}
		if i.Last {
			w.dead(i)
		} else {
			w.send(false)
		}
		return true
	}
	return false
}

// dead is settling's word on a unit whose last reader is gone.
func (w *world) dead(i ledger.Item) {
	if _, err := w.ledger.Dead(w.t.Context(), w.ref(), i.Serial, ledger.Cause{Reason: failure.Crashed}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) items() (all []ledger.Item) {
	w.t.Helper()
	if err := w.ledger.Unfinished(w.t.Context(), "j", w.unit.Run, func(i ledger.Item) error { all = append(all, i); return nil }); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// exact holds a unit that is done to all of its rows, each counted once.
func (w *world) exact() {
	w.t.Helper()
	c, err := w.ledger.Prove(w.t.Context(), "j", w.unit.Run)
	if err != nil {
		w.t.Fatal(err)
	}
	if c.Done != 1 {
		w.t.Fatalf("census %+v, items %+v, dead letters %v", c, w.items(), w.letters)
	}
	if len(w.rows) != 6 || c.Counts.In != 6 || c.Counts.Out != 6 {
		w.t.Errorf("rows %v, counted %+v", slices.Sorted(maps.Keys(w.rows)), c.Counts.Counts)
	}
}

// write acks records [from, to) of a member as one block.
func (w *world) write(ctx context.Context, r pipe.Reading, res *pipe.Result, member, from, to int) error {
	if from >= to {
		return nil
	}
	if err := backoff.Wait(ctx, w.writing); err != nil {
		return err
	}
	err := w.step("write", func() error {
		if w.sink != nil {
			if err := w.sink(); err != nil {
				return err
			}
		}
		for n := from; n < to; n++ {
			w.rows[fmt.Sprint(member, ".", n)] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if r.Acked != nil {
		r.Acked()
	}
	res.Counts.Add(counted(int64(to - from)))
	return nil
}

func (w *world) fails(member int) int {
	if w.bad == nil {
		return 2
	}
	return w.bad(member)
}

// ReadUnit implements reader.Pipe.
func (w *world) ReadUnit(ctx context.Context, r pipe.Reading, known []unit.Fault, found func(context.Context, unit.Fault) error) (res pipe.Result, err error) {
	from := 0
	if r.From != nil {
		from = r.From.Member
	}
	for m := from; m < len(r.Unit.Objects); m++ {
		if m > from && !r.Until.IsZero() && !time.Now().Before(r.Until) {
			res.Cursor = &unit.Cursor{Segment: m, Member: m}
			return res, nil
		}
		to := w.fails(m)
		if i := slices.IndexFunc(known, func(f unit.Fault) bool { return f.Member == m }); i >= 0 {
			to = int(known[i].Framed)
		} else if to < 2 {
			f := unit.Fault{Member: m, Record: int64(to), Framed: int64(to), Reason: failure.Undecodable, Detail: "broken"}
			if err := found(ctx, f); err != nil {
				return res, err
			}
		}
		if err := w.write(ctx, r, &res, m, 0, to); err != nil {
			if m > from {
				res.Cursor = &unit.Cursor{Segment: m, Member: m}
			}
			return res, err
		}
	}
	return res, nil
}

// ReadMember implements reader.Pipe.
func (w *world) ReadMember(ctx context.Context, r pipe.Reading, f unit.Fault) (res pipe.Result, err error) {
	if w.fails(f.Member) < 2 {
		return res, failure.Errorf(failure.Member, failure.Undecodable, "%s: broken still", r.Unit.Objects[f.Member].Key)
	}
	return res, w.write(ctx, r, &res, f.Member, int(f.Record), 2)
}
