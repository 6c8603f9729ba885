// Package reader is the protocol for one unit: from its delivery until its item
// is done in the ledger and its message is acked. It moves no bytes (package pipe
// does) and never sends (INV-8).
//
// The order of effects is the guarantee. A unit is done only after every sink
// acked every block (INV-1), and a message is acked only when its unit is done
// or its item says what is due (INV-7): a crash between any two effects leaves
// an open item and a message that comes back. No message is acked on cached
// knowledge of its job: the job is read anew first.
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

// Pipe reads a unit's bytes into the sinks; *pipe.Pipe implements it.
type Pipe interface {
	// ReadUnit reads everything but the members that are known to be faulty, and calls
	// found for each further one that proves so.
	ReadUnit(ctx context.Context, r pipe.Reading, known []unit.Fault,
		found func(context.Context, unit.Fault) error) (pipe.Result, error)
	// ReadMember reads one faulty member from its faulty record on. failure.Member: it
	// is still bad.
	ReadMember(ctx context.Context, r pipe.Reading, f unit.Fault) (pipe.Result, error)
}

// Options tune a Reader. The zero value is usable.
type Options struct {
	// ReadDigest is the fingerprint of this reader's configuration; a job with
	// a different one is halted.
	ReadDigest string
	// Pipeline is the digest of the chain and sinks, for the job's report. "":
	// the report names none.
	Pipeline string
	// Cache is how long a job's meta is cached. 0: not at all.
	Cache time.Duration
	// BackoffMin and BackoffMax bound the delay after a failed attempt, which
	// doubles with each. 0: 50 ms and 2 s, which suits a feed in this process.
	BackoffMin, BackoffMax time.Duration

	// Visibility is how long each renewal hides a message from other readers,
	// so that the message of a reader that crashed is due again by then. 0: 2
	// min.
	Visibility time.Duration
	// Settling is how long nobody works on a run before it is settled. While a
	// message is renewed, its run's counters are touched three times as often.
	// 0: 10 min.
	Settling time.Duration
	// Reserve is the time kept free before the deadline of a delivery whose
	// message needs renewing. When it begins, the unit pauses as soon as it
	// can; in its last third nothing is read any more, so that the outcome can
	// be written. It takes a quarter of the delivery's time at most. 0: 15 s.
	Reserve time.Duration
	// UnitTime is how often the progress of a unit is written while it
	// continues in the same delivery, for a ledger that is not Shared; Reserve
	// applies before the end of each stretch. 0: never.
	UnitTime time.Duration
	// MemoryMB is the memory of the function that this runs in, in MB, for
	// Counts.MemoryTime. 0: it runs in none.
	MemoryMB int64

	// Announced and Stat are for units whose objects were announced by events.
	// With both, a member that has changed is overwritten, not faulty, and what
	// is current under its key is read in its place; without both, it is faulty
	// like any other. Without Announced a continuous job must have its
	// fingerprint already. Stat is that of object.Stater, for the unit's
	// bucket.
	Announced ledger.Announced
	Stat      func(ctx context.Context, bucket, key string) (unit.Object, error)

	// Resume clears a job's halt for sink_down after a probe succeeded; it may
	// be called again. nil: a probe clears nothing.
	Resume func(ctx context.Context, job string) error
	// Settled is called after a unit's end when every planned unit seems to
	// have ended; it may prove the job's end. nil: it is not.
	Settled func(ctx context.Context, job string) error
	// Halted is called once per halt, when a unit of this reader has halted its
	// job. nil: it is not.
	Halted func(ctx context.Context, u *unit.Unit, h ledger.Halt)
	// Waits is called for every message that is acked because its job is
	// halted, while its unit is open, before the ack. nil: whoever clears the
	// halt has every open unit sent.
	Waits func(m feed.Message)
	// Finished is called for every unit that ended as done. nil: it is not.
	Finished func(u *unit.Unit)
	// GaveUp is called for every unit that was given up, with the cause. nil:
	// it is not.
	GaveUp func(u *unit.Unit, c ledger.Cause)
	// Latency observes the time from a unit's delivery to its end as done. nil:
	// it is not measured.
	Latency *metric.Durations
	// Overwritten counts the objects of done units that a newer version
	// replaced; of an object that was cut, each range. nil: they are not
	// counted.
	Overwritten *metric.Value
	// Log gets one line per delivery. nil: slog.Default().
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

// New returns a reader of the units in l, which reads their bytes with p.
func New(l ledger.Worker, p Pipe, o Options) *Reader {
	o = o.withDefaults()
	return &Reader{ledger: l, pipe: p, opt: o, metas: metas{ledger: l, keep: o.Cache}}
}

// Handle is a [feed.Handler]. It takes one delivered unit as far as it can be
// taken now, and writes one line to the log.
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
