package spatetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/unit"
)

// Job is what [Start] runs. The zero value copies NDJSON records into nothing but
// a [Capture] of its own.
type Job struct {
	Chain    chain.Constructor   // nil: records pass as they are
	Framer   func() frame.Framer // nil: NDJSON
	Sink     sink.Sink           // nil: a Capture that is not looked at
	Bucket   *memobject.Bucket   // that objects are pushed into; nil: a new one
	Feed     Script              // nil: every delivery once
	Faults   *Faults             // that what reads the units meets; nil: none
	Attempts int                 // of a unit before it is given up; 0: 3
	Log      *slog.Logger        // nil: nothing is logged
}

// name is that of the job in ledger and feed.
const name = "test"

// Source feeds a running job with objects as they are pushed. It is for what a
// listing cannot show: objects that arrive while others are read. Until
// [Source.End] its job is one whose listing goes on.
type Source struct {
	bucket    *memobject.Bucket
	ledger    *memledger.Ledger
	feed      *Feed
	finalizer *finalizer.Finalizer
	lease     ledger.Lease

	cancel context.CancelFunc
	wg     sync.WaitGroup

	pushing sync.Mutex
	pushed  int    // guarded by pushing
	after   string // guarded by pushing: the page that the next one follows
}

// Start runs j until the test ends.
func Start(t testing.TB, j Job) *Source {
	t.Helper()
	s, err := start(t, j)
	if err != nil {
		t.Fatalf("spatetest: %v", err)
	}
	t.Cleanup(s.stop)
	return s
}

func start(t testing.TB, j Job) (*Source, error) {
	j = j.withDefaults(t)
	s := &Source{bucket: j.Bucket, ledger: memledger.New()}
	items, opener, out := ledger.Store(s.ledger), object.Bucket(j.Bucket), j.Sink
	meta, err := s.ledger.Start(t.Context(), name, ledger.Start{Token: "test"})
	if err != nil {
		return nil, err
	}
	s.lease = ledger.Lease{Job: name, Run: meta.Run, Holder: "test"}
	if f := j.Faults; f != nil {
		items, opener, out = f.Ledger(items), f.Bucket(opener), f.Sink(out)
	}
	s.feed = NewFeed(memfeed.Options{Cap: j.Attempts, Log: j.Log}, j.Feed)
	s.finalizer = finalizer.New(s.ledger)
	p := pipe.New(pipe.Config{
		Source: opener, Framer: j.Framer, Chain: j.Chain, Threads: 2, Budget: budget.New(192 << 20),
		// Short waits: nothing here gets better by waiting.
		Sinks: []pipe.NamedSink{{Name: "default", Type: "test", Sink: sink.Retry(out, sink.RetryOptions{
			Initial: time.Millisecond, Max: 10 * time.Millisecond, Budget: 100 * time.Millisecond,
		})}},
	})
	r := reader.New(items, p, reader.Options{BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, Log: j.Log})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // ends with stop, which waits
	s.cancel = cancel
	s.wg.Go(func() { _ = s.feed.Run(ctx, 4, r.Handle) })
	return s, nil
}

func (j Job) withDefaults(t testing.TB) Job {
	if j.Chain == nil {
		j.Chain = chain.Raw("\n")
	}
	if j.Framer == nil {
		j.Framer = func() frame.Framer { return frame.NDJSON(frame.DefaultMaxRecord) }
	}
	if j.Sink == nil {
		j.Sink = Capture(t, capturesink.Options{})
	}
	if j.Bucket == nil {
		j.Bucket = new(memobject.Bucket)
	}
	if j.Log == nil {
		j.Log = slog.New(slog.DiscardHandler)
	}
	j.Attempts = cmp.Or(j.Attempts, 3)
	return j
}

// stop ends the job, and the units in progress with it.
func (s *Source) stop() {
	s.cancel()
	s.wg.Wait()
}

// Push puts data into the bucket under key and sends it on its way as a unit of
// its own. It does not wait. Pushing a key again pushes another version of it; a
// test that wants to see a key change in mid-read puts into its Bucket.
func (s *Source) Push(key string, data []byte) error {
	s.pushing.Lock()
	defer s.pushing.Unlock()
	ctx := context.Background()
	// A test may wait for longer than a lease stands.
	if _, err := s.ledger.Lease(ctx, s.lease); err != nil {
		return fmt.Errorf("push %s: %w", key, err)
	}
	o := s.bucket.Put(key, data)
	u := unit.Unit{Job: name, Run: s.lease.Run, Bucket: name, Objects: []unit.Object{o}, Origin: unit.FromEvent}
	body, err := u.Encode()
	if err != nil {
		return fmt.Errorf("push %s: %w", key, err)
	}
	id := u.ID()
	s.pushed++
	page := ledger.Page{
		After: s.after, Last: fmt.Sprintf("%09d", s.pushed),
		Units:     []ledger.Planned{{ID: id, FirstKey: key, Objects: 1, Body: body}},
		Inventory: ledger.Inventory{Objects: 1, Bytes: o.Size},
	}
	if _, _, err := s.ledger.Publish(ctx, s.lease, page); err != nil {
		return fmt.Errorf("push %s: %w", key, err)
	}
	if err := s.feed.Send(ctx, feed.Message{ID: id, Job: name, Body: body}); err != nil {
		return fmt.Errorf("push %s: %w", key, err)
	}
	if err := s.ledger.Advance(ctx, s.lease, page); err != nil {
		return fmt.Errorf("push %s: %w", key, err)
	}
	s.after = page.Last
	return nil
}

// Wait returns nil when every row of what was pushed so far is acked by the
// sink and nothing is in flight any more. The error names the units that were
// given up, or why the job is halted, or ctx's end.
func (s *Source) Wait(ctx context.Context) error {
	look := context.WithoutCancel(ctx) // so that the last look says what is not done
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		settled, err := s.settled(look)
		if settled || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for what was pushed: %w", errors.Join(ctx.Err(), s.unfinished(look)))
		}
	}
}

// settled reports whether nothing is in flight; the error then names what is
// not done.
func (s *Source) settled(ctx context.Context) (bool, error) {
	meta, err := s.ledger.Meta(ctx, name)
	if err != nil {
		return false, err
	}
	if meta.Halt != nil {
		return false, fmt.Errorf("the job is halted, %s: %s", meta.Halt.Reason, meta.Halt.Detail)
	}
	s.pushing.Lock() // no push may be half done, nor come between the looks at feed and ledger
	defer s.pushing.Unlock()
	if !s.feed.Depth().Empty() {
		return false, nil
	}
	return true, s.unfinished(ctx)
}

// unfinished names every unit that is not done.
func (s *Source) unfinished(ctx context.Context) error {
	var all []error
	err := s.ledger.Unfinished(ctx, name, s.lease.Run, func(i ledger.Item) error {
		if i.Cause != nil {
			all = append(all, fmt.Errorf("%s is dead, %s: %s", i.FirstKey, i.Cause.Reason, i.Cause.Detail))
		} else {
			all = append(all, fmt.Errorf("%s is open after %d attempts", i.FirstKey, i.Attempts))
		}
		return nil
	})
	return errors.Join(append(all, err)...)
}

// End waits as [Source.Wait] does, sets the end marker and returns the report of
// the job, whatever its verdict. Nothing can be pushed any more. The error is of
// what kept it from ending; units that were given up are in the report.
func (s *Source) End(ctx context.Context) (*report.Report, error) {
	waited := s.Wait(ctx)
	if ctx.Err() != nil {
		return nil, waited
	}
	if _, err := s.ledger.Lease(ctx, s.lease); err != nil {
		return nil, err
	}
	if err := s.ledger.Finish(ctx, s.lease); err != nil {
		return nil, err
	}
	if _, err := s.finalizer.Prove(ctx, name); err != nil {
		return nil, err
	}
	return s.finalizer.Report(ctx, name)
}
