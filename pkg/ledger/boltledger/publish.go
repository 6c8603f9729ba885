package boltledger

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Publish implements [ledger.Planner].
func (l *Ledger) Publish(ctx context.Context, c ledger.Lease, p ledger.Page) (stored ledger.Page, send []unit.ID, err error) {
	err = l.change(ctx, "publish", c.Job, func(j *job) error {
		if err := j.holds("publish", c); err != nil {
			return err
		}
		if p.After != j.head.Page {
			return j.moved("publish", fmt.Sprintf("the listing is at %q, and a page after %q came", j.head.Page, p.After))
		}
		e := j.page()
		if e != nil {
			j.bodies(e)
		} else {
			e = j.publish(p)
		}
		stored = e.Page
		for _, u := range e.Units {
			if _, done := j.doneUnit(u.ID); !done {
				send = append(send, u.ID)
			}
		}
		return nil
	})
	return stored, send, err
}

// page returns the page that was published and not advanced yet; nil: there is
// none.
func (j *job) page() *entered {
	v := j.bucket.Get([]byte(pageKey))
	if v == nil {
		return nil
	}
	e := &entered{}
	j.check(decode(v, func(c *codec) { c.entered(e) }))
	return e
}

// bodies adds the bodies of the page's units. The page's own bucket has those
// of done units.
func (j *job) bodies(e *entered) {
	for i := range e.Units {
		u := &e.Units[i]
		from := j.in(bodyBucket)
		if _, done := j.doneUnit(u.ID); done {
			from = j.in(pageBucket)
		}
		u.Body = bytes.Clone(from.Get([]byte(u.ID)))
	}
}

func (j *job) dropPage() {
	j.check(j.bucket.Delete([]byte(pageKey)))
	j.check(j.bucket.DeleteBucket([]byte(pageBucket)))
	_, err := j.bucket.CreateBucket([]byte(pageBucket))
	j.check(err)
}

// publish keeps the page and enters its units.
func (j *job) publish(p ledger.Page) *entered {
	e := &entered{Page: p}
	for _, u := range p.Units {
		if j.enter(u) {
			e.planned++
		}
	}
	j.check(j.bucket.Put([]byte(pageKey), encode(func(c *codec) { c.entered(e) })))
	j.save()
	j.process.beat(j.name, j.head.Run)
	return e
}

// enter puts a unit into the job's run and reports whether it was not there.
func (j *job) enter(u ledger.Planned) bool {
	run := j.head.Run
	if d, ok := j.doneUnit(u.ID); ok {
		j.put(pageBucket, []byte(u.ID), u.Body)
		if d.run == run {
			return false
		}
		d.run = run
		j.putDone(u.ID, d)
		j.head.add(u.Objects, d.counts)
		return true
	}
	j.put(pageBucket, []byte(u.ID), []byte{}) // not nil, or get would not find it before it is committed
	it, ok := j.item(u.ID)
	if !ok {
		it = &ledger.Item{}
	}
	if it.Run == run {
		return false
	}
	if it.State == ledger.Dead {
		j.head.Generation++
	}
	it.Planned, it.Run = u, run
	reopen(it)
	j.putItem(it)
	j.put(bodyBucket, []byte(u.ID), u.Body)
	return true
}

// reopen makes the item open and unbegun. What was acked of it is kept.
func reopen(it *ledger.Item) {
	it.State, it.Cause = ledger.Open, nil
	it.Attempts, it.Last = 0, false
}
