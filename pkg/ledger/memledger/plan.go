package memledger

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// Start implements [ledger.Planner]. The token of an earlier run than the job's
// last returns that run as it ended.
func (l *Ledger) Start(ctx context.Context, name string, s ledger.Start) (ledger.Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ledger.Meta{}, fmt.Errorf("start job %s: %w", name, err)
	}
	j, ok := l.jobs[name]
	if !ok {
		j = l.create(name)
	} else if m, ok := j.started(s.Token); ok {
		return m, nil
	} else if !j.meta.State.Ended() {
		return ledger.Meta{}, fmt.Errorf("start job %s: run %d is %s: %w", name, j.meta.Run, j.meta.State, ledger.ErrActive)
	}
	j.begin(s, l.now())
	return j.view(), nil
}

// started returns the run that the token started.
func (j *job) started(token string) (ledger.Meta, bool) {
	if token != "" && token == j.token {
		return j.view(), true
	}
	past, ok := j.past[token]
	return past, ok
}

// begin makes the next run the job's. The generation carries on, because it is
// part of a report's name, which must not come twice.
func (j *job) begin(s ledger.Start, now time.Time) {
	if j.token != "" {
		j.past[j.token] = j.view()
	}
	j.token, j.page, j.retired = s.Token, nil, false
	j.meta = ledger.Meta{
		Job:        j.meta.Job,
		Run:        j.meta.Run + 1,
		State:      ledger.Listing,
		Digests:    s.Digests,
		Source:     s.Source,
		Callback:   s.Callback,
		Generation: j.meta.Generation,
		Started:    now,
	}
	j.count = ledger.Progress{}
}

// Lease implements [ledger.Planner].
func (l *Ledger) Lease(ctx context.Context, c ledger.Lease) (ledger.Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "lease", c.Job)
	if err != nil {
		return ledger.Meta{}, err
	}
	if err := j.lists("lease", c); err != nil {
		return ledger.Meta{}, err
	}
	if !j.holds(c) && l.now().Before(j.meta.Leased) {
		return ledger.Meta{}, j.leased("lease", c)
	}
	j.holder, j.meta.Leased = c.Holder, l.now().Add(ledger.LeaseTime)
	return j.view(), nil
}

// lists returns an error unless the run of c is listing.
func (j *job) lists(verb string, c ledger.Lease) error {
	if j.meta.Run != c.Run || j.meta.State != ledger.Listing {
		return j.moved(verb, fmt.Sprintf("and a lister of run %d came", c.Run))
	}
	return nil
}

// holds reports whether nobody took the lease since c got it. A lease that
// lapsed does no harm while nobody else lists.
func (j *job) holds(c ledger.Lease) bool { return !j.meta.Leased.IsZero() && j.holder == c.Holder }

func (j *job) leased(verb string, c ledger.Lease) error {
	return fmt.Errorf("%s job %s: %q holds run %d until %v, and %q came: %w",
		verb, j.meta.Job, j.holder, c.Run, j.meta.Leased, c.Holder, ledger.ErrLeased)
}

// hold finds the job of c, which must hold its lease.
func (l *Ledger) hold(ctx context.Context, verb string, c ledger.Lease) (*job, error) {
	j, err := l.find(ctx, verb, c.Job)
	if err != nil {
		return nil, err
	}
	if err := j.lists(verb, c); err != nil {
		return nil, err
	}
	if !j.holds(c) {
		return nil, j.leased(verb, c)
	}
	return j, nil
}

// Advance implements [ledger.Planner].
func (l *Ledger) Advance(ctx context.Context, c ledger.Lease, p ledger.Page) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "advance", c.Job)
	if err != nil {
		return err
	}
	if j.page == nil && j.meta.Run == c.Run && j.meta.Page == p.Last {
		return nil
	}
	if j, err = l.hold(ctx, "advance", c); err != nil {
		return err
	}
	if j.page == nil || j.page.After != p.After || j.page.Last != p.Last {
		return j.moved("advance", fmt.Sprintf("the listing is at %q, and the page from %q to %q came", j.meta.Page, p.After, p.Last))
	}
	j.meta.Page = j.page.Last
	j.meta.Planned += j.page.planned
	j.meta.Inventory.Add(j.page.Inventory)
	j.meta.Leased = l.now().Add(ledger.LeaseTime)
	j.page = nil
	return nil
}

// Finish implements [ledger.Planner].
func (l *Ledger) Finish(ctx context.Context, c ledger.Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "finish listing of", c.Job)
	if err != nil {
		return err
	}
	if j.meta.Run == c.Run && j.meta.Listed {
		return nil
	}
	if j, err = l.hold(ctx, "finish listing of", c); err != nil {
		return err
	}
	if j.page != nil {
		return j.moved("finish listing of", fmt.Sprintf("and has not reached the page after %q", j.page.After))
	}
	j.meta.Listed, j.meta.State = true, ledger.Running
	return nil
}
