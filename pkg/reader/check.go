package reader

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// decode reads the message's body.
func (a *attempt) decode() error {
	if a.delivery.ID == "" {
		return failure.Errorf(failure.Unit, failure.UnsupportedDescriptor, "the message names no unit: nothing of this module sent it")
	}
	u, err := unit.Decode(a.delivery.Body)
	if err != nil {
		return err
	}
	a.unit, a.ref.Job, a.ref.Run = u, u.Job, u.Run
	return nil
}

// check looks at the job and reports whether the unit is to be worked on.
func (a *attempt) check(ctx context.Context) (bool, error) {
	meta, fresh, err := a.metas.get(ctx, a.ref.Job)
	if err != nil {
		return false, a.fail(ctx, err)
	}
	if meta, err = a.adopt(ctx, meta); err != nil {
		return false, a.fail(ctx, err)
	}
	on, err := a.judge(meta)
	// Cached meta is good enough to work on, but not to ack on: the halt that it
	// shows may be over, and this may be the very message that was sent because of
	// that. Nor does a probe trust it.
	if !fresh && (!on || a.delivery.Probe) {
		if meta, err = a.metas.read(ctx, a.ref.Job); err != nil {
			return false, a.fail(ctx, err)
		}
		if meta, err = a.adopt(ctx, meta); err != nil {
			return false, a.fail(ctx, err)
		}
		on, err = a.judge(meta)
	}
	a.meta = meta
	switch {
	case on:
		return true, nil
	case err == nil:
		if a.outcome == halted {
			a.waits()
		}
		return false, nil
	case failure.Is(err, failure.Job):
		return false, a.halt(ctx, err)
	}
	return false, a.fail(ctx, err)
}

// judge says from m whether the unit is to be worked on. If not, the message is
// acked, or err says why it fails.
func (a *attempt) judge(m ledger.Meta) (bool, error) {
	a.probe, a.outcome = false, ""
	switch {
	case m.Run < a.ref.Run:
		return false, fmt.Errorf("run %d is not in the ledger yet", a.ref.Run)
	case m.State == ledger.Completed, m.State == ledger.Cancelled, m.Run > a.ref.Run:
		a.outcome = skipped // its item is done, or its run no longer counts
		return false, nil
	case m.Halt != nil:
		a.probe = a.delivery.Probe && m.Halt.SinkDown()
	}
	switch {
	case m.Halt != nil && !a.probe:
		a.outcome, a.reason = halted, m.Halt.Reason
		return false, nil // the open item remembers it; clearing the flag sends it again
	case a.opt.ReadDigest != m.Digests.Read:
		return false, failure.Errorf(failure.Job, failure.Fingerprint,
			"job %s was started with read configuration %q and this reader has %q: deploy the one it was started with, or start the job again",
			a.ref.Job, m.Digests.Read, a.opt.ReadDigest)
	}
	return true, nil
}

// unreadable fails a message that does not decode. At its last delivery the
// reason is recorded in the ledger, if it knows the unit.
func (a *attempt) unreadable(ctx context.Context, cause error) error {
	d := a.delivery
	if d.ID == "" || d.Job == "" || d.Receives < d.Cap {
		return a.fail(ctx, cause)
	}
	meta, err := a.metas.read(ctx, d.Job)
	if err != nil {
		return a.fail(ctx, errors.Join(cause, err))
	}
	a.ref.Run = meta.Run
	a.item, err = ledger.Ask(ctx, func() (ledger.Item, error) { return a.ledger.Begin(ctx, a.ref, d.Receives, d.Cap) })
	if err != nil || a.item.State != ledger.Open || a.item.Run != meta.Run {
		return a.fail(ctx, errors.Join(cause, err))
	}
	return a.dead(ctx, cause, ledger.Cause{
		Reason: failure.UnsupportedDescriptor, Detail: cause.Error(), Record: -1,
		Objects: []unit.Object{{Key: a.item.FirstKey}},
	})
}
