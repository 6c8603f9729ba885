package reader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

func TestAUnitThatGoesWellIsDoneThenAcked(t *testing.T) {
	k := newKit(t)
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := k.census(); c.Done != 1 || c.Counts.In != 10 {
		t.Errorf("census %+v", c)
	}
	if k.settled != 1 {
		t.Errorf("told %d times that the job may have ended", k.settled)
	}
	if err := k.deliver(t.Context()); err != nil {
		t.Errorf("delivered again: %v", err)
	}
	if len(k.pipe.read) != 1 {
		t.Errorf("read %v: a done unit was read again", k.pipe.read)
	}
}

func TestAFaultyMemberIsReadAloneOnceTheRestIsDelivered(t *testing.T) {
	k := newKit(t)
	bad := true
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
		return found(ctx, unit.Fault{Member: 1, Record: 4, Framed: 4, Reason: failure.Undecodable, Detail: "b: broken"})
	}
	k.pipe.member = func(_ context.Context, f unit.Fault) error {
		if f.Record != 4 {
			t.Errorf("read from record %d, want 4", f.Record)
		}
		if bad {
			return failure.Errorf(failure.Member, failure.Undecodable, "b: still broken")
		}
		return nil
	}
	if err := k.deliver(t.Context()); err == nil {
		t.Fatal("acked with a faulty member")
	}
	if i := k.item(); !i.RestDone || len(i.Faults) != 1 || i.State != ledger.Open {
		t.Fatalf("item %+v", i)
	}
	bad = false
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := k.census(); c.Done != 1 || c.Counts.In != 11 {
		t.Errorf("census %+v: want the rest and the member, each once", c)
	}
	if got := strings.Join(k.pipe.read, " "); got != "rest b" {
		t.Errorf("read %q", got)
	}
}

func TestTheLastFailureMakesTheUnitDeadAndNamesOnlyTheBad(t *testing.T) {
	k := newKit(t)
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
		return errors.Join(
			found(ctx, unit.Fault{Member: 0, Record: 0, Reason: failure.NotFound, Detail: "a: gone"}),
			found(ctx, unit.Fault{Member: 2, Record: 7, Framed: 7, Reason: failure.Undecodable, Detail: "c: broken"}))
	}
	k.pipe.member = func(_ context.Context, f unit.Fault) error {
		if f.Member == 0 {
			return nil // it is back
		}
		return failure.Errorf(failure.Member, failure.Undecodable, "c: broken still")
	}
	var delay time.Duration
	for range attempts {
		err := k.deliver(t.Context())
		if err == nil {
			t.Fatal("acked")
		}
		if d := feed.Delay(err); k.n < attempts && d <= 0 {
			t.Errorf("attempt %d is to be tried again after %v", k.n, d)
		} else if k.n < attempts {
			delay = d
		}
	}
	if delay > 2*time.Second {
		t.Errorf("delay %v", delay)
	}
	i := k.item()
	if i.State != ledger.Dead || i.Cause == nil {
		t.Fatalf("item %+v", i)
	}
	c := i.Cause
	if c.Reason != failure.Undecodable || len(c.Objects) != 1 || c.Objects[0].Key != "c" || c.Record != 7 {
		t.Errorf("cause %+v", c)
	}
	if len(c.Faults) != 1 || c.Faults[0].Detail != "c: broken still" {
		t.Errorf("faults %+v, want the latest word on c", c.Faults)
	}
	if k.settled != 1 {
		t.Errorf("told %d times that the job may have ended", k.settled)
	}
	if err := k.deliver(t.Context()); err == nil {
		t.Error("a message of a dead unit was acked")
	}
}

func TestEveryBadObjectHasItsOwnReason(t *testing.T) {
	k := newKit(t)
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
		return errors.Join(
			found(ctx, unit.Fault{Member: 2, Record: 7, Framed: 7, Reason: failure.Undecodable, Detail: "c: broken"}),
			found(ctx, unit.Fault{Member: 0, Reason: failure.NotFound, Detail: "a: gone"}))
	}
	k.pipe.member = func(_ context.Context, f unit.Fault) error {
		return failure.Errorf(failure.Member, f.Reason, "%s", f.Detail)
	}
	for range attempts {
		if err := k.deliver(t.Context()); err == nil {
			t.Fatal("acked")
		}
	}
	c := k.item().Cause
	if len(c.Objects) != 2 || len(c.Faults) != 2 || c.Reason != failure.NotFound || c.Detail != "a: gone" || c.Record != 0 {
		t.Fatalf("cause %+v", c)
	}
	for i, want := range []unit.Fault{{Reason: failure.NotFound, Detail: "a: gone"}, {Member: 2, Record: 7, Framed: 7, Reason: failure.Undecodable, Detail: "c: broken"}} {
		if c.Faults[i] != want || c.Objects[i].Key != k.unit.Objects[want.Member].Key {
			t.Errorf("%s: %+v, want %+v", c.Objects[i].Key, c.Faults[i], want)
		}
	}
}

func TestAUnitWhoseRestWasNeverDeliveredNamesAllItsObjects(t *testing.T) {
	k := newKit(t)
	k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
		return failure.Errorf(failure.Unit, failure.SinkRejected, "sink: refused")
	}
	for range attempts {
		if err := k.deliver(t.Context()); err == nil {
			t.Fatal("acked")
		}
	}
	if c := k.item().Cause; c == nil || len(c.Objects) != 3 || c.Reason != failure.SinkRejected || c.Record != -1 {
		t.Errorf("cause %+v", c)
	}
}

// INV-9, and trap 5 of the model: what no unit can help counts against none.
func TestAHaltBurnsNoAttempt(t *testing.T) {
	k := newKit(t)
	k.n = attempts - 1 // the next delivery is the last one
	k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
		return failure.Errorf(failure.Job, failure.Denied, "s3:GetObject on arn:aws:s3:::b/a: denied")
	}
	if err := k.deliver(t.Context()); err != nil {
		t.Fatalf("not acked: %v", err)
	}
	if i := k.item(); i.State != ledger.Open || i.Attempts != 0 || i.Last {
		t.Errorf("item %+v: the attempt was not given back", i)
	}
	meta := k.meta()
	if meta.Halt == nil || meta.Halt.Reason != failure.Denied || !strings.Contains(meta.Halt.Detail, "arn:aws:s3:::b/a") {
		t.Errorf("halt %+v", meta.Halt)
	}
	if err := k.deliver(t.Context()); err != nil {
		t.Errorf("a unit of a halted job was not acked: %v", err)
	}
	if len(k.pipe.read) != 1 || len(k.halts) != 1 {
		t.Errorf("read %v, told of %d halts", k.pipe.read, len(k.halts))
	}
}

func TestAnotherReadConfigurationHaltsTheJobShowingBoth(t *testing.T) {
	k := newKit(t)
	k.reader = reader.New(k.ledger, k.pipe, reader.Options{ReadDigest: "other", Log: quiet().Log})
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	meta := k.meta()
	if h := meta.Halt; h == nil || h.Reason != failure.Fingerprint || !strings.Contains(h.Detail, `"r"`) || !strings.Contains(h.Detail, `"other"`) {
		t.Errorf("halt %+v", h)
	}
	if len(k.pipe.read) > 0 {
		t.Error("read all the same")
	}
}

func TestAStopGivesTheAttemptBack(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, _ func(context.Context, unit.Fault) error) error {
		cancel()
		return ctx.Err()
	}
	if err := k.deliver(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if i := k.item(); i.State != ledger.Open || i.Attempts != 0 {
		t.Errorf("item %+v", i)
	}
}

// Trap 1 of the model: a reader that froze must not mark what a later one has
// found otherwise.
func TestAReaderThatWasOvertakenIsFenced(t *testing.T) {
	k := newKit(t)
	var inner error
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
		k.pipe.rest = nil
		ref := ledger.Ref{Job: "j", Run: 1, ID: k.unit.ID()}
		if _, err := k.ledger.Begin(ctx, ref, 2, attempts); err != nil { // another reader starts
			t.Fatal(err)
		}
		inner = found(ctx, unit.Fault{Member: 1, Record: 1, Reason: failure.Undecodable})
		return inner
	}
	err := k.deliver(t.Context())
	if !errors.Is(err, ledger.ErrFenced) || !errors.Is(inner, ledger.ErrFenced) {
		t.Fatalf("got %v and %v, want it to be fenced", err, inner)
	}
	// At once it would fence the other one.
	if d := feed.Delay(err); d != 2*time.Second {
		t.Errorf("due again after %v", d)
	}
	if i := k.item(); len(i.Faults) > 0 {
		t.Errorf("item %+v", i)
	}
}

func TestAPanicBelowIsAFailedAttempt(t *testing.T) {
	k := newKit(t)
	k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error { panic("boom") }
	for range attempts {
		err := k.deliver(t.Context())
		if _, reason := failure.Of(err); reason != failure.Operator || !strings.Contains(err.Error(), "boom") {
			t.Fatalf("got %v", err)
		}
	}
	if i := k.item(); i.State != ledger.Dead || i.Cause.Reason != failure.Operator {
		t.Errorf("item %+v", i)
	}
}

func TestADescriptorOfAnotherVersionDiesUnread(t *testing.T) {
	k := newKit(t)
	for n := range attempts {
		err := k.reader.Handle(t.Context(), feed.Delivery{
			Message:  feed.Message{ID: k.unit.ID(), Job: "j", Body: []byte(`{"v":99}`)},
			Receives: n + 1, Cap: attempts,
		})
		if _, reason := failure.Of(err); reason != failure.UnsupportedDescriptor {
			t.Fatalf("got %v", err)
		}
	}
	if i := k.item(); i.State != ledger.Dead || i.Cause.Reason != failure.UnsupportedDescriptor {
		t.Errorf("item %+v", i)
	}
	if len(k.pipe.read) > 0 {
		t.Error("read all the same")
	}
}

func TestUnitsOfEarlierRunsAreAcked(t *testing.T) {
	k := newKit(t)
	if err := k.deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := k.ledger.Conclude(t.Context(), "j", 1, 0, ledger.Completed); err != nil {
		t.Fatal(err)
	}
	if _, err := k.ledger.Start(t.Context(), "j", ledger.Start{Token: "again", Digests: ledger.Digests{Plan: "p", Read: "r"}}); err != nil {
		t.Fatal(err)
	}
	k.pipe.read = nil
	if err := k.deliver(t.Context()); err != nil || len(k.pipe.read) > 0 {
		t.Errorf("got %v, read %v", err, k.pipe.read)
	}
}

// lost is a ledger that cannot be written.
type lost struct{ ledger.Worker }

func (lost) Done(context.Context, ledger.Ref, unit.Counts) (ledger.Tally, error) {
	return ledger.Tally{}, errors.New("the ledger is away")
}

// INV-7.
func TestAUnitWhoseRunEndsBeforeItBeginsIsLeftAlone(t *testing.T) {
	k := newKit(t)
	k.through(quiet(), func(call string, apply func() error) error {
		if m := k.meta(); call == "begin" && m.Run == 1 { // checked by then
			if err := k.ledger.Conclude(t.Context(), "j", 1, m.Generation, ledger.Failed); err != nil {
				t.Error(err)
			}
			if _, err := k.ledger.Start(t.Context(), "j", ledger.Start{Token: "next"}); err != nil {
				t.Error(err)
			}
		}
		return apply()
	})
	if err := k.deliver(t.Context()); !errors.Is(err, ledger.ErrState) || feed.Delay(err) != 2*time.Second {
		t.Errorf("got %v, due again after %v", err, feed.Delay(err))
	}
	if err := k.deliver(t.Context()); err != nil || len(k.pipe.read) > 0 {
		t.Errorf("got %v, read %v", err, k.pipe.read)
	}
}

func TestAUnitWhoseEndCannotBeWrittenIsNotAcked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.reader = reader.New(lost{k.ledger}, k.pipe, quiet())
		if err := k.deliver(t.Context()); err == nil {
			t.Error("acked")
		}
	})
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
			return errors.New("unknown")
		}
		body, err := k.unit.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			err := k.reader.Handle(t.Context(), feed.Delivery{
				Message: feed.Message{ID: k.unit.ID(), Job: "j", Body: body}, Receives: n + 1, Cap: 100,
			})
			full := min(50*time.Millisecond<<n, 2*time.Second)
			if d := feed.Delay(err); d < full/2 || d > full {
				t.Errorf("attempt %d: %v, want %v to %v", n+1, d, full/2, full)
			}
		}
	})
}

// What is called when the job may have ended is no part of the unit.
func TestAUnitThatIsDoneIsNotGivenUpBecauseNobodyCouldBeTold(t *testing.T) {
	k := newKit(t)
	k.n = attempts - 1
	o := quiet()
	away := errors.New("the finalizer is away")
	o.Settled = func(context.Context, string) error { return away }
	k.through(o, func(call string, apply func() error) error {
		if call == "dead" {
			t.Error("given up")
		}
		return apply()
	})
	if err := k.deliver(t.Context()); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	if c := k.census(); c.Done != 1 {
		t.Errorf("census %+v", c)
	}
}
