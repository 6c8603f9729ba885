package boltledger

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Start implements [ledger.Planner]. A token that started an earlier run than the
// job's last gives that run as it ended. An empty token repeats nothing.
func (l *Ledger) Start(ctx context.Context, name, token string, d ledger.Digests) (m ledger.Meta, err error) {
	if err := ctx.Err(); err != nil {
		return m, fmt.Errorf("start job %s: %w", name, err)
	}
	err = l.update(func(tx *txn) error {
		j, err := tx.job("start", name)
		if err != nil {
			j = tx.create(name)
		} else if repeated, ok := j.started(token); ok {
			m = repeated
			return nil
		} else if !j.head.State.Ended() {
			return fmt.Errorf("start job %s: run %d is %s: %w", name, j.head.Run, j.head.State, ledger.ErrActive)
		}
		j.begin(token, d)
		m = j.head.Meta
		return nil
	})
	return m, err
}

// started returns the run that the token started.
func (j *job) started(token string) (ledger.Meta, bool) {
	if token == "" {
		return ledger.Meta{}, false
	}
	if token == j.head.token {
		return j.head.Meta, true
	}
	v := j.in(pastBucket).Get(key(token))
	if v == nil {
		return ledger.Meta{}, false
	}
	past := head{Meta: ledger.Meta{Job: j.name}}
	j.check(decode(v, func(c *codec) { c.head(&past) }))
	return past.Meta, true
}

// begin makes the next run the job's. The generation goes on: a report's name
// holds it, and must not come again.
func (j *job) begin(token string, d ledger.Digests) {
	if j.head.token != "" {
		j.put(pastBucket, key(j.head.token), encode(func(c *codec) { c.head(&j.head) }))
	}
	j.head = head{token: token, Meta: ledger.Meta{
		Job:        j.name,
		Run:        j.head.Run + 1,
		State:      ledger.Listing,
		Digests:    d,
		Generation: j.head.Generation,
		Started:    time.Now().UTC().Round(0),
	}}
	j.check(j.bucket.DeleteBucket([]byte(pageBucket)))
	_, err := j.bucket.CreateBucket([]byte(pageBucket))
	j.check(err)
	j.save()
}

// Publish implements [ledger.Planner].
func (l *Ledger) Publish(ctx context.Context, name string, run int, page ledger.Page) (send []unit.ID, err error) {
	err = l.change(ctx, "publish", name, func(j *job) error {
		if j.head.Run != run || j.head.State.Ended() {
			return j.moved("publish", fmt.Sprintf("and a page of run %d came", run))
		}
		repeated := j.in(pageBucket).Get(key(page.After)) != nil
		if j.head.Listed && !(repeated && j.knows(page.Units)) {
			return j.moved("publish", fmt.Sprintf("its plan is frozen, and a new page after %q came", page.After))
		}
		for _, u := range page.Units {
			if j.enter(u) {
				send = append(send, u.ID)
			}
		}
		if !repeated {
			j.put(pageBucket, key(page.After), []byte{})
			j.head.Inventory.Add(page.Inventory)
			j.head.Page = max(j.head.Page, page.Last)
		}
		j.save()
		return nil
	})
	return send, err
}

// enter puts a unit into the job's run, once, and reports whether it is to be
// sent.
func (j *job) enter(u ledger.Planned) bool {
	run := j.head.Run
	if d, ok := j.doneUnit(u.ID); ok {
		if d.run != run {
			d.run = run
			j.putDone(u.ID, d)
			j.head.Planned++
			j.head.done++
		}
		return false
	}
	it, ok := j.item(u.ID)
	if !ok {
		it = &ledger.Item{}
	}
	if it.Run == run {
		return true
	}
	if it.State == ledger.Dead {
		j.head.Generation++
	}
	it.Planned, it.Run, it.State = u, run, ledger.Open
	it.Attempts, it.Last, it.Cause = 0, false, nil
	j.putItem(it)
	j.put(bodyBucket, []byte(u.ID), u.Body)
	j.head.Planned++
	return true
}

// knows reports whether the run's plan holds every one of the units.
func (j *job) knows(units []ledger.Planned) bool {
	for _, u := range units {
		it, ok := j.unit(u.ID)
		if !ok || it.Run != j.head.Run {
			return false
		}
	}
	return true
}

// Finish implements [ledger.Planner].
func (l *Ledger) Finish(ctx context.Context, name string, run int) error {
	return l.change(ctx, "finish listing of", name, func(j *job) error {
		if j.head.Run == run && j.head.Listed {
			return nil
		}
		if j.head.Run != run || j.head.State != ledger.Listing {
			return j.moved("finish listing of", fmt.Sprintf("and the end of run %d came", run))
		}
		j.head.Listed, j.head.State = true, ledger.Running
		j.save()
		return nil
	})
}
