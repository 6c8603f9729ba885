package dynamoledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// partition is a query for a whole partition.
func partition(pk string) dynamodb.QueryInput {
	const where = "#pk = :pk"
	return dynamodb.QueryInput{
		KeyConditionExpression: text(where), ExpressionAttributeNames: names(where),
		ExpressionAttributeValues: attributes{"pk": str(pk)}.used(where),
	}
}

// Live implements [ledger.Dispatcher].
func (l *Ledger) Live(ctx context.Context) (jobs []string, err error) {
	err = l.query(ctx, op{verb: "list live jobs"}, partition(livePartition), func(a attributes) error {
		f := fields{of: a}
		jobs = append(jobs, f.text("sk"))
		return f.err
	})
	return jobs, err
}

// Body implements [ledger.Dispatcher].
func (l *Ledger) Body(ctx context.Context, r ledger.Ref) ([]byte, error) {
	do := op{"look up", r}
	e, err := l.entry(ctx, do)
	if err != nil {
		return nil, err
	}
	if e.entered() {
		if e.body == nil {
			return nil, fmt.Errorf("%s: it is done, and its body is not kept: %w", do, ledger.ErrNoUnit)
		}
		return e.body, nil
	}
	a, err := l.get(ctx, do, key(planPartition(r.Job, e.Run), e.plan))
	if err != nil {
		return nil, err
	}
	if a != nil {
		t, err := decodePart(a, &l.press)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", do, err)
		}
		for _, u := range t.page.Units {
			if u.ID == r.ID {
				return u.Body, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: page %s of run %d is not in the table any more: start the job again: %w", do, e.plan, e.Run, ledger.ErrNoUnit)
}

// Pending implements [ledger.Resumer]. Units that were listed come in the order
// of the plan. One part of a page is held at a time.
func (l *Ledger) Pending(ctx context.Context, job string, run int, yield func(ledger.Planned) error) error {
	do := onJob("list what is pending of", job)
	h, err := l.head(ctx, do)
	if err != nil {
		return err
	}
	if !h.Continuous || h.Run != run {
		if err := l.planned(ctx, do, run, yield); err != nil || h.Run == run {
			return err
		}
	}
	return l.unfinished(ctx, do, &h, run, func(e *entry) error {
		if !e.entered() || e.State != ledger.Open {
			return nil
		}
		e.Body = e.body
		return yield(e.Planned)
	})
}

// planned yields the open units of the run's plan.
func (l *Ledger) planned(ctx context.Context, do op, run int, yield func(ledger.Planned) error) error {
	return l.query(ctx, do, partition(planPartition(do.Job, run)), func(a attributes) error {
		t, err := decodePart(a, &l.press)
		if err != nil {
			return err
		}
		open, err := l.open(ctx, do, run, t)
		if err != nil {
			return err
		}
		for _, u := range t.page.Units {
			if !open[u.ID] {
				continue
			}
			delete(open, u.ID) // yield it once
			if err := yield(u); err != nil {
				return err
			}
		}
		return nil
	})
}

// open is those of the part's units that are open in the run, and in no other
// page of it.
func (l *Ledger) open(ctx context.Context, do op, run int, t part) (map[unit.ID]bool, error) {
	open := map[unit.ID]bool{}
	var keys []attributes
	for _, u := range t.page.Units {
		if !open[u.ID] {
			open[u.ID] = true
			keys = append(keys, unitKey(do.Job, u.ID))
		}
	}
	items, err := l.batch(ctx, do, keys, "#sk, #run, #state, #plan")
	if err != nil {
		return nil, err
	}
	clear(open)
	for _, a := range items {
		f := fields{of: a}
		open[unit.ID(f.text("sk"))] = f.int("run") == run && f.text("state") == string(ledger.Open) && f.text("plan") == t.name
		if f.err != nil {
			return nil, f.err
		}
	}
	return open, nil
}

func todoPartition(job string) string { return "job#" + job + "#todo" }

func todoKey(job string, id unit.ID) attributes { return key(todoPartition(job), string(id)) }

// Due implements [ledger.Dispatcher].
func (l *Ledger) Due(ctx context.Context, job string, run int, yield func(ledger.Todo) error) error {
	return l.query(ctx, onJob("list what is due of", job), partition(todoPartition(job)), func(a attributes) error {
		f := fields{of: a}
		t, of := ledger.Todo{ID: unit.ID(f.text("sk")), Number: f.int("number")}, f.int("run")
		if f.err != nil || of != run {
			return f.err
		}
		return yield(t)
	})
}

// Sent implements [ledger.Dispatcher].
func (l *Ledger) Sent(ctx context.Context, job string, t ledger.Todo) error {
	return l.remove(ctx, op{verb: fmt.Sprintf("note that unit %s of job %s was sent", t.ID, job)},
		write{key: todoKey(job, t.ID), when: "#number = :number", values: attributes{"number": num(t.Number)}})
}

func watchKey(job string) attributes { return jobKey(job, "watch") }

// Watch implements [ledger.Dispatcher].
func (l *Ledger) Watch(ctx context.Context, job string) (ledger.Watch, error) {
	do := onJob("watch", job)
	a, err := l.get(ctx, do, watchKey(job))
	if err != nil {
		return ledger.Watch{}, err
	}
	f := fields{of: a}
	w := ledger.Watch{
		Run: f.int("run"), Generation: f.int("generation"), Beat: f.long("beat"),
		Since: f.time("since"), Proved: f.flag("proved"), Probe: unit.ID(f.text("probe")),
		At: f.time("at"),
	}
	f.packed("flow", func(u *unpacker) { w.Flow, w.PerMinute = u.flow(), u.flow() })
	if f.err != nil {
		return ledger.Watch{}, fmt.Errorf("%s: %w", do, f.err)
	}
	return w, nil
}

// Watched implements [ledger.Dispatcher].
func (l *Ledger) Watched(ctx context.Context, job string, w ledger.Watch) error {
	var flow packer
	flow.flow(w.Flow)
	flow.flow(w.PerMinute)
	_, _, err := l.update(ctx, onJob("watch", job), write{
		key: watchKey(job),
		set: "SET #run = :run, #generation = :generation, #beat = :beat, #since = :since, #proved = :proved, #probe = :probe, #at = :at, #flow = :flow",
		values: attributes{
			"run": num(w.Run), "generation": num(w.Generation), "beat": num(w.Beat),
			"since": when(w.Since), "proved": flag(w.Proved), "probe": str(w.Probe),
			"at": when(w.At), "flow": bin(flow),
		},
	})
	return err
}
