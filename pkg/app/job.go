// Package app joins contracts and drivers into jobs: Load makes a Config of a
// pipeline file, and Open makes a Job of a Config and a Pipeline, the parts that
// are written in Go. It is the only package that knows both sides, so the only one
// to change when a driver is added.
//
// It moves no record and decides nothing about one: package lister lists, reader
// reads and finalizer gives the verdict; app starts, stops and reports them. Main
// is the command line over it; Open and Job.Run are for a program that has one of
// its own. On a stack, OpenListing, OpenReading and OpenAnnounced make the parts
// that its functions run.
//
// The law: all that can be known to be wrong is said by Load and Open, before
// anything is listed or written.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spate-go/spate/pkg/app/internal/admin"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/clickhouse"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// Pipeline is the part of a pipeline that is written in Go. Whatever is nil
// comes from the pipeline file.
type Pipeline struct {
	Framer func() frame.Framer
	Chain  chain.Constructor // decode, operators, encode
	Sink   sink.Sink
	// Columns are the columns of the rows that Chain makes for ClickHouse, as
	// the encoder of pkg/clickhouse gives them. With them the file may name the
	// table, which must have these columns.
	Columns clickhouse.Columns
	// Source replaces the bucket or directory that source.s3.url names, so that
	// a test runs the file as it is over objects of its own. It lists what is
	// under the URL's prefix; everything else in the section applies.
	Source object.Bucket
}

// Options are the choices of one run. The zero value is usable.
type Options struct {
	Overwrite bool  // replace what an earlier run wrote
	Limit     int64 // stop after this many records; 0: read all
	// State is a directory that keeps the progress of jobs for the next process;
	// one process uses it at a time. "": progress ends with the process.
	State   string
	Drain   time.Duration    // how long units at hand may take after a stop; 0: 5 s
	Stdout  io.Writer        // where the stdout sink writes; nil: io.Discard
	Log     *slog.Logger     // nil: slog.Default()
	Metrics *metric.Registry // nil: one of the job's own

	state state // that Open opened
	begun bool  // the job was begun in it before
	// down is called when the job is halted because its sink is down, and with nil
	// when it goes on; nil: the log says so.
	down func(*ledger.Halt)
}

// Job is a bounded job in this process: lister, reader and finalizer over the
// feed in memory, and the ledger in memory or on disk.
type Job struct {
	name      string
	opt       Options
	digests   ledger.Digests
	pipeline  string // digest of chain and sinks
	held      int
	ledger    ledger.Store
	state     state
	feed      *memfeed.Feed
	waits     waiting // before the feed
	lister    *lister.Lister
	reader    *reader.Reader
	finalizer *finalizer.Finalizer
	sinks     []openedSink
	limit     *atomic.Int64
	records   *metric.Value // framed so far
	read      *metric.Value // bytes read so far
	progress  progressed
	health    health
	admin     *admin.Server // nil: there is none

	wake chan struct{} // something may have ended the job; holds one note
	sent atomic.Bool   // all that is open was sent, or nothing more will be
	fail atomic.Bool   // the listing failed
}

// drivers are what a job is joined from. Tests use others than those that the
// pipeline file names.
type drivers struct {
	bucket   object.Bucket
	ledger   ledger.Store
	state    state
	feed     *memfeed.Feed
	sender   feed.Sender // into feed
	sink     sink.Sink
	sinkType string
}

// drain is how long units at hand may take after a stop.
const drain = 5 * time.Second

// Open builds the job that c and p describe and opens its source and sink. It
// lists and writes nothing.
func Open(ctx context.Context, c Config, p Pipeline, o Options) (j *Job, err error) {
	if err := c.check(plain); err != nil {
		return nil, err
	}
	c.defaults()
	o = o.withDefaults()
	loc, err := parseURL(c.Source.S3.URL)
	if err != nil {
		return nil, err
	}
	// The address first: one that is taken shows before anything is opened.
	address, err := listen(ctx, &c)
	if err != nil {
		return nil, err
	}
	d := drivers{ledger: memledger.New(), bucket: p.Source}
	defer func() {
		if err != nil {
			address.close()
			err = errors.Join(err, d.state.close())
		}
	}()
	d.feed = memfeed.New(memfeed.Options{Cap: attemptCap(c.Feed), Log: o.Log, Metrics: o.Metrics, Labels: labels(&c, "feed", "memory")})
	d.sender = d.feed
	if d.bucket == nil {
		if d.bucket, err = openSource(ctx, c.Source.S3, loc); err != nil {
			return nil, err
		}
	}
	if o.State != "" {
		if d.state, err = openState(o.State, loc); err != nil {
			return nil, err
		}
		d.ledger = d.state.ledger
	}
	// The sink last: it may create files, and what is wrong elsewhere shows
	// before.
	j, err = join(ctx, c, p, o, loc, &d)
	if err != nil {
		return nil, err
	}
	j.serve(ctx, address, &c)
	return j, nil
}

// Run runs the job to its end and returns its report, which has the verdict.
// While a sink is down it waits for it. When ctx ends it stops: nothing new is
// read, and units at hand have the drain time to finish. The error is one that
// kept the job from being reported.
func (j *Job) Run(ctx context.Context) (*report.Report, error) {
	meta, going, err := j.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("start job %s: %w", j.name, err)
	}
	stop, cancelStop := context.WithCancel(ctx) // then nothing more is listed or delivered
	defer cancelStop()
	work, cancelWork := context.WithCancel(context.WithoutCancel(ctx)) // of the units at hand
	defer cancelWork()
	var (
		wg                sync.WaitGroup
		listErr, watchErr error
		delivered         = make(chan struct{})
	)
	wg.Go(func() {
		defer j.notify()
		listErr = j.send(stop, meta, going)
	})
	go func() { // drain waits for it
		defer close(delivered)
		_ = j.feed.Run(work, j.held, j.reader.Handle) // of work alone, which is ours
	}()
	wg.Go(func() { j.mind(stop) })
	wg.Go(func() {
		watchErr = j.watch(stop)
		j.health.stopping.Store(true)
		cancelStop()
		j.feed.Stop()
		watchErr = errors.Join(watchErr, j.drain(delivered, cancelWork))
	})
	wg.Wait()
	r, err := j.report(context.WithoutCancel(ctx), listErr)
	return r, errors.Join(watchErr, err)
}

// drain waits for the units at hand: for the drain time and then, with their
// context ended, for as long again. What does not end then, such as a write
// that nobody reads, is left behind with its unit open.
func (j *Job) drain(delivered <-chan struct{}, cancelWork func()) error {
	for range 2 {
		select {
		case <-delivered:
			return nil
		case <-time.After(j.opt.Drain):
			cancelWork()
		}
	}
	return fmt.Errorf("job %s: %w within %v of the stop: does anything take the rows?", j.name, errStuck, 2*j.opt.Drain)
}

// errStuck: units did not end though their context had.
var errStuck = errors.New("units in progress did not end")

// start begins the job's next run. With its token a start whose answer was lost
// is the same start.
func (j *Job) start(ctx context.Context) (ledger.Meta, error) {
	s := ledger.Start{Token: rand.Text(), Digests: j.digests}
	return ledger.Ask(ctx, func() (ledger.Meta, error) { return j.ledger.Start(ctx, j.name, s) })
}

// report is the ledger's verdict, completed by what the ledger cannot know.
func (j *Job) report(ctx context.Context, listErr error) (*report.Report, error) {
	var r *report.Report
	err := ledger.Retry(ctx, func() (err error) { // all the work is in it
		if !j.limited() { // units that ended after the stop may have been the last
			if _, err = j.finalizer.Prove(ctx, j.name); err != nil {
				return err
			}
		}
		r, err = j.finalizer.Report(ctx, j.name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !slices.Contains(r.Pipelines, j.pipeline) { // it had nothing to read
		r.Pipelines = append(r.Pipelines, j.pipeline)
	}
	if r.Ended.IsZero() {
		r.Ended = time.Now()
	}
	switch {
	case listErr != nil:
		r.State, r.Reason = report.Failed, listErr.Error()
	case j.limited() && r.State != report.Failed:
		r.State, r.Reason = report.Interrupted, fmt.Sprintf("stopped after %d records", j.opt.Limit)
	}
	return r, nil
}

// send gives the feed its units: all that a new run lists, or what is open of a
// run that goes on. A fault that no lister could get past halts the job; after
// any other the job cannot end, and j.fail says so.
func (j *Job) send(ctx context.Context, meta ledger.Meta, going bool) error {
	defer j.sent.Store(true)
	var err error
	if going {
		err = j.resend(ctx, meta)
	} else {
		err = j.lister.Run(ctx, j.name, meta)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return nil // stopped, which is no fault of the listing
	case failure.Is(err, failure.Job):
		_, reason := failure.Of(err)
		h := ledger.Halt{Reason: reason, Detail: err.Error(), At: time.Now()}
		if _, haltErr := j.ledger.Halt(ctx, j.name, h); haltErr == nil {
			return nil
		}
	}
	j.fail.Store(true)
	return err
}

// glance is how often the job is looked at for a change.
const glance = 200 * time.Millisecond

// watch returns when the job has ended, is halted by what does not end by
// itself, or was stopped. A ledger that cannot be read is read again, ten times
// in a row at most.
func (j *Job) watch(ctx context.Context) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for failed := 0; ; {
		empty, told := false, failed > 0
		select {
		case <-ctx.Done():
			return nil
		case <-j.wake:
			told = true
		case <-tick.C:
			empty = j.sent.Load() && !j.waits.any() && j.feed.Depth().Empty()
		}
		j.beat(time.Now())
		ended, err := j.ended(ctx, empty, told)
		if err == nil && ended {
			return nil
		}
		if err == nil {
			failed = 0
		} else if failed++; failed == 10 {
			return err
		}
	}
}

// ended reports whether there is nothing more to wait for. A proof reads every
// unit, so one is made only when something says that it may succeed: empty,
// that nothing is in the feed, or told, that a unit's end may have been the
// last.
func (j *Job) ended(ctx context.Context, empty, told bool) (bool, error) {
	if empty || told {
		ended, err := j.finalizer.Prove(ctx, j.name)
		if err != nil || ended {
			return ended, err
		}
	}
	if j.limited() || j.fail.Load() {
		return true, nil
	}
	meta, err := j.ledger.Meta(ctx, j.name)
	if err != nil {
		return true, err
	}
	if meta.Halt != nil && !meta.Halt.SinkDown() {
		j.progress.halts(meta.Halt.Reason).Set(1)
		return true, nil
	}
	if empty && meta.Listed {
		return false, fmt.Errorf("job %s: units are open and none is on its way: this is a fault of the program, please report it", j.name)
	}
	return false, nil
}

func (j *Job) settled(context.Context, string) error {
	j.notify()
	return nil
}

// notify leaves a note for watch, unless one is there that it has not read yet.
func (j *Job) notify() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *Job) finished(u *unit.Unit) {
	j.progress.finished(u)
	if j.limited() {
		j.notify()
	}
}

func (j *Job) limited() bool { return j.limit != nil && j.limit.Load() <= 0 }

// Close closes the sinks, and the admin address if there is one.
func (j *Job) Close() error { return errors.Join(closeSinks(j.sinks), j.unserve(), j.state.close()) }

// Run runs the job that c and p describe and returns its report, which has the
// verdict. It handles no signal and never exits; when ctx is cancelled it
// drains.
func Run(ctx context.Context, c Config, p Pipeline) (*report.Report, error) {
	j, err := Open(ctx, c, p, Options{})
	if err != nil {
		return nil, err
	}
	r, err := j.Run(ctx)
	return r, errors.Join(err, j.Close())
}

func (o Options) withDefaults() Options {
	if o.Drain == 0 {
		o.Drain = drain
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = new(metric.Registry)
	}
	return o
}

func attemptCap(f *FeedConfig) int {
	if f.Memory == nil {
		return 0
	}
	return f.Memory.AttemptCap
}

func readDigest(c *Config, p Pipeline) string {
	f := c.framing(p)
	return plan.ReadDigest(plan.Reading{Codec: c.Source.S3.Compression, Framing: f.name, MaxRecord: int64(f.limit), Blocks: c.blocks()})
}
