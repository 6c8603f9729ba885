package boltledger

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// Start implements [ledger.Planner]. The token of an earlier run than the job's
// last returns that run as it ended.
func (l *Ledger) Start(ctx context.Context, name string, s ledger.Start) (m ledger.Meta, err error) {
	if err := ctx.Err(); err != nil {
		return m, fmt.Errorf("start job %s: %w", name, err)
	}
	err = l.update(func(tx *txn) error {
		j, err := tx.job("start", name)
		if err != nil {
			j = tx.create(name)
		} else if repeated, ok := j.started(s.Token); ok {
			m = repeated
			return nil
		} else if !j.head.State.Ended() {
			return fmt.Errorf("start job %s: run %d is %s: %w", name, j.head.Run, j.head.State, ledger.ErrActive)
		}
		j.begin(s, l.now())
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

// begin makes the next run the job's. The generation carries on, because it is
// part of a report's name, which must not come twice.
func (j *job) begin(s ledger.Start, now time.Time) {
	if j.head.token != "" {
		j.put(pastBucket, key(j.head.token), encode(func(c *codec) { c.head(&j.head) }))
	}
	j.head = head{token: s.Token, Meta: ledger.Meta{
		Job:        j.name,
		Run:        j.head.Run + 1,
		State:      ledger.Listing,
		Digests:    s.Digests,
		Source:     s.Source,
		Callback:   s.Callback,
		Generation: j.head.Generation,
		Started:    now.UTC().Round(0),
	}}
	j.dropPage()
	j.save()
}

// Lease implements [ledger.Planner]. It writes nothing.
func (l *Ledger) Lease(ctx context.Context, c ledger.Lease) (m ledger.Meta, err error) {
	err = l.view(ctx, "lease", c.Job, func(j *job) error {
		if err := j.lists("lease", c); err != nil {
			return err
		}
		now := l.now()
		is := j.process.take(c, now, now.Add(ledger.LeaseTime))
		if is.holder != c.Holder {
			return j.leased("lease", c, is)
		}
		m = j.head.Meta
		m.Leased = is.until
		return nil
	})
	return m, err
}

// lists returns an error unless the run of c is listing.
func (j *job) lists(verb string, c ledger.Lease) error {
	if j.head.Run != c.Run || j.head.State != ledger.Listing {
		return j.moved(verb, fmt.Sprintf("and a lister of run %d came", c.Run))
	}
	return nil
}

// holds returns an error unless c's run is listing and nobody took the lease
// since c got it. A lease that lapsed does no harm while nobody else lists.
func (j *job) holds(verb string, c ledger.Lease) error {
	if err := j.lists(verb, c); err != nil {
		return err
	}
	if is := j.process.lease(j.name, c.Run); is.until.IsZero() || is.holder != c.Holder {
		return j.leased(verb, c, is)
	}
	return nil
}

func (j *job) leased(verb string, c ledger.Lease, is lease) error {
	return fmt.Errorf("%s job %s: %q holds run %d until %v, and %q came: %w",
		verb, j.name, is.holder, c.Run, is.until, c.Holder, ledger.ErrLeased)
}

// Advance implements [ledger.Planner].
func (l *Ledger) Advance(ctx context.Context, c ledger.Lease, p ledger.Page) error {
	return l.change(ctx, "advance", c.Job, func(j *job) error {
		e := j.page()
		if e == nil && j.head.Run == c.Run && j.head.Page == p.Last {
			return nil
		}
		if err := j.holds("advance", c); err != nil {
			return err
		}
		if e == nil || e.After != p.After || e.Last != p.Last {
			return j.moved("advance", fmt.Sprintf("the listing is at %q, and the page from %q to %q came", j.head.Page, p.After, p.Last))
		}
		j.head.Page = e.Last
		j.head.Planned += e.planned
		j.head.Inventory.Add(e.Inventory)
		j.dropPage()
		j.save()
		now := l.now()
		j.process.take(c, now, now.Add(ledger.LeaseTime))
		return nil
	})
}

// Finish implements [ledger.Planner].
func (l *Ledger) Finish(ctx context.Context, c ledger.Lease) error {
	return l.change(ctx, "finish listing of", c.Job, func(j *job) error {
		if j.head.Run == c.Run && j.head.Listed {
			return nil
		}
		if err := j.holds("finish listing of", c); err != nil {
			return err
		}
		if e := j.page(); e != nil {
			return j.moved("finish listing of", fmt.Sprintf("and has not reached the page after %q", e.After))
		}
		j.head.Listed, j.head.State = true, ledger.Running
		j.save()
		return nil
	})
}
