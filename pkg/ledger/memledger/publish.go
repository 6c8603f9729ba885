package memledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// entered is a page whose units are in the ledger, and which the listing has
// not reached yet.
type entered struct {
	ledger.Page
	planned int // units that no earlier page had
}

// Publish implements [ledger.Planner].
func (l *Ledger) Publish(ctx context.Context, c ledger.Lease, p ledger.Page) (ledger.Page, []unit.ID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.hold(ctx, "publish", c)
	if err != nil {
		return ledger.Page{}, nil, err
	}
	if p.After != j.meta.Page {
		return ledger.Page{}, nil, j.moved("publish", fmt.Sprintf("the listing is at %q, and a page after %q came", j.meta.Page, p.After))
	}
	if j.page == nil {
		j.page = &entered{Page: clonePage(p)}
		for _, u := range j.page.Units {
			j.enter(u, l.resends)
		}
	}
	var send []unit.ID
	for _, u := range j.page.Units {
		if _, done := j.done.run(keyOf(u.ID)); !done {
			send = append(send, u.ID)
		}
	}
	return clonePage(j.page.Page), send, nil
}

// enter puts a unit into the job's run, once.
func (j *job) enter(u ledger.Planned, keep bool) {
	k, run := keyOf(u.ID), j.meta.Run
	if keep {
		j.bodies[u.ID] = u.Body
	}
	u.Body = nil
	if of, ok := j.done.run(k); ok {
		if of != run {
			j.done.take(k, run)
			delete(j.kept, k)
			_, counts, _ := j.done.get(k)
			j.page.planned++
			j.add(u.Objects, counts)
		}
		return
	}
	it, ok := j.items[k]
	if !ok {
		it = &item{}
		j.items[k] = it
	}
	if it.Run == run {
		return
	}
	if it.State == ledger.Dead {
		j.meta.Generation++
	}
	it.Planned = u
	it.Entered, it.Touched = time.Time{}, time.Time{} // from now on it is a listed unit
	it.open(run)
	j.page.planned++
	j.count.Beat++
}

// add counts a unit of the run as done.
func (j *job) add(objects int, c ledger.Counts) {
	j.count.Done++
	j.count.Objects += int64(objects)
	j.count.BytesRead += c.BytesRead
	j.count.Records += c.In
	j.count.Beat++
}

func clonePage(p ledger.Page) ledger.Page {
	p.Units = slices.Clone(p.Units)
	for i := range p.Units {
		p.Units[i].Body = bytes.Clone(p.Units[i].Body)
	}
	return p
}
