package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// entering writes the units of one page.
type entering struct {
	*Ledger
	do    op
	lease ledger.Lease
	page  string // prefix of the names of its parts

	mu    sync.Mutex
	again perShard      // guarded by mu
	taken map[int]tally // done units of earlier runs, by shard; guarded by mu
	dead  []place       // of earlier runs; guarded by mu
}

// place is a unit of the page and where its body is, or a unit that was entered
// and when.
type place struct {
	unit    ledger.Planned
	plan    string
	entered time.Time
}

// enter writes the units of the parts and returns which of them are due.
func (e *entering) enter(ctx context.Context, parts []part) ([]unit.ID, error) {
	var places []place
	seen := map[unit.ID]bool{}
	for _, t := range parts {
		for _, u := range t.page.Units {
			if seen[u.ID] {
				e.again[u.ID.Shard()]++
				continue
			}
			seen[u.ID] = true
			places = append(places, place{unit: u, plan: t.name})
		}
	}
	done := make([]bool, len(places))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.concurrency)
	for i, p := range places {
		g.Go(func() (err error) {
			done[i], err = e.one(gctx, p)
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		err = e.revive(ctx)
	}
	if err == nil {
		err = e.count(ctx)
	}
	if err != nil {
		return nil, err
	}
	var due []unit.ID
	for i, p := range places {
		if !done[i] {
			due = append(due, p.unit.ID)
		}
	}
	return due, nil
}

// one writes a unit and reports whether it is done. A dead one is left for
// revive.
func (e *entering) one(ctx context.Context, p place) (done bool, err error) {
	w := write{
		key:  unitKey(e.lease.Job, p.unit.ID),
		set:  "SET #run = :run, #plan = :plan, #first = :first, #objects = :objects, #state = :open, #serial = :zero, #attempts = :zero, #faults = :none",
		when: "attribute_not_exists(#pk)",
		values: attributes{
			"run": num(e.lease.Run), "plan": str(p.plan), "first": bin([]byte(p.unit.FirstKey)), "objects": num(p.unit.Objects),
			"open": str(ledger.Open), "done": str(ledger.Done), "zero": num(0), "none": doc(attributes{}),
		},
	}
	by := nonce()
	for {
		a, ok, err := e.update(ctx, e.do, w)
		if err != nil || ok && !w.now {
			return false, err
		}
		now, err := decodeEntry(a, &e.press)
		switch {
		case err != nil:
			return false, fmt.Errorf("%s: %w", e.do, err)
		case w.now && a.wrote(by):
			e.took(now)
			return true, nil
		case now.Run > e.lease.Run:
			return false, fmt.Errorf("%s: unit %s is of run %d: %w", e.do, p.unit.ID, now.Run, ledger.ErrState)
		case now.Run == e.lease.Run:
			if !strings.HasPrefix(now.plan, e.page) {
				e.repeats(p.unit.ID)
			}
			return now.State == ledger.Done, nil
		case now.State == ledger.Dead:
			e.left(p)
			return false, nil
		case now.State == ledger.Done:
			w.set, w.when, w.now = "SET #run = :run, #plan = :plan, #by = :by REMOVE "+asEntered, "#state = :done AND #run = :was", true
		case now.State == ledger.Open:
			w.set, w.when, w.now = "SET #run = :run, #plan = :plan, #attempts = :zero REMOVE #last, #counted, "+asEntered, "#state = :open AND #run = :was", false
		}
		w.values["was"], w.values["by"] = num(now.Run), bin(by)
	}
}

// took notes a done unit that this run takes over.
func (e *entering) took(it entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.taken[it.ID.Shard()]
	t.add(doneTally(it))
	e.taken[it.ID.Shard()] = t
}

// repeats notes a unit that an earlier page of the run had.
func (e *entering) repeats(id unit.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.again[id.Shard()]++
}

// left notes a unit that is dead in an earlier run.
func (e *entering) left(p place) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead = append(e.dead, p)
}

// revive opens the units that earlier runs gave up.
func (e *entering) revive(ctx context.Context) error {
	r := revival{
		Ledger: e.Ledger, do: e.do, when: leasing, values: e.leasing(e.lease),
		refuse: func(h *head) error { return h.leased(e.do, e.lease) },
	}
	left, err := r.revive(ctx, e.dead, func(p place) write {
		return write{
			key:    unitKey(e.lease.Job, p.unit.ID),
			set:    "SET #run = :run, #plan = :plan, #state = :open, #attempts = :zero REMOVE #last, #counted, #cause, " + asEntered,
			when:   "#state = :dead AND #run < :run",
			values: attributes{"run": num(e.lease.Run), "plan": str(p.plan), "open": str(ledger.Open), "dead": str(ledger.Dead), "zero": num(0)},
		}
	})
	e.dead = nil
	return errors.Join(err, e.late(left))
}

// late is the error for units that are dead no longer, because a late reader
// made them done: whoever repeats the call enters the page again.
func (e *entering) late(left []place) error {
	if len(left) == 0 {
		return nil
	}
	return failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s: unit %s and %d more were dead and are not any more: try again", e.do, left[0].unit.ID, len(left)-1)
}

// count adds the done units that were taken over to the counters. A repeated
// call takes over none.
func (e *entering) count(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.concurrency)
	for shard, t := range e.taken {
		g.Go(func() error {
			_, err := e.Ledger.count(gctx, e.do, e.lease.Run, shard, t)
			return err
		})
	}
	return g.Wait()
}
