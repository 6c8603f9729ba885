package dynamoledger

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Prove implements [ledger.Prover]. It reads every item of the job and no counter.
func (l *Ledger) Prove(ctx context.Context, job string, run int) (ledger.Census, error) {
	if _, err := l.head(ctx, onJob("prove", job)); err != nil {
		return ledger.Census{}, err
	}
	var mu sync.Mutex
	var sum ledger.Census
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(l.concurrency)
	for shard := range unit.Shards {
		g.Go(func() error {
			c, err := l.census(gctx, job, run, shard)
			mu.Lock()
			defer mu.Unlock()
			sum.Done, sum.Dead, sum.Open = sum.Done+c.Done, sum.Dead+c.Dead, sum.Open+c.Open
			sum.Unlisted += c.Unlisted
			sum.Counts.Add(c.Counts)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return ledger.Census{}, err
	}
	return sum, nil
}

// census is the proof of one shard.
func (l *Ledger) census(ctx context.Context, job string, run, shard int) (c ledger.Census, err error) {
	do := onJob(fmt.Sprintf("prove shard %d of", shard), job)
	q := unitsOf(job, run, shard, "#run = :run OR #run < :run AND (#state = :done OR #serial > :zero)")
	const wanted = "#run, #state, #counts"
	q.ProjectionExpression = text(wanted)
	for token, name := range names(wanted) {
		q.ExpressionAttributeNames[token] = name
	}
	err = l.query(ctx, do, q, func(a attributes) error {
		f := fields{of: a}
		if f.int("run") != run {
			c.Unlisted++
			return f.err
		}
		switch ledger.UnitState(f.text("state")) {
		case ledger.Done:
			c.Done++
			f.packed("counts", func(u *unpacker) { c.Counts.Add(u.counts()) })
		case ledger.Dead:
			c.Dead++
		case ledger.Open:
			c.Open++
		}
		return f.err
	})
	return c, err
}

// unitsOf is a query for a shard's units that filter lets pass, which may ask
// for a run, states, and zero.
func unitsOf(job string, run, shard int, filter string) dynamodb.QueryInput {
	const where = "#pk = :pk AND begins_with(#sk, :units)"
	v := attributes{"zero": num(0), "pk": str(shardPartition(job, shard)), "units": str(unitPrefix), "run": num(run), "done": str(ledger.Done), "dead": str(ledger.Dead)}
	return dynamodb.QueryInput{
		KeyConditionExpression: text(where), FilterExpression: text(filter),
		ExpressionAttributeNames: names(where, filter), ExpressionAttributeValues: v.used(where, filter),
	}
}

// Unfinished implements [ledger.Prover]: shard by shard, by id.
func (l *Ledger) Unfinished(ctx context.Context, job string, run int, yield func(ledger.Item) error) error {
	do := onJob("list what is unfinished of", job)
	h, err := l.head(ctx, do)
	if err != nil {
		return err
	}
	return l.unfinished(ctx, do, &h, run, func(e *entry) error { return yield(e.Item) })
}

// unfinished yields the items of a run that are not done. In a continuous run
// the done ones may be many times as many, so the others are found by the
// index. Of which kind an earlier run was, nothing says any more: it is read
// whole.
func (l *Ledger) unfinished(ctx context.Context, do op, h *head, run int, yield func(*entry) error) error {
	each := func(a attributes) error {
		e, err := decodeEntry(a, &l.press)
		if err != nil || e.Run != run || e.State == ledger.Done {
			return err
		}
		return yield(&e)
	}
	for shard := range unit.Shards {
		var err error
		if h.Continuous && h.Run == run {
			err = l.indexedItems(ctx, do, indexed(h.Job, shard, ofIndex(run), ""), "", each)
		} else {
			err = l.query(ctx, do, unitsOf(h.Job, run, shard, "#run = :run AND #state <> :done"), each)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
