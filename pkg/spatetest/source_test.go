package spatetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
)

func push(t *testing.T, s *spatetest.Source, key, data string) {
	t.Helper()
	if err := s.Push(key, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func wait(t *testing.T, s *spatetest.Source) {
	t.Helper()
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsPushedIsStoredWhenWaitReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := spatetest.Capture(t, capturesink.Options{})
		s := spatetest.Start(t, spatetest.Job{Sink: rows})
		wait(t, s) // for nothing
		for i := range 50 {
			push(t, s, fmt.Sprintf("k-%d", i), fmt.Sprintf("%d\n", i))
			if i%10 == 0 {
				wait(t, s)
				if n := len(rows.Rows()); n != i+1 {
					t.Fatalf("%d rows after %d objects", n, i+1)
				}
			}
		}
		r, err := s.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.State != report.Completed || r.Units.Done != 50 || r.Records.Out != 50 || r.Objects.Listed != 50 {
			t.Errorf("report %+v", r)
		}
		if len(rows.Open()) != 0 {
			t.Error("a series was not committed")
		}
	})
}

func TestAnObjectMayComeWhileAnotherIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, end := make(chan struct{}), make(chan struct{})
		rows := spatetest.Capture(t, capturesink.Options{Script: func(_ int, c capturesink.Call) capturesink.Outcome {
			if string(c.Block.Data) == "slow\n" {
				close(began)
				<-end
			}
			return capturesink.OK
		}})
		s := spatetest.Start(t, spatetest.Job{Sink: rows})
		push(t, s, "a", "slow\n")
		<-began
		push(t, s, "b", "quick\n")
		synctest.Wait()
		if got := rows.Rows(); len(got) != 1 || got[0] != "quick" {
			t.Errorf("rows %q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := s.Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "a is open") || strings.Contains(err.Error(), "b is open") {
			t.Errorf("got %v", err)
		}
		close(end)
		wait(t, s)
	})
}

func TestTheSameKeyAgainIsAnotherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := spatetest.Capture(t, capturesink.Options{})
		s := spatetest.Start(t, spatetest.Job{Sink: rows})
		for _, text := range []string{"one\n", "two\n", "two\n"} {
			push(t, s, "k", text)
		}
		wait(t, s)
		if c := rows.Counts(); c["one"] != 1 || c["two"] != 2 {
			t.Errorf("rows %v", c)
		}
	})
}

func TestPushesMayComeFromAnywhere(t *testing.T) {
	rows := spatetest.Capture(t, capturesink.Options{})
	s := spatetest.Start(t, spatetest.Job{Sink: rows})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 20 {
				if err := s.Push(fmt.Sprintf("%d/%d", i, k), []byte("x\n")); err != nil {
					t.Error(err)
				}
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := rows.Counts()["x"]; n != 160 {
		t.Errorf("%d rows", n)
	}
}

func TestWaitNamesWhatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := spatetest.Capture(t, capturesink.Options{Script: func(_ int, c capturesink.Call) capturesink.Outcome {
			if bytes.HasPrefix(c.Block.Data, []byte("bad")) {
				return capturesink.Refused
			}
			return capturesink.OK
		}})
		s := spatetest.Start(t, spatetest.Job{Sink: rows})
		push(t, s, "good", "good\n")
		push(t, s, "worse", "bad\n")
		err := s.Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), "worse is dead, sink_rejected") || strings.Contains(err.Error(), "good") {
			t.Errorf("got %v", err)
		}
		if n := len(rows.Calls()); n != 2+3 {
			t.Errorf("%d calls, want two for the good one and an attempt each of three", n)
		}
		r, err := s.End(t.Context())
		if err != nil || r.State != report.Failed || len(r.Dead) != 1 {
			t.Errorf("report %+v, %v", r, err)
		}
	})
}

func TestWaitSaysThatTheJobIsHalted(t *testing.T) {
	for name, outcome := range map[string]capturesink.Outcome{"denied": capturesink.Fatal, "sink_down": capturesink.Retryable} {
		synctest.Test(t, func(t *testing.T) {
			s := spatetest.Start(t, spatetest.Job{Sink: spatetest.Capture(t, capturesink.Options{Script: capturesink.Always(outcome)})})
			push(t, s, "a", "x\n")
			if err := s.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "halted, "+name) {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

func TestAFeedOnABadDayLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		script spatetest.Script
		most   int // rows of one object
	}{
		"once":       {nil, 1},
		"twice":      {spatetest.Every(spatetest.Twice), 1},
		"together":   {spatetest.Every(spatetest.Together), 2},
		"no ack":     {spatetest.Fates(spatetest.Unacked, spatetest.Unacked), 1},
		"not at all": {spatetest.Fates(spatetest.Untouched, spatetest.Once, spatetest.Untouched), 1},
	} {
		t.Run(name, func(t *testing.T) {
			rows := capturesink.New(capturesink.Options{Violation: func(string, ...any) {}}) // two at a time are two
			s := spatetest.Start(t, spatetest.Job{Sink: rows, Feed: c.script})
			for i := range 5 {
				push(t, s, fmt.Sprint(i), fmt.Sprintf("%d\n", i))
			}
			wait(t, s)
			counts := rows.Counts()
			for i := range 5 {
				if n := counts[fmt.Sprint(i)]; n < 1 || n > c.most {
					t.Errorf("row %d is there %d times", i, n)
				}
			}
		})
	}
}

func TestEveryDeliveryMeetsItsFate(t *testing.T) {
	for fate, want := range map[spatetest.Fate]int{ // calls of the chain until the unit has ended
		spatetest.Once: 1, spatetest.Untouched: 1, spatetest.Unacked: 1, spatetest.Together: 2,
	} {
		synctest.Test(t, func(t *testing.T) {
			rows := capturesink.New(capturesink.Options{Violation: func(string, ...any) {}, Script: func(int, capturesink.Call) capturesink.Outcome {
				time.Sleep(time.Second)
				return capturesink.OK
			}})
			s := spatetest.Start(t, spatetest.Job{Sink: rows, Feed: spatetest.Fates(fate)})
			push(t, s, "k", "x\n")
			wait(t, s)
			if n := rows.Counts()["x"]; n != want {
				t.Errorf("fate %d: %d rows, want %d", fate, n, want)
			}
		})
	}
}

func TestEveryFaultOfTheReadersWorkIsSurvived(t *testing.T) {
	ops := []spatetest.Op{
		spatetest.OpMeta, spatetest.OpBegin, spatetest.OpDone, spatetest.OpReadRange, spatetest.OpWrite, spatetest.OpCommit,
	}
	for _, op := range ops {
		for _, applied := range []bool{false, true} {
			for n := 1; ; n++ {
				f := &spatetest.Faults{Op: op, At: n, Applied: applied}
				synctest.Test(t, func(t *testing.T) {
					rows := spatetest.Capture(t, capturesink.Options{Dedup: true})
					s := spatetest.Start(t, spatetest.Job{Sink: rows, Faults: f})
					push(t, s, "a", "a\n")
					push(t, s, "b", "b\n")
					wait(t, s)
					if c := rows.Counts(); c["a"] != 1 || c["b"] != 1 {
						t.Errorf("%s %d, applied %t: rows %v", op, n, applied, c)
					}
				})
				if f.Seen() < n {
					if n < 3 {
						t.Errorf("%s was called %d times", op, f.Seen())
					}
					break
				}
			}
		}
	}
}

func TestAFaultMayBeOfAnyKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &spatetest.Faults{Op: spatetest.OpReadRange, At: 1, Err: failure.Errorf(failure.Job, failure.Denied, "no entry")}
		s := spatetest.Start(t, spatetest.Job{Faults: f, Chain: chain.Raw("\n")})
		push(t, s, "a", "x\n")
		if err := s.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "halted, denied: ") || !strings.Contains(err.Error(), "no entry") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheBucketIsTheTests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		b := &memobject.Bucket{Hook: func(op memobject.Op, _ string, _ int64) error {
			if op == memobject.OpGet {
				reads++
			}
			return nil
		}}
		s := spatetest.Start(t, spatetest.Job{Bucket: b})
		push(t, s, "a", "x\n")
		wait(t, s)
		if reads != 1 || b.OpenBodies() != 0 {
			t.Errorf("%d reads, %d bodies open", reads, b.OpenBodies())
		}
	})
}

func TestNothingCanBePushedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spatetest.Start(t, spatetest.Job{})
		if r, err := s.End(t.Context()); err != nil || r.State != report.Completed {
			t.Fatalf("%+v, %v", r, err)
		}
		if err := s.Push("a", []byte("x\n")); err == nil {
			t.Error("it was taken")
		}
	})
}

func TestACaptureHoldsItsCallerToTheContract(t *testing.T) {
	r := &recorder{TB: t}
	s := spatetest.Capture(r, capturesink.Options{})
	_ = s.Close()
	_ = s.Commit(t.Context(), "u", 0)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "after Close") {
		t.Errorf("it said %q", r.errors)
	}
}

func TestADeliveryWithoutItsAckComesAgain(t *testing.T) {
	for fate, want := range map[spatetest.Fate][]int{
		spatetest.Once: {1}, spatetest.Twice: {1}, spatetest.Unacked: {1, 2}, spatetest.Untouched: {1, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []int
			s := spatetest.Start(t, spatetest.Job{Feed: func(n int, d feed.Delivery) spatetest.Fate {
				got = append(got, d.Receives)
				return spatetest.Fates(fate)(n, d)
			}})
			push(t, s, "k", "x\n")
			wait(t, s)
			if !slices.Equal(got, want) {
				t.Errorf("fate %d: deliveries numbered %v, want %v", fate, got, want)
			}
		})
	}
}

func TestABodyWhoseAnswerIsLostIsClosed(t *testing.T) {
	b := new(memobject.Bucket)
	o := b.Put("k", []byte("x\n"))
	f := &spatetest.Faults{Op: spatetest.OpReadRange, At: 1, Applied: true}
	body, err := f.Bucket(b).Pin(o).ReadRange(t.Context(), 0, 2)
	if body != nil || !failure.Is(err, failure.Transient) || b.OpenBodies() != 0 || b.Calls(memobject.OpGet) != 1 {
		t.Errorf("body %v, error %v, %d bodies open after %d calls", body, err, b.OpenBodies(), b.Calls(memobject.OpGet))
	}
}
