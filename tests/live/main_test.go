// Package live_test runs continuous jobs whole, in one process and under a clock
// of its own: intakes, feed, readers, pipe and schedule are those of a stack, put
// together from the same pipeline file. Made up are the bucket, the ledger's
// memory, and how notifications come: late, twice, in any order and in every
// shape.
//
// A job is judged by its rows. What may have become of a version that did not
// stand until it was read, the ledger says, and the rows must bear it out.
package live_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
	"github.com/spate-go/spate/pkg/unit"
)

var seed = flag.Uint64("live.seed", 0, "what all chance depends on")

const (
	bucketName = "quay"
	prefix     = "in/"
	live       = "tide-live" // called after the pipeline
)

// pipeline passes records on as they are.
const pipeline = `
pipeline: {name: tide, threads: 2}
source: {s3: {url: "s3://quay/in/", target: 1MiB, exclude: ["**/*.tmp"]}}
feed: {sqs: {}}
framing: {ndjson: {max_record: 64KiB}}
sink: {blackhole: {}}
`

// world is a stack.
type world struct {
	t       *testing.T
	rng     *rand.Rand // of one goroutine alone: that of the test
	bucket  *memobject.Bucket
	ledger  *marked
	feed    *spatetest.Feed
	sink    *capturesink.Sink
	source  *app.Announced
	config  app.Config
	made    app.Pipeline
	reading *app.Reading
	tick    *finalizer.Shared
	queue   queue

	wg   sync.WaitGroup // of those who poll
	stop func()
}

// chances are what goes wrong behind the feed.
type chances struct {
	feed spatetest.Script
	sink capturesink.Script
	slow func(key string) // waits before bytes are read, and before what is found gone is marked
}

func newWorld(t *testing.T, seed uint64, versioned bool, c chances) *world {
	t.Helper()
	breach := t.Errorf
	if c.sink != nil {
		// One that fails cannot tell two readers of a unit from one that goes on after
		// a block failed.
		breach = func(string, ...any) {}
	}
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)),
		bucket: &memobject.Bucket{Versioned: versioned},
		ledger: &marked{Shared: memledger.NewShared(), units: map[unit.ID]bool{}, slowly: c.slow},
		feed:   spatetest.NewFeed(memfeed.Options{Cap: 10, Capacity: 1 << 20, CapacityBytes: 1 << 30}, c.feed),
		sink:   capturesink.New(capturesink.Options{Dedup: true, Script: c.sink, Violation: breach}),
	}
	w.queue.rng = rand.New(rand.NewPCG(seed, 8))
	w.bucket.Hook = func(op memobject.Op, key string, _ int64) error {
		if op == memobject.OpGet {
			c.slow(key)
		}
		return nil
	}
	w.wire()
	ctx, cancel := context.WithCancel(t.Context())
	w.wg.Go(func() {
		if err := w.feed.Run(ctx, 8, w.reading.Handle); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	for range 3 {
		in := w.intake()
		w.wg.Go(func() { w.queue.poll(ctx, in) })
	}
	w.wg.Go(func() { w.schedule(ctx) })
	w.stop = func() {
		cancel()
		w.wg.Wait()
		if err := w.reading.Close(); err != nil {
			t.Error(err)
		}
	}
	return w
}

// wire makes a stack's parts of the pipeline file, as its functions do.
func (w *world) wire() {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	w.made = app.Pipeline{Source: w.bucket, Sink: w.sink}
	var err error
	if w.config, err = load(w.t); err == nil {
		w.source, err = app.OpenAnnounced(w.t.Context(), w.config, w.made)
	}
	if err == nil {
		w.reading, err = app.OpenReading(w.t.Context(), w.config, w.made, w.ledger, reader.Options{
			Announced: w.ledger, Cache: 5 * time.Second, Log: log,
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	again := w.intake()
	w.tick = finalizer.NewShared(w.ledger, w.feed, finalizer.Options{
		Log: log,
		Take: func(ctx context.Context, m ledger.Meta, objects []unit.Object) ([]error, error) {
			taken, err := again.Take(ctx, m, objects)
			errs := make([]error, len(taken))
			for i := range taken {
				errs[i] = taken[i].Err
			}
			return errs, err
		},
		Empty: func(context.Context) (bool, error) { return w.feed.Depth().Empty(), nil },
	})
}

// intake is an intake of a process of its own.
func (w *world) intake() *intake.Intake {
	return w.source.Intake(w.ledger, w.feed, intake.Options{
		Refuse: func(_ context.Context, body []byte, _ failure.Reason, detail string) error {
			w.t.Errorf("refused for %s: %s", detail, body)
			return nil
		},
	})
}

// schedule ticks each minute.
func (w *world) schedule(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
		if err := w.tick.Tick(ctx); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	}
}

// rest waits until nothing is due any more.
func (w *world) rest(jobs ...string) {
	w.t.Helper()
	for end := time.Now().Add(24 * time.Hour); ; time.Sleep(10 * time.Second) {
		due := w.due(jobs)
		if due == "" {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("no rest after a day: %s", due)
		}
	}
}

func (w *world) due(jobs []string) string {
	w.t.Helper()
	if n := w.queue.waiting(); n > 0 {
		return fmt.Sprintf("%d messages", n)
	}
	if d := w.feed.Depth(); !d.Empty() {
		return fmt.Sprintf("%+v in the feed", d)
	}
	for _, job := range jobs {
		m, err := w.ledger.Meta(w.t.Context(), job)
		if err != nil {
			w.t.Fatal(err)
		}
		open := 0
		if m.Halt != nil {
			w.t.Fatalf("job %s is halted: %+v", job, m.Halt)
		}
		if err := w.ledger.Keys(w.t.Context(), job, func(ledger.KeyTodo) error { open++; return nil }); err != nil {
			w.t.Fatal(err)
		}
		err = w.ledger.Pending(w.t.Context(), job, m.Run, func(ledger.Planned) error { open++; return nil })
		if err != nil {
			w.t.Fatal(err)
		}
		if open > 0 {
			return fmt.Sprintf("%d units and keys of job %s", open, job)
		}
	}
	return ""
}

// marked is a ledger that remembers of which units members were marked: these may
// be cut into other segments at a second attempt.
type marked struct {
	*memledger.Shared

	slowly func(string) // waits before a mark

	mu    sync.Mutex
	units map[unit.ID]bool // guarded by mu
}

func (m *marked) mark(id unit.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units[id] = true
}

func (m *marked) Overwritten(ctx context.Context, r ledger.Ref, serial int, f unit.Fault, o unit.Object) error {
	m.mark(r.ID)
	m.slowly(o.Key)
	return m.Shared.Overwritten(ctx, r, serial, f, o)
}

func (m *marked) Fault(ctx context.Context, r ledger.Ref, serial int, f unit.Fault) error {
	m.mark(r.ID)
	return m.Shared.Fault(ctx, r, serial, f)
}

var (
	_ feed.Sender      = (*spatetest.Feed)(nil)
	_ ledger.Announced = (*marked)(nil)
)
