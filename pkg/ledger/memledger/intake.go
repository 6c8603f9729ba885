package memledger

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Open implements [ledger.Intaker].
func (l *Shared) Open(ctx context.Context, name string, s ledger.Start) (ledger.Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ledger.Meta{}, fmt.Errorf("open job %s: %w", name, err)
	}
	j, ok := l.jobs[name]
	switch {
	case !ok:
		j = l.create(name)
	case !j.meta.State.Ended() && j.meta.Continuous:
		return j.view(), nil
	case !j.meta.State.Ended():
		return ledger.Meta{}, fmt.Errorf("open job %s: run %d is %s, and lists: %w", name, j.meta.Run, j.meta.State, ledger.ErrActive)
	case s.Token == "":
		return ledger.Meta{}, j.moved("open", "and no token came to begin the next one")
	default:
		if m, ok := j.started(s.Token); ok {
			return m, nil
		}
	}
	j.begin(s, l.now())
	j.meta.State, j.meta.Continuous, j.meta.Cutoff = ledger.Running, true, s.Cutoff
	return j.view(), nil
}

// Enter implements [ledger.Intaker]. An Entry of any length is entered
// atomically.
func (l *Shared) Enter(ctx context.Context, e ledger.Entry) ([]ledger.Held, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "enter units of", e.Job)
	if err != nil {
		return nil, err
	}
	if len(e.Claims) > ledger.MaxClaims {
		return nil, fmt.Errorf("enter units of job %s: %d claims of at most %d", e.Job, len(e.Claims), ledger.MaxClaims)
	}
	if j.meta.Run != e.Run || j.meta.State != ledger.Running || !j.meta.Continuous {
		return nil, j.moved("enter units of", fmt.Sprintf("and units of a continuous run %d came", e.Run))
	}
	if held := j.held(e.Claims); len(held) > 0 {
		return held, nil
	}
	now := l.now()
	for _, c := range e.Claims {
		if is, ok := j.claims[c.ID]; !ok || is.Unit != c.Unit {
			j.claims[c.ID] = ledger.Held{Claim: c, Since: now}
		}
	}
	for _, u := range e.Units {
		if _, ok := j.look(u.ID); ok {
			continue
		}
		j.bodies[u.ID] = bytes.Clone(u.Body)
		u.Body = nil
		it := &item{Item: ledger.Item{Planned: u, Entered: now}}
		it.open(e.Run)
		j.items[keyOf(u.ID)] = it
		j.count.Beat++
	}
	return nil, nil
}

// held returns which of the claims others hold.
func (j *job) held(claims []ledger.Claim) (held []ledger.Held) {
	for i, c := range claims {
		is, ok := j.claims[c.ID]
		if !ok || is.Unit == c.Unit || is.Overwritten && is.Take == c.Take-1 {
			continue
		}
		is.Index = i
		held = append(held, is)
	}
	return held
}

// Claimed implements [ledger.Intaker].
func (l *Shared) Claimed(ctx context.Context, name string, id unit.ObjectID) (ledger.Held, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "look up a claim of", name)
	if err != nil {
		return ledger.Held{}, err
	}
	is, ok := j.claims[id]
	if !ok {
		return ledger.Held{}, fmt.Errorf("look up object %s of job %s: %w", id, name, ledger.ErrNoClaim)
	}
	return is, nil
}

// Look implements [ledger.Intaker].
func (l *Shared) Look(ctx context.Context, r ledger.Ref) (ledger.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "look up a unit of", r.Job)
	if err != nil {
		return ledger.Item{}, err
	}
	it, ok := j.look(r.ID)
	if !ok {
		return ledger.Item{}, unknown("look up", r)
	}
	if it.State == ledger.Open {
		it.Body = bytes.Clone(j.bodies[r.ID])
	}
	return it, nil
}
