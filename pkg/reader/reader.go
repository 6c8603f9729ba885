// Package reader is the protocol of one unit: from a delivery to its item done
// in the ledger and its message acked. It moves no bytes (package pipe does)
// and never sends (INV-8).
//
// The order of effects is the guarantee. A unit is done only after every sink
// acked every block (INV-1), and a message is acked only when its unit is done
// or its item says what is due (INV-7): a crash between any two effects leaves
// an open item and a message that comes back.
package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/unit"
)

// Pipe reads a unit's bytes into the sinks. *pipe.Pipe is one.
type Pipe interface {
	Rest(ctx context.Context, u *unit.Unit, id unit.ID, known []unit.Fault,
		found func(context.Context, unit.Fault) error) (unit.Counts, error)
	Member(ctx context.Context, u *unit.Unit, id unit.ID, f unit.Fault) (unit.Counts, error)
}

// Options tune a Reader. The zero value is usable.
type Options struct {
	// ReadDigest is the fingerprint of this reader's configuration; a job with
	// another one is halted.
	ReadDigest string
	// BackoffMin and BackoffMax bound the delay after a failed attempt, which
	// doubles with each: 50 ms and 2 s if 0, as suits a feed in this process.
	BackoffMin, BackoffMax time.Duration
	// Settled is called after a unit's end when every planned unit seems to
	// have ended; it may prove the job's end. nil: nobody is told.
	Settled func(ctx context.Context, job string) error
	// Halted is told when a unit of this reader halted its job, once a halt.
	// nil: nobody is told.
	Halted func(ledger.Halt)
	// Finished is told of every unit that ended as done. nil: nobody is told.
	Finished func(u *unit.Unit)
	// GaveUp is told of every unit that was given up, and why. nil: nobody is
	// told.
	GaveUp func(u *unit.Unit, c ledger.Cause)
	// Latency observes how long units took from their delivery to their end as
	// done. nil: nothing does.
	Latency *metric.Durations
	Log     *slog.Logger // nil: slog.Default()
}

// Reader handles deliveries. Handle may be called concurrently.
type Reader struct {
	ledger ledger.Worker
	pipe   Pipe
	opt    Options
}

// New returns a reader.
func New(l ledger.Worker, p Pipe, o Options) *Reader {
	o.BackoffMin = cmp.Or(o.BackoffMin, 50*time.Millisecond)
	o.BackoffMax = cmp.Or(o.BackoffMax, 2*time.Second)
	o.Latency = cmp.Or(o.Latency, new(metric.Durations))
	o.Log = cmp.Or(o.Log, slog.Default())
	return &Reader{ledger: l, pipe: p, opt: o}
}

// attempt is one start of work on a unit.
type attempt struct {
	*Reader
	began time.Time
	unit  *unit.Unit
	ref   ledger.Ref
	item  ledger.Item // as this attempt began
	// faulty are the members that are bad by what this attempt knows.
	faulty []unit.Fault
}

// Handle is a feed.Handler.
func (r *Reader) Handle(ctx context.Context, d feed.Delivery) error {
	u, err := unit.Decode(d.Body)
	if err != nil {
		return r.unreadable(ctx, d, err)
	}
	a := &attempt{Reader: r, began: time.Now(), unit: u, ref: ledger.Ref{Job: u.Job, Run: u.Run, ID: d.ID}}
	meta, err := ask(ctx, func() (ledger.Meta, error) { return r.ledger.Meta(ctx, u.Job) })
	if err != nil {
		return fmt.Errorf("unit %s: %w", d.ID, err)
	}
	switch {
	case meta.State == ledger.Completed, meta.State == ledger.Cancelled, meta.Run > u.Run:
		return nil // its item is done, or of no run that counts
	case meta.Halt != nil:
		return nil // the open item remembers it; clearing the flag sends it again
	case r.opt.ReadDigest != meta.Digests.Read:
		return a.halt(ctx, failure.Errorf(failure.Job, failure.Fingerprint,
			"job %s was started with read configuration %q and this reader has %q: deploy the one it was started with, or start the job again",
			u.Job, meta.Digests.Read, r.opt.ReadDigest))
	}
	a.item, err = ask(ctx, func() (ledger.Item, error) { return r.ledger.Begin(ctx, a.ref, d.Receives, d.Cap) })
	if err != nil {
		return fmt.Errorf("unit %s: %w", d.ID, err)
	}
	switch {
	case a.item.State == ledger.Done, a.item.Run > u.Run:
		return nil
	case a.item.Run < u.Run: // entered before it was sent, so this cannot be the last word
		return fmt.Errorf("unit %s of run %d is not in the ledger yet", d.ID, u.Run)
	case a.item.State == ledger.Dead:
		return fmt.Errorf("unit %s is dead: %s", d.ID, a.item.Cause.Detail)
	}
	a.faulty = slices.Clone(a.item.Faults)
	return a.settle(ctx, a.work(ctx))
}

// work reads what is left of the unit and returns nil once it is done. A panic
// below is a failed attempt like any other: left to the feed, it would never
// reach the ledger.
func (a *attempt) work(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failure.Errorf(failure.Unit, failure.Operator, "unit %s: panic: %v\n%s", a.ref.ID, v, debug.Stack())
		}
	}()
	if !a.item.RestDone {
		return a.rest(ctx)
	}
	for _, f := range a.item.Faults {
		counts, err := a.pipe.Member(ctx, a.unit, a.ref.ID, f)
		if failure.Is(err, failure.Member) { // still bad; the next one may not be
			a.bad(f, err)
			continue
		}
		if err == nil {
			err = ledger.Retry(ctx, func() error { return a.ledger.Recovered(ctx, a.ref, a.item.Serial, f.Member, counts) })
		}
		if err != nil {
			return err
		}
		a.forget(f.Member)
	}
	if len(a.faulty) > 0 {
		return a.fault()
	}
	return a.done(ctx, unit.Counts{})
}

// bad notes what is bad about a member by the latest reading.
func (a *attempt) bad(f unit.Fault, err error) {
	_, f.Reason = failure.Of(err)
	f.Detail = err.Error()
	a.forget(f.Member)
	a.faulty = append(a.faulty, f)
}

func (a *attempt) forget(member int) {
	a.faulty = slices.DeleteFunc(a.faulty, func(f unit.Fault) bool { return f.Member == member })
}

// fault is the attempt's error while members are bad: that of the first.
func (a *attempt) fault() error {
	f := slices.MinFunc(a.faulty, func(f, g unit.Fault) int { return cmp.Compare(f.Member, g.Member) })
	return failure.Errorf(failure.Member, f.Reason, "%s", f.Detail)
}

// rest reads everything but the faulty members. With any of them the unit is
// not done: the rest is marked, so that later deliveries read only those.
func (a *attempt) rest(ctx context.Context) error {
	counts, err := a.pipe.Rest(ctx, a.unit, a.ref.ID, a.item.Faults, func(ctx context.Context, f unit.Fault) error {
		if err := ledger.Retry(ctx, func() error { return a.ledger.Fault(ctx, a.ref, a.item.Serial, f) }); err != nil {
			return err
		}
		a.forget(f.Member)
		a.faulty = append(a.faulty, f)
		return nil
	})
	if err != nil {
		return err
	}
	if len(a.faulty) == 0 {
		return a.done(ctx, counts)
	}
	if err := ledger.Retry(ctx, func() error { return a.ledger.RestDone(ctx, a.ref, a.item.Serial, counts) }); err != nil {
		return err
	}
	a.item.RestDone = true
	return a.fault()
}

func (a *attempt) done(ctx context.Context, c unit.Counts) error {
	tally, err := ask(ctx, func() (ledger.Tally, error) { return a.ledger.Done(ctx, a.ref, c) })
	if err != nil {
		return err
	}
	a.opt.Latency.Observe(time.Since(a.began))
	if a.opt.Finished != nil {
		a.opt.Finished(a.unit)
	}
	return a.ended(ctx, a.ref.Job, tally)
}

// ended tells of the unit's end when it may be the job's.
func (r *Reader) ended(ctx context.Context, job string, t ledger.Tally) error {
	if !t.Settled() || r.opt.Settled == nil {
		return nil
	}
	return r.opt.Settled(ctx, job)
}

// settle decides what a failed attempt means, once.
func (a *attempt) settle(ctx context.Context, err error) error {
	scope, reason := failure.Of(err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // stopped from outside: not an attempt
		return a.giveBack(ctx, err)
	case errors.Is(err, ledger.ErrFenced):
		return fmt.Errorf("unit %s: %w", a.ref.ID, err)
	case scope == failure.Job:
		// Given back first: a crash after the flag would leave an attempt
		// counted that no fault of the unit caused.
		if err := a.giveBack(ctx, nil); err != nil {
			return err
		}
		return a.halt(ctx, err)
	case a.item.Last:
		return a.dead(ctx, reason, err)
	}
	delay := backoff.Delay(a.opt.BackoffMin, a.opt.BackoffMax, a.item.Attempts)
	a.opt.Log.Warn("unit failed, will be tried again", "job", a.ref.Job, "unit", a.ref.ID,
		"reason", reason, "attempt", a.item.Attempts, "retry_in", delay, "error", err)
	return feed.RetryAfter(err, delay)
}

// cleanupTime bounds the writes that follow a stop.
const cleanupTime = 5 * time.Second

func (a *attempt) giveBack(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	err := ledger.Retry(ctx, func() error { return a.ledger.GiveBack(ctx, a.ref, a.item.Serial) })
	if errors.Is(err, ledger.ErrFenced) { // another start took over: nothing to take back
		err = nil
	}
	return errors.Join(cause, err)
}

// halt sets the job's flag and acks: the unit's item stays open and is sent
// again when the flag is cleared.
func (a *attempt) halt(ctx context.Context, cause error) error {
	_, reason := failure.Of(cause)
	h := ledger.Halt{Reason: reason, Detail: cause.Error(), At: time.Now()}
	won, err := ask(ctx, func() (bool, error) { return a.ledger.Halt(ctx, a.ref.Job, h) })
	if err != nil {
		return errors.Join(cause, err)
	}
	if !won {
		return nil
	}
	a.opt.Log.Error("job halted", "job", a.ref.Job, "reason", reason, "unit", a.ref.ID, "error", cause)
	if a.opt.Halted != nil {
		a.opt.Halted(h)
	}
	return nil
}

// dead gives the unit up before its message fails for the last time.
func (a *attempt) dead(ctx context.Context, reason failure.Reason, cause error) error {
	// Until the rest is marked, no object of the unit is known to be in the
	// sinks whole.
	c := ledger.Cause{Reason: reason, Detail: cause.Error(), Objects: a.unit.Objects, Record: -1}
	if a.item.RestDone && len(a.faulty) > 0 {
		slices.SortFunc(a.faulty, func(f, g unit.Fault) int { return cmp.Compare(f.Member, g.Member) })
		c.Objects, c.Faults, c.Record = nil, a.faulty, a.faulty[0].Record
		for _, f := range a.faulty {
			c.Objects = append(c.Objects, a.unit.Objects[f.Member])
		}
	}
	tally, err := ask(ctx, func() (ledger.Tally, error) { return a.ledger.Dead(ctx, a.ref, a.item.Serial, c) })
	if err != nil {
		return errors.Join(cause, err)
	}
	a.opt.Log.Error("unit given up", "job", a.ref.Job, "unit", a.ref.ID,
		"reason", reason, "attempts", a.item.Attempts, "key", c.Objects[0].Key, "error", cause)
	if a.opt.GaveUp != nil {
		a.opt.GaveUp(a.unit, c)
	}
	return errors.Join(cause, a.ended(ctx, a.ref.Job, tally))
}

// unreadable fails a message that is no unit of ours; at its last delivery the
// ledger learns why, if it knows the unit.
func (r *Reader) unreadable(ctx context.Context, d feed.Delivery, cause error) error {
	cause = fmt.Errorf("unit %s: %w", d.ID, cause)
	if d.Receives < d.Cap {
		return feed.RetryAfter(cause, r.opt.BackoffMax)
	}
	meta, err := ask(ctx, func() (ledger.Meta, error) { return r.ledger.Meta(ctx, d.Job) })
	if err != nil {
		return errors.Join(cause, err)
	}
	ref := ledger.Ref{Job: d.Job, Run: meta.Run, ID: d.ID}
	item, err := ask(ctx, func() (ledger.Item, error) { return r.ledger.Begin(ctx, ref, d.Receives, d.Cap) })
	if err != nil || item.State != ledger.Open {
		return errors.Join(cause, err)
	}
	c := ledger.Cause{
		Reason: failure.UnsupportedDescriptor, Detail: cause.Error(), Record: -1,
		Objects: []unit.Object{{Key: item.FirstKey}},
	}
	tally, err := ask(ctx, func() (ledger.Tally, error) { return r.ledger.Dead(ctx, ref, item.Serial, c) })
	if err != nil {
		return errors.Join(cause, err)
	}
	return errors.Join(cause, r.ended(ctx, d.Job, tally))
}
