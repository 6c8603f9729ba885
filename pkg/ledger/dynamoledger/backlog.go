package dynamoledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Backlog implements [ledger.Minder]. It reads only the index, and no item.
func (l *Ledger) Backlog(ctx context.Context, job string, run int) (ledger.Backlog, error) {
	if _, err := l.head(ctx, onJob("count what is unfinished of", job)); err != nil {
		return ledger.Backlog{}, err
	}
	var mu sync.Mutex
	var sum ledger.Backlog
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(l.concurrency)
	for shard := range unit.Shards {
		g.Go(func() error {
			b, err := l.backlog(gctx, job, run, shard)
			mu.Lock()
			defer mu.Unlock()
			sum.Open, sum.Dead = sum.Open+b.Open, sum.Dead+b.Dead
			if sum.Oldest.IsZero() || !b.Oldest.IsZero() && b.Oldest.Before(sum.Oldest) {
				sum.Oldest = b.Oldest
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return ledger.Backlog{}, err
	}
	return sum, nil
}

// backlog is the backlog of one shard.
func (l *Ledger) backlog(ctx context.Context, job string, run, shard int) (b ledger.Backlog, err error) {
	do := onJob(fmt.Sprintf("count what is unfinished in shard %d of", shard), job)
	open, dead := indexPrefix(run, ledger.Open), indexPrefix(run, ledger.Dead)
	err = l.query(ctx, do, indexed(job, shard, ofIndex(run), ""), func(a attributes) error {
		f := fields{of: a}
		at := f.text("unfinished")
		switch {
		case strings.HasPrefix(at, dead):
			b.Dead++
		case strings.HasPrefix(at, open):
			if b.Open++; b.Open == 1 {
				b.Oldest = f.since(at[len(open):])
			}
		}
		return f.err
	})
	return b, err
}

// since parses the time in a place of the index.
func (f *fields) since(digits string) time.Time {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		f.err = failure.Errorf(failure.Job, failure.Config, "a place in index %s ends in %q, which this program did not write", Index, digits)
	}
	return time.Unix(0, n).UTC()
}

// Stale implements [ledger.Minder].
func (l *Ledger) Stale(ctx context.Context, job string, run int, then time.Time, yield func(ledger.Item) error) error {
	do := onJob("list what nothing works on of", job)
	if _, err := l.head(ctx, do); err != nil {
		return err
	}
	for shard := range unit.Shards {
		q := indexed(job, shard, indexPrefix(run, ledger.Open), openPlace(run, then))
		err := l.indexedItems(ctx, do, q, "", func(a attributes) error {
			e, err := decodeEntry(a, &l.press)
			if err != nil || e.State != ledger.Open || e.Run != run || !e.Entered.Before(then) || !e.Touched.Before(then) {
				return err
			}
			return yield(e.Item)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Repeat implements [ledger.Minder].
func (l *Ledger) Repeat(ctx context.Context, r ledger.Ref, repeats int) error {
	do := op{"repeat", r}
	by := nonce()
	a, ok, err := l.update(ctx, do, write{
		key:  unitKey(r.Job, r.ID),
		set:  "SET #repeats = :next, #touched = :now, #by = :by",
		when: "#state = :open AND #run = :run AND #repeats = :repeats",
		values: attributes{
			"open": str(ledger.Open), "run": num(r.Run), "repeats": num(repeats), "next": num(repeats + 1), "now": when(l.clock()), "by": bin(by),
		},
	})
	if err != nil || ok || a.wrote(by) {
		return err
	}
	e, err := l.found(ctx, do, a)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: it is %s in run %d after %d re-sends, and one of run %d after %d came: %w",
		do, e.State, e.Run, e.Repeats, r.Run, repeats, ledger.ErrFenced)
}
