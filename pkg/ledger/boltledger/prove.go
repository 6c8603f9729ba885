package boltledger

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Meta implements [ledger.Worker].
func (l *Ledger) Meta(ctx context.Context, name string) (m ledger.Meta, err error) {
	err = l.view(ctx, "look up", name, func(j *job) error {
		m = j.head.Meta
		return nil
	})
	return m, err
}

// Progress implements [ledger.Prover]. For an earlier run than the job's it
// returns nothing: those counters are gone.
func (l *Ledger) Progress(ctx context.Context, name string, run int) (p ledger.Progress, err error) {
	err = l.view(ctx, "look how far is", name, func(j *job) error {
		if run == j.head.Run {
			p = j.head.progress()
			p.Beat = j.process.beaten(name, run)
		}
		return nil
	})
	return p, err
}

// Prove implements [ledger.Prover]. It looks at every item and at none of the
// counters.
func (l *Ledger) Prove(ctx context.Context, name string, run int) (c ledger.Census, err error) {
	err = l.view(ctx, "prove", name, func(j *job) error {
		c = j.prove(run)
		return nil
	})
	return c, err
}

func (j *job) prove(run int) (c ledger.Census) {
	items := j.in(itemBucket).Cursor()
	for id, v := items.First(); id != nil; id, v = items.Next() {
		switch it := j.parse(unit.ID(id), v); {
		case it.Run < run && it.Serial > 0:
			c.Unlisted++
		case it.Run != run:
		case it.State == ledger.Dead:
			c.Dead++
		default:
			c.Open++
		}
	}
	units := j.in(doneBucket).Cursor()
	for id, v := units.First(); id != nil; id, v = units.Next() {
		j.check(addDone(v, run, &c))
	}
	return c
}

// Conclude implements [ledger.Prover]. It refuses completed if the items do not
// bear it out, whoever asks for it (INV-1).
func (l *Ledger) Conclude(ctx context.Context, name string, run, generation int, s ledger.State) error {
	return l.change(ctx, "conclude", name, func(j *job) error {
		if j.head.Run != run || j.head.Generation != generation || !s.Ended() {
			return j.moved("conclude", fmt.Sprintf("at generation %d, and %s for run %d at generation %d came", j.head.Generation, s, run, generation))
		}
		if j.head.State == s {
			return nil
		}
		if j.head.State.Ended() {
			return j.moved("conclude", fmt.Sprintf("and %s came", s))
		}
		if s == ledger.Completed {
			if c := j.prove(run); !c.Complete(j.head.Meta) {
				return j.moved("conclude", fmt.Sprintf("and completed came with %d of %d units done, %d dead, %d open", c.Done, j.head.Planned, c.Dead, c.Open))
			}
		}
		j.head.State, j.head.Ended = s, l.now().UTC().Round(0)
		j.save()
		return nil
	})
}

// Limits of one look at the units that are not done. No transaction is open while
// yield works: the file could not grow under it, and yield may wait for a caller
// that has to write first.
const (
	scanItems = 256
	scanBytes = 1 << 20
)

// Unfinished implements [ledger.Prover].
func (l *Ledger) Unfinished(ctx context.Context, name string, run int, yield func(ledger.Item) error) error {
	return l.scan(ctx, name, run, func(j *job, it *ledger.Item) bool { return true }, func(it ledger.Item) error {
		it.Body = nil
		return yield(it)
	})
}

// Pending implements [ledger.Resumer].
func (l *Ledger) Pending(ctx context.Context, name string, run int, yield func(ledger.Planned) error) error {
	open := func(j *job, it *ledger.Item) bool {
		if it.State != ledger.Open {
			return false
		}
		it.Body = bytes.Clone(j.in(bodyBucket).Get([]byte(it.ID)))
		return true
	}
	return l.scan(ctx, name, run, open, func(it ledger.Item) error { return yield(it.Planned) })
}

// scan yields those of the run's undone items that take selects.
func (l *Ledger) scan(ctx context.Context, name string, run int, take func(*job, *ledger.Item) bool, yield func(ledger.Item) error) error {
	for after, more := []byte(nil), true; more; {
		var items []ledger.Item
		err := l.view(ctx, "list what is unfinished of", name, func(j *job) error {
			items, after, more = j.after(after, run, take)
			return nil
		})
		if err != nil {
			return err
		}
		for _, it := range items {
			if err := yield(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// after returns some of the items that follow an id, the last id that it looked
// at, and whether there are more.
func (j *job) after(after []byte, run int, take func(*job, *ledger.Item) bool) (items []ledger.Item, last []byte, more bool) {
	c := j.in(itemBucket).Cursor()
	id, v := c.Seek(after)
	if bytes.Equal(id, after) {
		id, v = c.Next()
	}
	size := 0
	for ; id != nil; id, v = c.Next() {
		if len(items) == scanItems || size > scanBytes {
			return items, after, true
		}
		after = bytes.Clone(id)
		if it := j.parse(unit.ID(id), v); it.Run == run && take(j, it) {
			items = append(items, *it)
			size += len(v) + len(it.Body)
		}
	}
	return items, after, false
}
