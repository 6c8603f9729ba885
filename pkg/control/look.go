package control

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
)

// Snapshot is where a job stands.
type Snapshot struct {
	Meta     ledger.Meta
	Progress ledger.Progress
	// Of a continuous job:
	Backlog   ledger.Backlog
	PerMinute ledger.Flow
	Dead      map[failure.Reason]int // units that were given up
}

// Objects returns how many objects are done, as far as the counters know.
func (s Snapshot) Objects() int64 {
	if s.Meta.State == ledger.Completed {
		return s.Meta.Inventory.Objects
	}
	return min(s.Progress.Objects, s.Meta.Inventory.Objects)
}

// Bytes returns how many of the listed bytes are done. What was read twice
// counts once, as far as that can be told.
func (s Snapshot) Bytes() int64 {
	if s.Meta.State == ledger.Completed {
		return s.Meta.Inventory.Bytes
	}
	return min(s.Progress.BytesRead, s.Meta.Inventory.Bytes)
}

// Stopped reports whether the job will not continue by itself: it has ended, or
// is halted by a fault that somebody has to mend. A sink that is down is
// probed, so that halt ends by itself.
func (s Snapshot) Stopped() bool {
	return s.Meta.State.Ended() || s.Meta.Halt != nil && !s.Meta.Halt.SinkDown()
}

// Status returns where the job stands now.
func (c *Control) Status(ctx context.Context, job string) (Snapshot, error) {
	m, err := c.meta(ctx, job)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Meta: m}
	s.Progress, err = ledger.Ask(ctx, func() (ledger.Progress, error) { return c.ledger.Progress(ctx, job, m.Run) })
	if err != nil {
		return s, fmt.Errorf("read the counters of job %s: %w", job, err)
	}
	if m.Continuous {
		return s, c.flow(ctx, &s)
	}
	return s, nil
}

// Depth counts the messages in the stack's feed, approximately; nil if there is
// no way to know.
func (c *Control) Depth(ctx context.Context) (*feed.Depth, error) {
	if c.opt.Feed == nil {
		return nil, nil
	}
	d, err := c.opt.Feed.Depth(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the feed's messages: %w", err)
	}
	return &d, nil
}

// looks is how many jobs are read at once.
const looks = 8

// List returns where the live jobs stand, sorted by name.
func (c *Control) List(ctx context.Context) ([]Snapshot, error) {
	names, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Snapshot, len(names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(looks)
	for i, name := range names {
		g.Go(func() (err error) {
			all[i], err = c.Status(gctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return all, nil
}

// Waits between two looks at a job that is watched.
const (
	firstLook = time.Second
	lastLook  = 5 * time.Second
)

// patience is how long a job that is watched may be unreadable.
const patience = 2 * time.Minute

// Watch calls look with where the job stands, from now on until it has stopped,
// and returns the last snapshot. It follows the given run, or the job's current
// one if run is 0; ErrSuperseded if the job has gone on to another.
func (c *Control) Watch(ctx context.Context, job string, run int, look func(Snapshot)) (Snapshot, error) {
	for wait := firstLook; ; wait = min(wait+wait/4, lastLook) {
		s, err := c.patiently(ctx, job)
		if err != nil {
			return s, err
		}
		if run == 0 {
			run = s.Meta.Run
		}
		if s.Meta.Run != run {
			return s, fmt.Errorf("watch run %d of job %s: %w: run %d", run, job, ErrSuperseded, s.Meta.Run)
		}
		look(s)
		if s.Stopped() {
			return s, nil
		}
		if s.Progress.Settled() {
			wait = firstLook // the verdict is about to be given
		}
		if err := backoff.Wait(ctx, wait); err != nil {
			return s, err
		}
	}
}

// patiently is Status that waits out a passing fault: whoever has watched for
// hours does not want to begin again because of one.
func (c *Control) patiently(ctx context.Context, job string) (s Snapshot, err error) {
	p := backoff.Policy{Base: firstLook, Max: lastLook, Budget: patience}
	err = backoff.Retry(ctx, p, func(err error) bool { return !ledger.Final(err) }, func() (err error) {
		s, err = c.Status(ctx, job)
		return err
	})
	return s, err
}
