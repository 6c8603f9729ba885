package reader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// done marks the unit done. A halt that it is a probe for is cleared first:
// after a crash between the two there still is an open unit to probe with.
func (a *attempt) done(ctx context.Context) error {
	if err := a.clear(ctx); err != nil {
		return err
	}
	var tally ledger.Tally
	err := a.write(ctx, func(c unit.Counts) (err error) {
		tally, err = a.ledger.Done(ctx, a.ref, c)
		return err
	})
	if err != nil {
		return err
	}
	a.outcome = done
	a.opt.Latency.Observe(time.Since(a.began))
	a.opt.Overwritten.Add(a.total.Overwritten)
	if a.opt.Finished != nil {
		a.opt.Finished(a.unit)
	}
	return a.ended(ctx, tally)
}

// pause records where the unit continues. A shared ledger records in the same
// write that the unit is due, so the message can be acked.
func (a *attempt) pause(ctx context.Context, at unit.Cursor) error {
	if err := a.clear(ctx); err != nil {
		return err
	}
	err := a.write(ctx, func(c unit.Counts) error { return a.ledger.Pause(ctx, a.ref, a.item.Serial, at, c) })
	if err != nil {
		return err
	}
	a.outcome = paused
	return nil
}

// clear ends the halt that the unit is a probe for.
func (a *attempt) clear(ctx context.Context) error {
	if !a.probe || a.opt.Resume == nil {
		return nil
	}
	if err := ledger.Retry(ctx, func() error { return a.opt.Resume(ctx, a.ref.Job) }); err != nil {
		return fmt.Errorf("clear the halt of job %s: %w", a.ref.Job, err)
	}
	a.probe = false
	return nil
}

// ended calls Settled if the unit's end may be the job's.
func (a *attempt) ended(ctx context.Context, t ledger.Tally) error {
	if !t.Settled() || a.opt.Settled == nil {
		return nil
	}
	return a.opt.Settled(ctx, a.ref.Job)
}

// settle decides, once, what the end of a start of work means.
func (a *attempt) settle(ctx context.Context, err error) error {
	scope, reason := failure.Of(err)
	switch {
	case err == nil:
		return nil
	case a.outcome == done: // an error after that is no failed attempt
		return a.named(err)
	case ctx.Err() != nil: // stopped from outside: not an attempt
		a.outcome = stopped
		return a.giveBack(ctx, err)
	case errors.Is(err, ledger.ErrFenced):
		// Not before the start that took over has had its time: another start would
		// fence it off, and of two messages of a long unit neither would ever advance.
		a.outcome = fenced
		return feed.RetryAfter(a.named(err), max(a.opt.BackoffMax, a.limits.whole))
	case scope == failure.Job:
		// Given back first: a crash after the flag would leave an attempt
		// counted that no fault of the unit caused.
		a.outcome, a.reason = refused, reason
		if e := a.giveBack(ctx, nil); e != nil {
			return feed.RetryAfter(errors.Join(a.named(err), e), a.opt.BackoffMax)
		}
		return a.halt(ctx, err)
	}
	a.outcome, a.reason = retried, reason
	cause := a.cause(reason, err)
	err = a.named(err)
	if scope != failure.Transient { // the sink is not to blame, which is all that a probe has to show
		err = errors.Join(err, a.clear(ctx))
	}
	if a.item.Last {
		return a.dead(ctx, err, cause)
	}
	return feed.RetryAfter(err, backoff.Delay(a.opt.BackoffMin, a.opt.BackoffMax, a.item.Attempts))
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
	if cause != nil {
		cause = a.named(cause)
	}
	return errors.Join(cause, err)
}

// halt sets the job's halt flag and acks the message: the unit's item stays
// open, and the unit is sent again when the flag is cleared.
func (a *attempt) halt(ctx context.Context, cause error) error {
	_, reason := failure.Of(cause)
	a.outcome, a.reason = halted, reason
	h := ledger.Halt{Reason: reason, Detail: cause.Error(), At: time.Now()}
	won, err := ledger.Ask(ctx, func() (bool, error) { return a.ledger.Halt(ctx, a.ref.Job, h) })
	if err != nil {
		return a.fail(ctx, errors.Join(cause, err))
	}
	a.metas.forget(a.ref.Job)
	a.waits()
	if !won {
		return nil
	}
	a.outcome, a.halted = haltedJob, cause
	if a.opt.Halted != nil {
		a.opt.Halted(ctx, a.unit, h)
	}
	return nil
}

// waits reports that the message is about to be acked while its unit is open.
func (a *attempt) waits() {
	if a.opt.Waits != nil {
		a.opt.Waits(a.delivery.Message)
	}
}

// cause is why the unit is given up.
func (a *attempt) cause(reason failure.Reason, err error) ledger.Cause {
	var bad []unit.Fault
	if a.item.RestDone {
		bad = a.bad()
	}
	return ledger.NewCause(reason, err.Error(), a.unit, bad)
}

// dead gives the unit up before its message fails for the last time.
func (a *attempt) dead(ctx context.Context, err error, c ledger.Cause) error {
	a.reason = c.Reason
	tally, e := ledger.Ask(ctx, func() (ledger.Tally, error) { return a.ledger.Dead(ctx, a.ref, a.item.Serial, c) })
	if e != nil {
		return errors.Join(err, e)
	}
	a.outcome = dead
	if a.opt.GaveUp != nil && a.unit != nil {
		a.opt.GaveUp(a.unit, c)
	}
	return errors.Join(err, a.ended(ctx, tally))
}

// fail fails the message without counting an attempt.
func (a *attempt) fail(ctx context.Context, err error) error {
	a.outcome = refused
	if ctx.Err() != nil {
		a.outcome = stopped
	}
	_, a.reason = failure.Of(err)
	return feed.RetryAfter(a.named(err), a.opt.BackoffMax)
}

// named puts the unit's id, if there is one, before err.
func (a *attempt) named(err error) error {
	if a.ref.ID == "" {
		return err
	}
	return fmt.Errorf("unit %s: %w", a.ref.ID, err)
}
