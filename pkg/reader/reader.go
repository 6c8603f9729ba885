// Package reader is the protocol of one unit: from a delivery to its item done
// in the ledger and its message acked. It moves no bytes (package pipe does)
// and never sends (INV-8).
//
// The order of effects is the guarantee. A unit is done only after every sink
// acked every block (INV-1), and a message is acked only when its unit is done
// or its item says what is due (INV-7): a crash between any two effects leaves
// an open item and a message that comes back. Nothing is acked on the word of
// what was remembered of the job: that is read anew first.
package reader

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/unit"
)

// Pipe reads a unit's bytes into the sinks. *pipe.Pipe is one.
type Pipe interface {
	Rest(ctx context.Context, r pipe.Reading, known []unit.Fault,
		found func(context.Context, unit.Fault) error) (pipe.Result, error)
	Member(ctx context.Context, r pipe.Reading, f unit.Fault) (pipe.Result, error)
}

// Options tune a Reader. The zero value is usable.
type Options struct {
	// ReadDigest is the fingerprint of this reader's configuration; a job with
	// another one is halted.
	ReadDigest string
	// Pipeline is the digest of its chain and sinks, which the job's report is to
	// name. "": none.
	Pipeline string
	// Cache is for how long a job's meta is remembered. 0: it is not.
	Cache time.Duration
	// BackoffMin and BackoffMax bound the delay after a failed attempt, which
	// doubles with each: 50 ms and 2 s if 0, as suits a feed in this process.
	BackoffMin, BackoffMax time.Duration

	// Visibility is for how long a message that needs renewing is kept from other
	// readers at a time, so that one whose reader crashed is due again by then.
	// 0: 2 min.
	Visibility time.Duration
	// Settling is after how long a run that nobody works on is settled: while a
	// message is renewed, its run's counters are touched three times as often. 0:
	// 10 min.
	Settling time.Duration
	// Reserve is how long before the end of a delivery's time, where its message
	// needs renewing and its context has a deadline, a unit pauses as soon as it
	// can; what is left at a third of it is for what is to be written. 0: 15 s. A
	// quarter of the time there is bounds it.
	Reserve time.Duration
	// UnitTime is the time after which a unit's progress is written and it goes
	// on in the same delivery, in a ledger that is not Shared; Reserve is before
	// its end. 0: none.
	UnitTime time.Duration
	// MemoryMB is the memory of the function that this runs in, for
	// Counts.MemoryTime. 0: it is none.
	MemoryMB int64

	// Announced and Stat are for units whose objects were announced by events: a
	// member of one that has changed is overwritten, not faulty, and what is current
	// under its key is read in its place. Stat is that of object.Stater, for the
	// bucket of the unit. Without both such a member is faulty like any other, and
	// without Announced a continuous job has to have its fingerprint.
	Announced ledger.Announced
	Stat      func(ctx context.Context, bucket, key string) (unit.Object, error)

	// Resume clears the halt of a job for sink_down, after a probe fared well;
	// it may be called again. nil: a probe clears nothing.
	Resume func(ctx context.Context, job string) error
	// Settled is called after a unit's end when every planned unit seems to
	// have ended; it may prove the job's end. nil: nobody is told.
	Settled func(ctx context.Context, job string) error
	// Halted is told when a unit of this reader halted its job, once a halt.
	// nil: nobody is told.
	Halted func(ctx context.Context, u *unit.Unit, h ledger.Halt)
	// Waits is told of every message that is acked because its job is halted, while
	// its unit is open, before it is acked. nil: whoever clears the halt has every
	// open unit sent.
	Waits func(m feed.Message)
	// Finished is told of every unit that ended as done. nil: nobody is told.
	Finished func(u *unit.Unit)
	// GaveUp is told of every unit that was given up, and why. nil: nobody is
	// told.
	GaveUp func(u *unit.Unit, c ledger.Cause)
	// Latency observes how long units took from their delivery to their end as
	// done. nil: nothing does.
	Latency *metric.Durations
	// Overwritten counts the objects of units that were done of which a newer
	// version took the place; of an object that was cut, each range. nil: nothing
	// does.
	Overwritten *metric.Value
	// Log gets one line a delivery. nil: slog.Default().
	Log *slog.Logger
	// Level is that of the line of a delivery that went well. 0: info.
	Level slog.Level
}

func (o Options) withDefaults() Options {
	o.BackoffMin = cmp.Or(o.BackoffMin, 50*time.Millisecond)
	o.BackoffMax = cmp.Or(o.BackoffMax, 2*time.Second)
	o.Visibility = cmp.Or(o.Visibility, 2*time.Minute)
	o.Settling = cmp.Or(o.Settling, 10*time.Minute)
	o.Reserve = cmp.Or(o.Reserve, 15*time.Second)
	o.Overwritten = cmp.Or(o.Overwritten, new(metric.Value))
	o.Latency = cmp.Or(o.Latency, new(metric.Durations))
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Reader handles deliveries. Handle may be called concurrently.
type Reader struct {
	ledger ledger.Worker
	pipe   Pipe
	opt    Options
	metas  metas
}

// New returns a reader.
func New(l ledger.Worker, p Pipe, o Options) *Reader {
	o = o.withDefaults()
	return &Reader{ledger: l, pipe: p, opt: o, metas: metas{ledger: l, keep: o.Cache}}
}

// Handle is a feed.Handler.
func (r *Reader) Handle(ctx context.Context, d feed.Delivery) error {
	now := time.Now()
	a := &attempt{
		Reader: r, delivery: d, began: now, charged: now,
		ref: ledger.Ref{Job: d.Job, ID: d.ID}, limits: r.limits(ctx, d.Extend != nil, now),
	}
	release := a.hold(ctx)
	err := a.handle(ctx)
	release()
	a.log(ctx, err)
	return err
}
