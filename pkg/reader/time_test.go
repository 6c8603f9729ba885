package reader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

// slowly is a pipe that is busy for as long as that, or until it is stopped.
func (k *kit) slowly(d time.Duration) {
	k.pipe.rest = func(ctx context.Context, _ []unit.Fault, _ func(context.Context, unit.Fault) error) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return fmt.Errorf("read: %w", ctx.Err())
		}
	}
}

func TestAMessageIsRenewedFromTheFirstCallToTheLast(t *testing.T) {
	for _, c := range []struct {
		visibility, settling, busy time.Duration
		renewed, touched           int32
	}{
		{0, 0, 10*time.Minute + time.Second, 11, 3},
		{30 * time.Second, time.Minute, 61 * time.Second, 5, 3},
		{10 * time.Minute, time.Hour, 6*time.Minute + time.Second, 7, 2},
		{0, 0, time.Second, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			o := quiet()
			o.Visibility, o.Settling = c.visibility, c.settling
			var renewed, touched atomic.Int32
			var over atomic.Bool
			k.use(o)
			k.reader = reader.New(stage{k.ledger, func(call string, apply func() error) error {
				if call == "touch" {
					touched.Add(1)
				}
				if renewed.Load() == 0 || over.Load() {
					t.Errorf("%s after %d renewals, over %v", call, renewed.Load(), over.Load())
				}
				return apply()
			}}, k.pipe, o)
			k.slowly(c.busy)
			want := c.visibility
			if want == 0 {
				want = 2 * time.Minute
			}
			d := k.delivery()
			d.Extend = func(_ context.Context, d time.Duration) error {
				if renewed.Add(1); d != want || over.Load() {
					t.Errorf("renewed for %v, over %v", d, over.Load())
				}
				return nil
			}
			if err := k.reader.Handle(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			over.Store(true)
			time.Sleep(time.Hour)
			if r, n := renewed.Load(), touched.Load(); r != c.renewed || n != c.touched {
				t.Errorf("%+v: renewed %d times, touched %d times", c, r, n)
			}
		})
	}
}

// Of two messages of one unit, as a re-send makes them, each would else keep
// fencing the reader of the other.
func TestAReaderThatWasFencedLeavesTheOtherOneItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.pipe.pause = []unit.Cursor{{Member: 1}}
		k.through(quiet(), func(call string, apply func() error) error {
			if call == "pause" { // another reader has begun
				if _, err := k.ledger.Begin(t.Context(), ledger.Ref{Job: "j", Run: 1, ID: k.unit.ID()}, 1, attempts); err != nil {
					t.Error(err)
				}
			}
			return apply()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		d := k.delivery()
		d.Extend = func(context.Context, time.Duration) error { return nil }
		err := k.reader.Handle(ctx, d)
		if !errors.Is(err, ledger.ErrFenced) || feed.Delay(err) != 15*time.Minute {
			t.Errorf("%v, due again after %v", err, feed.Delay(err))
		}
	})
}

func TestALastAttemptShowsAtOnceThatItIsWorkedOn(t *testing.T) {
	for receives, want := range map[int]int{attempts - 1: 0, attempts: 1} {
		k := newKit(t)
		var calls []string
		k.through(quiet(), func(call string, apply func() error) error {
			calls = append(calls, call)
			return apply()
		})
		k.pipe.rest = func(context.Context, []unit.Fault, func(context.Context, unit.Fault) error) error {
			calls = append(calls, "read")
			return nil
		}
		d := k.delivery()
		d.Receives = receives
		d.Extend = func(context.Context, time.Duration) error { return nil }
		if err := k.reader.Handle(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if n := slices.Index(calls, "read") - slices.Index(calls, "begin") - 1; n != want {
			t.Errorf("delivery %d: calls %q, want %d between begin and read", receives, calls, want)
		}
	}
}

func TestAMessageThatCannotBeRenewedIsWorkedOnAllTheSame(t *testing.T) {
	for name, hang := range map[string]bool{"refused": false, "without an answer": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.slowly(10 * time.Minute)
				d := k.delivery()
				var calls atomic.Int32
				d.Extend = func(ctx context.Context, _ time.Duration) error {
					calls.Add(1)
					if hang {
						<-ctx.Done()
					}
					return errors.New("stale receipt")
				}
				if err := k.reader.Handle(t.Context(), d); err != nil || calls.Load() < 5 {
					t.Errorf("%v after %d calls", err, calls.Load())
				}
				if c := k.census(); c.Done != 1 {
					t.Errorf("census %+v", c)
				}
			})
		})
	}
}

func TestARenewalUnderWayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.slowly(90 * time.Second)
		d := k.delivery()
		var under atomic.Int32
		d.Extend = func(ctx context.Context, _ time.Duration) error {
			if time.Since(began()) < time.Minute {
				return nil
			}
			under.Add(1)
			defer under.Add(-1)
			<-ctx.Done()
			time.Sleep(time.Second) // as long as it takes to give up
			return ctx.Err()
		}
		if err := k.reader.Handle(t.Context(), d); err != nil || under.Load() != 0 {
			t.Errorf("%v with %d renewals under way", err, under.Load())
		}
	})
}

// began is when a bubble of synctest begins.
func began() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// limited delivers the unit under a deadline, as a function is called.
func (k *kit) limited(d time.Duration) error {
	ctx, cancel := context.WithTimeout(k.t.Context(), d)
	defer cancel()
	m := k.delivery()
	m.Extend = func(context.Context, time.Duration) error { return nil }
	return k.reader.Handle(ctx, m)
}

// However little time there is: the point to pause at is ahead of the stop, and
// that is ahead of the end.
func TestTinyTimeoutsScaleTheReserveDown(t *testing.T) {
	for _, limit := range []time.Duration{40 * time.Microsecond, time.Millisecond, time.Second, 10 * time.Second, time.Minute, 15 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			began := time.Now()
			k.slowly(limit) // longer than there is
			err := k.limited(limit)
			if _, reason := failure.Of(err); reason != failure.Deadline {
				t.Fatalf("%v: %v", limit, err)
			}
			stopped := time.Since(began)
			k.pipe.rest = nil
			if err := k.limited(limit); err != nil {
				t.Fatal(err)
			}
			pause := k.pipe.asked[0].Until.Sub(began) - stopped
			reserve := min(15*time.Second, limit/4)
			if pause != limit-reserve || stopped != limit-reserve/3 {
				t.Errorf("of %v: pauses at %v, stopped at %v", limit, pause, stopped)
			}
		})
	}
}

func TestNoTimeAtAllIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		for _, limit := range []time.Duration{0, -time.Second} {
			if err := k.limited(limit); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: %v", limit, err)
			}
			if i := k.item(); i.Attempts != 0 || len(k.pipe.read) > 0 {
				t.Errorf("%v: item %+v", limit, i)
			}
		}
	})
}

func TestTimeThatIsUpWithoutProgressIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.slowly(time.Hour)
		for n := range attempts {
			err := k.limited(time.Minute)
			if _, reason := failure.Of(err); reason != failure.Deadline || errors.Is(err, ledger.ErrFenced) {
				t.Fatalf("got %v", err)
			}
			if i := k.item(); i.Attempts != n+1 {
				t.Errorf("item %+v", i)
			}
		}
		if i := k.item(); i.State != ledger.Dead || i.Cause.Reason != failure.Deadline {
			t.Errorf("item %+v", i)
		}
	})
}

func TestAStopBeforeTheTimeIsUpIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.slowly(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		time.AfterFunc(time.Second, cancel)
		m := k.delivery()
		m.Extend = func(context.Context, time.Duration) error { return nil }
		if err := k.reader.Handle(ctx, m); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if i := k.item(); i.Attempts != 0 {
			t.Errorf("item %+v", i)
		}
	})
}

// What is found at the last moment is what counts, and not the time.
func TestAFaultThatTimeDoesNotExplainStays(t *testing.T) {
	for _, want := range []failure.Reason{failure.Denied, failure.Undecodable} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.pipe.rest = func(ctx context.Context, _ []unit.Fault, _ func(context.Context, unit.Fault) error) error {
				<-ctx.Done()
				if want == failure.Denied {
					return errors.Join(ctx.Err(), failure.Errorf(failure.Job, want, "403"))
				}
				return errors.Join(ctx.Err(), failure.Errorf(failure.Member, want, "changed"))
			}
			err := k.limited(time.Minute)
			if _, reason := failure.Of(err); want == failure.Undecodable && reason != want {
				t.Errorf("got %v", err)
			}
			if h := k.meta().Halt; want == failure.Denied && (err != nil || h == nil || h.Reason != want) {
				t.Errorf("got %v, halt %+v", err, h)
			}
		})
	}
}

func TestAUnitThatIsStoppedGoesOnFromTheLastSegmentThatWasAcked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.time, w.writing = time.Minute, 40*time.Second // the second block would be acked too late
		if err := w.receive(); err != nil {
			t.Fatalf("not acked: %v", err)
		}
		if i := w.items()[0]; i.Cursor == nil || i.Cursor.Member != 1 || i.Counts.In != 2 || i.Attempts != 0 {
			t.Errorf("item %+v", i)
		}
		w.settle()
		w.exact()
	})
}

// In one process nothing sends a unit again: it goes on by itself.
func TestAUnitsTimeInOneProcessWritesItsProgress(t *testing.T) {
	lost := errors.New("the sink is lost")
	for _, c := range []struct {
		says string
		sink error // of the last block
		done int
		rows int
	}{
		{"to the end", nil, 1, 6},
		{"to a stretch that fails", lost, 0, 4},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				local := memledger.New()
				w := newWorld(t)
				list(t, local, "token", w.unit)
				w.writing = 50 * time.Second
				w.sink = func() error {
					if len(w.rows) < 4 {
						return nil
					}
					return c.sink
				}
				calls := map[string]int{}
				s := stage{local, func(call string, apply func() error) error {
					calls[call]++
					return apply()
				}}
				o := quiet()
				o.UnitTime = time.Minute
				err := reader.New(s, w, o).Handle(t.Context(), feed.Delivery{Message: w.messages[0].Message, Receives: 1, Cap: 2})
				census, e := local.Prove(t.Context(), "j", 1)
				if !errors.Is(err, c.sink) || e != nil || census.Done != c.done || len(w.rows) != c.rows {
					t.Errorf("%v, %v: %+v, rows %v", err, e, census, w.rows)
				}
				if calls["pause"] != 2 || calls["begin"] != 3 {
					t.Errorf("it paused %d times and began %d times, want 2 and 3", calls["pause"], calls["begin"])
				}
				if c.done == 1 && census.Counts.In != int64(c.rows) {
					t.Errorf("%d records counted", census.Counts.In)
				}
			})
		})
	}
}

func TestTheMemorysTimeIsCountedOfWhatEndsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		o := quiet()
		o.MemoryMB = 100
		k.use(o)
		k.pipe.rest = func(ctx context.Context, _ []unit.Fault, found func(context.Context, unit.Fault) error) error {
			time.Sleep(3 * time.Second)
			return errors.Join(
				found(ctx, unit.Fault{Member: 1, Record: 4, Framed: 4, Reason: failure.Undecodable}),
				found(ctx, unit.Fault{Member: 2, Record: 4, Framed: 4, Reason: failure.Undecodable}))
		}
		slow := true
		k.pipe.member = func(context.Context, unit.Fault) error {
			time.Sleep(time.Second)
			if slow {
				return errors.New("unknown")
			}
			return nil
		}
		_ = k.deliver(t.Context())
		_ = k.deliver(t.Context()) // a failed attempt
		slow = false
		if err := k.deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c := k.census().Counts; c.MemoryTime != 5000*100 || c.In != 12 {
			t.Errorf("counts %+v", c)
		}
	})
}
