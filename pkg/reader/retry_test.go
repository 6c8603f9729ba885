package reader_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

// flaky is a ledger of which each method fails so often before it works.
type flaky struct {
	ledger.Worker
	fails  int
	failed map[string]int // calls, of each method
}

func (f *flaky) fail(method string) error {
	if f.failed[method]++; f.failed[method] <= f.fails {
		return errors.New("the ledger is away")
	}
	return nil
}

func (f *flaky) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	if err := f.fail("meta"); err != nil {
		return ledger.Meta{}, err
	}
	return f.Worker.Meta(ctx, job)
}

func (f *flaky) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (ledger.Item, error) {
	if err := f.fail("begin"); err != nil {
		return ledger.Item{}, err
	}
	return f.Worker.Begin(ctx, r, receives, limit)
}

func (f *flaky) Fault(ctx context.Context, r ledger.Ref, serial int, bad ledger.Fault) error {
	return errors.Join(f.fail("fault"), f.Worker.Fault(ctx, r, serial, bad)) // done, but its answer is lost
}

func (f *flaky) RestDone(ctx context.Context, r ledger.Ref, serial int, c ledger.Counts) error {
	return errors.Join(f.fail("rest done"), f.Worker.RestDone(ctx, r, serial, c))
}

func (f *flaky) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c ledger.Counts) error {
	return errors.Join(f.fail("recovered"), f.Worker.Recovered(ctx, r, serial, member, c))
}

func (f *flaky) Done(ctx context.Context, r ledger.Ref, c ledger.Counts) (ledger.Tally, error) {
	t, err := f.Worker.Done(ctx, r, c)
	return t, errors.Join(f.fail("done"), err)
}

func (f *flaky) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	t, err := f.Worker.Dead(ctx, r, serial, c)
	return t, errors.Join(f.fail("dead"), err)
}

func (f *flaky) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	return errors.Join(f.fail("give back"), f.Worker.GiveBack(ctx, r, serial))
}

func (f *flaky) Halt(ctx context.Context, job string, h ledger.Halt) (bool, error) {
	if err := f.fail("halt"); err != nil {
		return false, err
	}
	return f.Worker.Halt(ctx, job, h)
}

// flaky puts a ledger in front of the kit's whose methods fail so often.
func (k *kit) flaky(fails int) *flaky {
	f := &flaky{Worker: k.ledger, fails: fails, failed: map[string]int{}}
	o := quiet()
	o.Halted = func(_ context.Context, _ *unit.Unit, h ledger.Halt) { k.halts = append(k.halts, h) }
	k.reader = reader.New(f, k.pipe, o)
	return f
}

// No call but a Begin whose answer was lost costs an attempt.
func TestAFaultOfTheLedgerThatPassesCostsTimeOnly(t *testing.T) {
	ways := map[string]struct {
		calls []string
		walk  func(k *kit) error
	}{
		"a unit with a faulty member": {[]string{"meta", "begin", "fault", "rest done", "recovered", "done"}, func(k *kit) error {
			k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
				return found(ctx, unit.Fault{Member: 1, Record: 4, Framed: 4, Reason: failure.Undecodable, Detail: "b: broken"})
			}
			if err := k.deliver(k.t.Context()); !failure.Is(err, failure.Member) {
				return fmt.Errorf("got %w, want the member's fault", err)
			}
			if err := k.deliver(k.t.Context()); err != nil {
				return err
			}
			if c := k.census(); c.Done != 1 || c.Counts.In != 11 {
				return fmt.Errorf("census %+v", c)
			}
			return nil
		}},
		"a unit given up": {[]string{"dead"}, func(k *kit) error {
			k.n = attempts - 1
			k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
				return failure.Errorf(failure.Unit, failure.SinkRejected, "sink: refused")
			}
			_ = k.deliver(k.t.Context())
			if i := k.item(); i.State != ledger.Dead {
				return fmt.Errorf("item %+v", i)
			}
			return nil
		}},
		"a job halted": {[]string{"give back", "halt"}, func(k *kit) error {
			k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
				return failure.Errorf(failure.Job, failure.Denied, "denied")
			}
			if err := k.deliver(k.t.Context()); err != nil {
				return err
			}
			if i := k.item(); i.Attempts != 0 || len(k.halts) != 1 {
				return fmt.Errorf("item %+v, %d halts", i, len(k.halts))
			}
			return nil
		}},
		"a message that is no unit": {[]string{"meta", "begin", "dead"}, func(k *kit) error {
			d := feed.Delivery{Message: feed.Message{ID: k.unit.ID(), Job: "j", Body: []byte(`{"v":99}`)}, Receives: attempts, Cap: attempts}
			_ = k.reader.Handle(k.t.Context(), d)
			if i := k.item(); i.State != ledger.Dead || i.Cause.Reason != failure.UnsupportedDescriptor {
				return fmt.Errorf("item %+v", i)
			}
			return nil
		}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				f := k.flaky(3)
				if err := way.walk(k); err != nil {
					t.Error(err)
				}
				for _, call := range way.calls {
					if f.failed[call] < 4 {
						t.Errorf("%s was called %d times, want 4", call, f.failed[call])
					}
				}
			})
		})
	}
}

func TestAStopEndsTheWaitForALedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.flaky(99)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := k.deliver(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWhatTheLedgerDecidedIsNotAskedAgain(t *testing.T) {
	k := newKit(t)
	f := k.flaky(0)
	f.Worker = unknown{k.ledger}
	if err := k.deliver(t.Context()); !errors.Is(err, ledger.ErrNoUnit) || f.failed["begin"] != 1 {
		t.Errorf("%v after %d calls", err, f.failed["begin"])
	}
}

// unknown is a ledger without units.
type unknown struct{ ledger.Worker }

func (unknown) Begin(context.Context, ledger.Ref, int, int) (ledger.Item, error) {
	return ledger.Item{}, ledger.ErrNoUnit
}

func TestAnAttemptThatCannotBeGivenBackHaltsNothingYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
			return failure.Errorf(failure.Job, failure.Denied, "no")
		}
		k.through(quiet(), func(call string, apply func() error) error {
			if call == "give back" {
				return errAway
			}
			return apply()
		})
		err := k.deliver(t.Context())
		if !errors.Is(err, errAway) || k.meta().Halt != nil {
			t.Errorf("%v, halt %v", err, k.meta().Halt)
		}
		if d := feed.Delay(err); d != 2*time.Second {
			t.Errorf("due again after %v", d)
		}
	})
}
