package boltledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Joined implements [ledger.Worker].
func (l *Ledger) Joined(ctx context.Context, name, pipeline string) error {
	return l.change(ctx, "join", name, func(j *job) error {
		if i, ok := slices.BinarySearch(j.head.Pipelines, pipeline); !ok {
			j.head.Pipelines = slices.Insert(j.head.Pipelines, i, pipeline)
			j.save()
		}
		return nil
	})
}

// Halt implements [ledger.Worker].
func (l *Ledger) Halt(ctx context.Context, name string, h ledger.Halt) (set bool, err error) {
	err = l.change(ctx, "halt", name, func(j *job) error {
		was := j.head.Halt
		if j.head.State.Ended() || was != nil && (!was.SinkDown() || h.SinkDown()) {
			return nil
		}
		j.head.Halt, set = &h, true
		j.save()
		return nil
	})
	return set, err
}

// Resume implements [ledger.Operator].
func (l *Ledger) Resume(ctx context.Context, name string, r failure.Reason) (cleared bool, err error) {
	err = l.change(ctx, "resume", name, func(j *job) error {
		if j.head.Halt == nil || j.head.Halt.Reason != r {
			return nil
		}
		j.head.Halt, cleared = nil, true
		j.head.Ask++
		j.save()
		return nil
	})
	return cleared, err
}

// Redrive implements [ledger.Operator].
func (l *Ledger) Redrive(ctx context.Context, name string, run int) (opened int, err error) {
	err = l.change(ctx, "redrive", name, func(j *job) error {
		if j.head.Run != run || j.head.State != ledger.Running && j.head.State != ledger.Failed {
			return j.moved("redrive", fmt.Sprintf("and a redrive of run %d came", run))
		}
		dead := j.dead(run)
		for _, it := range dead {
			reopen(it)
			it.Serial++ // whoever worked on it before and wakes is refused
			j.putItem(it)
		}
		opened = len(dead)
		j.head.count.Dead -= opened
		j.head.State, j.head.Ended = ledger.Running, time.Time{}
		j.head.Generation++
		j.head.Ask++
		j.save()
		j.process.beat(name, run)
		return nil
	})
	return opened, err
}

// dead returns the run's dead units.
func (j *job) dead(run int) (dead []*ledger.Item) {
	c := j.in(itemBucket).Cursor()
	for id, v := c.First(); id != nil; id, v = c.Next() {
		if it := j.parse(unit.ID(id), v); it.Run == run && it.State == ledger.Dead {
			dead = append(dead, it)
		}
	}
	return dead
}
