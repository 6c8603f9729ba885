package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Redrive implements [ledger.Operator]. The units are opened first, some at a
// time, and then the job. A call that broke off is to be repeated.
func (l *Ledger) Redrive(ctx context.Context, job string, run int) (int, error) {
	do := onJob("redrive", job)
	h, err := l.head(ctx, do)
	if err == nil {
		err = h.redrives(do, run)
	}
	if err != nil {
		return 0, err
	}
	opened := 0
	r := revival{
		Ledger: l, do: do, when: redriving, values: redriven(run),
		refuse: func(h *head) error { return h.redrives(do, run) },
		opened: func(ctx context.Context, shards map[int]int64) error {
			for shard, n := range shards {
				opened += int(n)
				if _, err := l.count(ctx, do, run, shard, tally{dead: -n, beat: n}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for shard := range unit.Shards {
		dead, err := l.dying(ctx, do, &h, shard)
		if err == nil {
			_, err = r.revive(ctx, dead, func(p place) write { return reopened(job, run, p) })
		}
		if err != nil {
			return opened, err
		}
	}
	return opened, l.rerun(ctx, do, run)
}

// dying returns the dead units of a shard.
func (l *Ledger) dying(ctx context.Context, do op, h *head, shard int) (dead []place, err error) {
	note := func(a attributes) error {
		f := fields{of: a}
		dead = append(dead, place{unit: ledger.Planned{ID: unit.ID(f.text("sk"))}, entered: f.time("entered")})
		return f.err
	}
	if !h.Continuous {
		err = l.query(ctx, do, unitsOf(h.Job, h.Run, shard, "#run = :run AND #state = :dead"), note)
		return dead, err
	}
	q := indexed(h.Job, shard, indexPrefix(h.Run, ledger.Dead), "")
	err = l.indexedItems(ctx, do, q, "#sk, #entered", note)
	return dead, err
}

const redriving = "#run = :run AND #state IN (:running, :failed)"

func redriven(run int) attributes {
	return attributes{"run": num(run), "running": str(ledger.Running), "failed": str(ledger.Failed), "one": num(1), "zero": num(0)}
}

// redrives returns an error unless the run is running or failed.
func (h *head) redrives(do op, run int) error {
	if h.Run != run || h.State != ledger.Running && h.State != ledger.Failed {
		return h.moved(do, fmt.Sprintf("and a redrive of run %d came", run))
	}
	return nil
}

// reopened opens a dead unit. Its serial rises, so that whoever worked on it
// before and wakes is refused.
func reopened(job string, run int, p place) write {
	w := write{
		key:  unitKey(job, p.unit.ID),
		set:  "SET #state = :open, #attempts = :zero, #serial = #serial + :one REMOVE #last, #counted, #cause",
		when: "#state = :dead AND #run = :run",
		values: attributes{
			"open": str(ledger.Open), "dead": str(ledger.Dead), "run": num(run), "zero": num(0), "one": num(1), "place": str(openPlace(run, p.entered)),
		},
	}
	if !p.entered.IsZero() {
		w.set = "SET #state = :open, #attempts = :zero, #serial = #serial + :one, #repeats = :zero, #unfinished = :place" +
			" REMOVE #last, #counted, #cause, #ended"
	}
	return w
}

// rerun makes the job running again, and live.
func (l *Ledger) rerun(ctx context.Context, do op, run int) error {
	refused, err := l.transact(ctx, do,
		l.part(write{
			key:    metaKey(do.Job),
			set:    "SET #state = :running, #generation = #generation + :one, #resends = :zero, #ask = #ask + :one REMOVE #ended",
			when:   redriving,
			values: redriven(run),
		}),
		l.put(liveKey(do.Job), write{}))
	if err != nil || refused == nil {
		return err
	}
	a, _ := refused.of(0)
	h, err := l.known(do, a)
	if err != nil {
		return err
	}
	return h.redrives(do, run)
}
