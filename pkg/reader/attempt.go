package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/unit"
)

// attempt is the handling of one delivery.
type attempt struct {
	*Reader
	delivery feed.Delivery
	began    time.Time
	limits   limits
	unit     *unit.Unit // nil: the message does not decode
	ref      ledger.Ref
	meta     ledger.Meta
	probe    bool // the job is halted because its sink is down, and this unit may clear the halt
	start         // the latest one

	added   unit.Counts // what this delivery read and had acked
	charged time.Time   // memory time up to here is counted

	outcome outcome        // so far
	reason  failure.Reason // of an outcome other than success
	halted  error          // why this delivery halted the job
}

// start is a start of work on the unit: what the ledger had of it at that
// moment, and what has become of it since. A delivery that goes on after a
// pause starts several times.
type start struct {
	item   ledger.Item
	faulty []unit.Fault // the members that are known to be bad or overwritten
	total  unit.Counts  // of the unit, over all starts of work
}

// handle is Handle while the message is held.
func (a *attempt) handle(ctx context.Context) error {
	if err := a.decode(); err != nil {
		return a.unreadable(ctx, err)
	}
	if on, err := a.check(ctx); err != nil || !on {
		return err
	}
	for {
		if on, err := a.begin(ctx); err != nil || !on {
			return err
		}
		touched := a.touch(ctx)
		err := a.work(ctx)
		touched()
		if err != nil || a.outcome != paused || !a.limits.goesOn {
			return a.settle(ctx, err)
		}
		a.limits = a.limits.next(time.Now())
	}
}

// begin starts work on the item and reports whether there is any.
func (a *attempt) begin(ctx context.Context) (bool, error) {
	d := a.delivery
	item, err := ledger.Ask(ctx, func() (ledger.Item, error) { return a.ledger.Begin(ctx, a.ref, d.Receives, d.Cap) })
	if err != nil {
		return false, a.fail(ctx, err)
	}
	a.start = start{item: item}
	switch {
	case item.State == ledger.Done, item.Run > a.ref.Run:
		a.outcome = skipped
		return false, nil
	case item.Run < a.ref.Run: // entered before it was sent, so this cannot be the last word
		return false, a.fail(ctx, fmt.Errorf("run %d is not in the ledger yet", a.ref.Run))
	case item.State == ledger.Dead:
		return false, a.fail(ctx, fmt.Errorf("the unit is dead: %s", item.Cause.Detail))
	}
	a.faulty = slices.Clone(item.Faults)
	a.total = item.Counts
	a.total.Sinks = maps.Clone(a.total.Sinks)
	if err := a.join(ctx); err != nil {
		return false, a.fail(ctx, a.giveBack(ctx, err))
	}
	return true, nil
}

// join names this reader's chain and sinks as having worked on the job.
func (a *attempt) join(ctx context.Context) error {
	p := a.opt.Pipeline
	if p == "" || slices.Contains(a.meta.Pipelines, p) {
		return nil
	}
	if err := ledger.Retry(ctx, func() error { return a.ledger.Joined(ctx, a.ref.Job, p) }); err != nil {
		return err
	}
	joined := func(m *ledger.Meta) { m.Pipelines = append(slices.Clip(m.Pipelines), p) }
	a.metas.change(a.ref.Job, joined)
	joined(&a.meta)
	return nil
}

// work reads what is left of the unit and returns nil once it is done or paused.
// A panic below is a failed attempt like any other: left to the feed, it would
// never reach the ledger.
func (a *attempt) work(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failure.Errorf(failure.Unit, failure.Operator, "panic: %v\n%s", v, debug.Stack())
		}
	}()
	if !a.item.RestDone {
		return a.rest(ctx)
	}
	return a.members(ctx)
}

// rest reads everything but the faulty members. If there are any, the unit is
// not done: the rest is marked done, so that later deliveries read only those
// members.
func (a *attempt) rest(ctx context.Context) error {
	res, err := a.within(ctx, func(ctx context.Context) (pipe.Result, error) {
		return a.pipe.ReadUnit(ctx, a.reading(ctx, 0), a.item.Faults, a.found)
	})
	if err != nil {
		return err
	}
	a.count(res.Counts)
	if res.Cursor != nil {
		return a.pause(ctx, *res.Cursor)
	}
	if len(a.faulty) == 0 {
		return a.done(ctx)
	}
	if err := a.write(ctx, func(c unit.Counts) error { return a.ledger.RestDone(ctx, a.ref, a.item.Serial, c) }); err != nil {
		return err
	}
	a.item.RestDone = true
	return a.conclude(ctx)
}

// conclude ends the work on a unit of which all that can be read was acked.
// Overwritten members are looked at again even if other members are bad,
// because the unit may never be done.
func (a *attempt) conclude(ctx context.Context) error {
	if err := a.lookAgain(ctx); err != nil {
		return err
	}
	if bad := a.bad(); len(bad) > 0 {
		return fault(bad)
	}
	return a.done(ctx)
}

// found records a faulty member.
func (a *attempt) found(ctx context.Context, f unit.Fault) error {
	if a.overtaken(f) {
		return a.overwritten(ctx, f)
	}
	if err := ledger.Retry(ctx, func() error { return a.ledger.Fault(ctx, a.ref, a.item.Serial, f) }); err != nil {
		return err
	}
	a.note(f)
	return nil
}

// members reads the faulty members, starting with the one that the cursor is
// in.
func (a *attempt) members(ctx context.Context) error {
	faults := a.bad()
	if c := a.item.Cursor; c != nil {
		slices.SortStableFunc(faults, func(f, g unit.Fault) int {
			return cmp.Compare(series(g, c), series(f, c))
		})
	}
	recovered := false
	for _, f := range faults {
		begin := a.from(f)
		if recovered && a.limits.late() {
			return a.pause(ctx, begin)
		}
		res, err := a.within(ctx, func(ctx context.Context) (pipe.Result, error) {
			return a.pipe.ReadMember(ctx, a.reading(ctx, f.Member+1), f)
		})
		if failure.Is(err, failure.Member) { // still bad; the next one may not be
			if err := a.still(ctx, f, err); err != nil {
				return err
			}
			continue
		}
		if recovered && errors.Is(err, errOutOfTime) {
			return a.pause(ctx, begin)
		}
		if err != nil {
			return err
		}
		a.count(res.Counts)
		if res.Cursor != nil {
			return a.pause(ctx, *res.Cursor)
		}
		err = a.write(ctx, func(c unit.Counts) error { return a.ledger.Recovered(ctx, a.ref, a.item.Serial, f.Member, c) })
		if err != nil {
			return err
		}
		recovered = true
		a.forget(f.Member)
	}
	return a.conclude(ctx)
}

// from is the cursor to pause at before f is read: the item's own one while it
// is in the series of a member that is still bad, because what precedes it is
// counted; otherwise f's faulty record.
func (a *attempt) from(f unit.Fault) unit.Cursor {
	if c := a.item.Cursor; c != nil && slices.ContainsFunc(a.faulty, func(g unit.Fault) bool { return series(g, c) == 1 }) {
		return *c
	}
	return unit.Cursor{Series: f.Member + 1, Member: f.Member, Record: f.Record}
}

// series is 1 if the cursor is in the series of f's member, and 0 if not.
func series(f unit.Fault, c *unit.Cursor) int {
	if c.Series == f.Member+1 {
		return 1
	}
	return 0
}

// reading is what there is to read of a series.
func (a *attempt) reading(ctx context.Context, series int) pipe.Reading {
	r := pipe.Reading{Unit: a.unit, ID: a.ref.ID, Until: a.limits.pause}
	if c := a.item.Cursor; c != nil && c.Series == series {
		r.From = c
	}
	if a.probe {
		r.Acked = func() {
			if err := a.clear(ctx); err != nil { // tried again at the end
				a.opt.Log.WarnContext(ctx, "halt not cleared yet", "job", a.ref.Job, "error", err)
			}
		}
	}
	return r
}

// still records what the latest reading found wrong with a member.
func (a *attempt) still(ctx context.Context, f unit.Fault, err error) error {
	_, f.Reason = failure.Of(err)
	f.Detail = err.Error()
	if a.overtaken(f) {
		return a.overwritten(ctx, f)
	}
	a.note(f)
	return nil
}

// fault is the attempt's error while members are bad: that of the first of
// them.
func fault(bad []unit.Fault) error {
	f := slices.MinFunc(bad, func(f, g unit.Fault) int { return cmp.Compare(f.Member, g.Member) })
	return failure.Errorf(failure.Member, f.Reason, "%s", f.Detail)
}

// count adds what was read and acked.
func (a *attempt) count(c unit.Counts) {
	a.total.Add(c)
	a.added.Add(c)
}

// write makes a ledger call that stores the unit's counts, with the memory time
// up to now included.
func (a *attempt) write(ctx context.Context, call func(unit.Counts) error) error {
	if mb := a.opt.MemoryMB; mb > 0 {
		now := time.Now()
		a.total.MemoryTime += mb * now.Sub(a.charged).Milliseconds()
		a.charged = now
	}
	a.total.Overwritten = int64(len(a.faulty) - len(a.bad()))
	return ledger.Retry(ctx, func() error { return call(a.total) })
}
