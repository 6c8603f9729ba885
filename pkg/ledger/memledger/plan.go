package memledger

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Start implements [ledger.Planner]. A token that started an earlier run than
// the job's last gives that run as it ended. An empty token repeats nothing.
func (l *Ledger) Start(ctx context.Context, name, token string, d ledger.Digests) (ledger.Meta, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ledger.Meta{}, fmt.Errorf("start job %s: %w", name, err)
	}
	j, ok := l.jobs[name]
	if !ok {
		j = &job{items: map[key]*item{}, past: map[string]ledger.Meta{}}
		j.meta.Job = name
		l.jobs[name] = j
	} else if token != "" && token == j.token {
		return j.view(), nil
	} else if past, ok := j.past[token]; ok {
		return past, nil
	} else if !j.meta.State.Ended() {
		return ledger.Meta{}, fmt.Errorf("start job %s: run %d is %s: %w", name, j.meta.Run, j.meta.State, ledger.ErrActive)
	}
	j.begin(token, d)
	return j.view(), nil
}

// begin makes the next run the job's. The generation goes on: a report's name
// holds it, and must not come again.
func (j *job) begin(token string, d ledger.Digests) {
	if j.token != "" {
		j.past[j.token] = j.view()
	}
	j.token = token
	j.meta = ledger.Meta{
		Job:        j.meta.Job,
		Run:        j.meta.Run + 1,
		State:      ledger.Listing,
		Digests:    d,
		Generation: j.meta.Generation,
		Started:    time.Now(),
	}
	j.tally = ledger.Tally{}
	j.pages = map[key]struct{}{}
}

// Publish implements [ledger.Planner].
func (l *Ledger) Publish(ctx context.Context, name string, run int, page ledger.Page) ([]unit.ID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "publish", name)
	if err != nil {
		return nil, err
	}
	if j.meta.Run != run || j.meta.State.Ended() {
		return nil, j.moved("publish", fmt.Sprintf("and a page of run %d came", run))
	}
	_, repeated := j.pages[keyOf(page.After)]
	if j.tally.Listed && !(repeated && j.knows(page.Units)) {
		return nil, j.moved("publish", fmt.Sprintf("its plan is frozen, and a new page after %q came", page.After))
	}
	var send []unit.ID
	for _, u := range page.Units {
		if j.enter(u) {
			send = append(send, u.ID)
		}
	}
	if !repeated {
		j.pages[keyOf(page.After)] = struct{}{}
		j.meta.Inventory.Add(page.Inventory)
		j.meta.Page = max(j.meta.Page, page.Last)
	}
	return send, nil
}

// enter puts a unit into the job's run, once, and reports whether it is to be
// sent.
func (j *job) enter(u ledger.Planned) bool {
	k, run := keyOf(u.ID), j.meta.Run
	u.Body = nil // what would send it again ends with this process
	if of, ok := j.done.run(k); ok {
		if of != run {
			j.done.take(k, run)
			j.tally.Planned++
			j.tally.Done++
		}
		return false
	}
	it, ok := j.items[k]
	if !ok {
		it = &item{Item: ledger.Item{Planned: u}}
		j.items[k] = it
	}
	if it.Run == run {
		return true
	}
	if it.State == ledger.Dead {
		j.meta.Generation++
	}
	it.Planned = u
	it.open(run)
	j.tally.Planned++
	return true
}

// knows reports whether the run's plan holds every one of the units.
func (j *job) knows(units []ledger.Planned) bool {
	for _, u := range units {
		it, ok := j.look(u.ID)
		if !ok || it.Run != j.meta.Run {
			return false
		}
	}
	return true
}

// Finish implements [ledger.Planner].
func (l *Ledger) Finish(ctx context.Context, name string, run int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j, err := l.find(ctx, "finish listing of", name)
	if err != nil {
		return err
	}
	if j.meta.Run == run && j.tally.Listed {
		return nil
	}
	if j.meta.Run != run || j.meta.State != ledger.Listing {
		return j.moved("finish listing of", fmt.Sprintf("and the end of run %d came", run))
	}
	j.tally.Listed = true
	j.meta.State = ledger.Running
	return nil
}
