package reader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// maxAgain is how many times in a row a key is looked at again when it is
// overwritten faster than it is read.
const maxAgain = 3

// announced reports whether it is for this reader to find out what became of
// the unit's objects: they come from events, and no listing will.
func (a *attempt) announced() bool {
	return a.unit.Origin == unit.FromEvent && a.opt.Announced != nil && a.opt.Stat != nil
}

// overtaken reports whether f is no fault: a newer version has replaced the
// member. Nothing replaces a version that is pinned by its id.
func (a *attempt) overtaken(f unit.Fault) bool {
	return a.announced() && f.Reason == failure.ETagDrift && a.unit.Objects[f.Member].Version == ""
}

// overwritten records, in the item and in the member's claim, in one write,
// that a newer version has replaced the member.
func (a *attempt) overwritten(ctx context.Context, f unit.Fault) error {
	f.Overwritten = true
	o := a.unit.Objects[f.Member]
	err := ledger.Retry(ctx, func() error { return a.opt.Announced.Overwritten(ctx, a.ref, a.item.Serial, f, o) })
	if err != nil {
		return err
	}
	a.note(f)
	return nil
}

// bad are the members that keep the unit from being done.
func (a *attempt) bad() (bad []unit.Fault) {
	for _, f := range a.faulty {
		if !f.Overwritten {
			bad = append(bad, f)
		}
	}
	return bad
}

// lookAgain looks up what is current now under the keys of overwritten members.
//
// The order matters: by now all of them are marked, for good. A version that is
// put after the mark can be claimed, even if it is the very one that was
// announced here. A version that was put before the mark, and whose event ran
// into the unmarked claim and was dropped, is found now. If the look came first
// and the mark second, a version put between the two would be lost.
//
// A delivery that crashes after this looks again: a key's todo replaces the one
// before it, and goes through the claims like an event.
func (a *attempt) lookAgain(ctx context.Context) error {
	for i := range a.faulty {
		f := &a.faulty[i]
		if !f.Overwritten {
			continue
		}
		if !a.announced() { // by another configuration than this reader's
			f.Overwritten = false
			continue
		}
		was := a.unit.Objects[f.Member]
		now, err := a.stat(ctx, was.Key)
		switch {
		case failure.Is(err, failure.Member):
			// Gone, as far as this delivery can tell. The mark stays: if the object comes
			// back, the next delivery finds it, and the unit ends.
			_, f.Reason = failure.Of(err)
			f.Overwritten, f.Detail = false, err.Error()
		case err != nil:
			return fmt.Errorf("look again at overwritten %q: %w", was.Key, err)
		default:
			if err := a.again(ctx, was, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// again has what is current under a key claimed, as if an event had announced
// it.
//
// After a few rounds, a key that keeps being overwritten is left to its events:
// each put sends one, which finds no claim, or the claim of a unit that will
// mark it and look again as this one did. The exception is the version that was
// announced here: its event may have come before the mark, and nobody else
// would see to it.
func (a *attempt) again(ctx context.Context, was, now unit.Object) error {
	if now.Again = was.Again + 1; now.Again > maxAgain && now.ETag != was.ETag {
		a.opt.Log.InfoContext(ctx, "key left to its events", "job", a.ref.Job, "unit", a.ref.ID,
			"reason", "overwritten", "key", clip(was.Key, keyBytes), "again", was.Again)
		return nil
	}
	return ledger.Retry(ctx, func() error { return a.opt.Announced.Again(ctx, a.ref.Job, now) })
}

// stat looks up what is current under a key, and repeats that while it may
// help.
func (a *attempt) stat(ctx context.Context, key string) (o unit.Object, err error) {
	p := backoff.Policy{Base: 100 * time.Millisecond, Max: 2 * time.Second, Retries: 5}
	passing := func(err error) bool { return failure.Is(err, failure.Transient) }
	err = backoff.Retry(ctx, p, passing, func() (err error) {
		o, err = a.opt.Stat(ctx, a.unit.Bucket, key)
		return err
	})
	return o, err
}

// adopt gives this reader's fingerprint to a continuous job that has none, and
// returns the job with the fingerprint that it has then.
func (a *attempt) adopt(ctx context.Context, m ledger.Meta) (ledger.Meta, error) {
	if !m.Continuous || m.Digests.Read != "" || m.Halt != nil || m.State.Ended() || m.Run != a.ref.Run || a.opt.Announced == nil {
		return m, nil
	}
	read, err := ledger.Ask(ctx, func() (string, error) { return a.opt.Announced.Adopt(ctx, a.ref.Job, m.Run, a.opt.ReadDigest) })
	if err != nil {
		return m, err
	}
	a.metas.change(a.ref.Job, func(m *ledger.Meta) { m.Digests.Read = read })
	m.Digests.Read = read
	return m, nil
}

// note replaces what is known of f's member with f.
func (a *attempt) note(f unit.Fault) {
	a.forget(f.Member)
	a.faulty = append(a.faulty, f)
}

func (a *attempt) forget(member int) {
	a.faulty = slices.DeleteFunc(a.faulty, func(f unit.Fault) bool { return f.Member == member })
}
