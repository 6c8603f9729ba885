package control_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestAJobThatIsNotThereIsAnsweredWithThoseThatAre(t *testing.T) {
	s := newStack(&faults{})
	c := s.control()
	want := func(text string) {
		t.Helper()
		if _, err := c.Status(t.Context(), "lgos"); !errors.Is(err, ledger.ErrNoJob) || err.Error() != text {
			t.Errorf("got %v", err)
		}
	}
	want("no such job: lgos")
	s.runs(t, "logs", 1)
	s.runs(t, "clicks", 1)
	want("no such job: lgos: live jobs are clicks, logs")
	for i := range 10 {
		s.runs(t, fmt.Sprint("x", i), 1)
	}
	want("no such job: lgos: live jobs are clicks, logs, x0, x1, x2, x3, x4, x5, x6, x7 and 2 more")
}

func TestTheLiveJobsAreListedInOrder(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		for _, name := range []string{"c", "a", "b"} {
			m := s.runs(t, name, 2)
			s.done(t, m, 0)
		}
		m := s.meta(t, "b")
		s.ends(t, m, ledger.Cancelled)
		if err := s.Retire(t.Context(), "b", m.Run, m.Generation); err != nil {
			t.Fatal(err)
		}
		all, err := s.control().List(t.Context())
		if err != nil || len(all) != 2 || all[0].Meta.Job != "a" || all[1].Meta.Job != "c" || all[1].Progress.Done != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestWhatIsDoneIsNeverMoreThanWhatIsListed(t *testing.T) {
	listed := ledger.Inventory{Objects: 4, Bytes: 100}
	for name, c := range map[string]struct {
		s              control.Snapshot
		objects, bytes int64
	}{
		"in the middle":    {control.Snapshot{Meta: ledger.Meta{Inventory: listed}, Progress: ledger.Progress{Objects: 2, BytesRead: 50}}, 2, 50},
		"read twice":       {control.Snapshot{Meta: ledger.Meta{Inventory: listed}, Progress: ledger.Progress{Objects: 9, BytesRead: 500}}, 4, 100},
		"proved complete":  {control.Snapshot{Meta: ledger.Meta{Inventory: listed, State: ledger.Completed}}, 4, 100},
		"ended otherwise":  {control.Snapshot{Meta: ledger.Meta{Inventory: listed, State: ledger.Failed}, Progress: ledger.Progress{Objects: 1, BytesRead: 9}}, 1, 9},
		"nothing is known": {},
	} {
		if o, b := c.s.Objects(), c.s.Bytes(); o != c.objects || b != c.bytes {
			t.Errorf("%s: %d objects, %d bytes", name, o, b)
		}
	}
}

// watch watches the job and says at which seconds it was looked at.
func watch(t *testing.T, c *control.Control, run int) (at []float64, last control.Snapshot, err error) {
	t.Helper()
	begun := time.Now()
	last, err = c.Watch(t.Context(), "logs", run, func(s control.Snapshot) {
		at = append(at, time.Since(begun).Round(time.Second/2).Seconds())
	})
	return at, last, err
}

func TestAJobIsWatchedUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(&faults{})
		m := s.runs(t, "logs", 2)
		s.done(t, m, 0)
		go func() {
			time.Sleep(2 * time.Minute)
			s.done(t, m, 1)
			time.Sleep(7 * time.Second)
			s.ends(t, m, ledger.Completed)
		}()
		at, last, err := watch(t, s.control(), m.Run)
		if err != nil || last.Meta.State != ledger.Completed || last.Progress.Done != 2 {
			t.Errorf("%+v, %v", last, err)
		}
		// More seldom until all seems done; then a second apart, or little more.
		var waits []float64
		for i := range at[1:] {
			waits = append(waits, at[i+1]-at[i])
		}
		if waits[0] > 1.5 || waits[15] < 3.5 || waits[20] > 5.5 || waits[len(waits)-2] > 1.5 || at[len(at)-1] > 129 {
			t.Errorf("looked at %v, with waits of %v", at, waits)
		}
	})
}

func TestAHaltEndsTheWatchUnlessItEndsByItself(t *testing.T) {
	for reason, want := range map[failure.Reason]ledger.State{failure.SinkDown: ledger.Cancelled, failure.Denied: ledger.Running} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(&faults{})
			m := s.runs(t, "logs", 1)
			go func() {
				time.Sleep(time.Minute)
				s.halts(t, "logs", reason)
				time.Sleep(time.Minute)
				s.ends(t, m, ledger.Cancelled)
			}()
			_, last, err := watch(t, s.control(), 0)
			if err != nil || last.Meta.State != want || last.Meta.Halt == nil {
				t.Errorf("%s: %+v, %v", reason, last.Meta, err)
			}
			synctest.Wait()
			time.Sleep(2 * time.Minute)
		})
	}
}

func TestALaterRunIsNotTakenForTheOneThatIsWatched(t *testing.T) {
	for _, run := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(&faults{})
			m := s.runs(t, "logs", 1)
			go func() {
				time.Sleep(10500 * time.Millisecond)
				s.ends(t, m, ledger.Cancelled)
				s.runs(t, "logs", 1)
			}()
			_, _, err := watch(t, s.control(), run)
			if !errors.Is(err, control.ErrSuperseded) || err.Error() != "watch run 1 of job logs: a later run was started: run 2" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAWatchSitsOutWhatPasses(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		m := s.runs(t, "logs", 1)
		go func() {
			time.Sleep(10 * time.Second)
			s.ends(t, m, ledger.Cancelled)
		}()
		if _, last, err := watch(t, s.control(), 0); err != nil || last.Meta.State != ledger.Cancelled {
			t.Errorf("%+v, %v", last, err)
		}
	})
}

// away is a ledger that cannot be read from a time on.
type away struct {
	*stack
	from  time.Time
	until time.Time
}

func (l away) Meta(ctx context.Context, job string) (ledger.Meta, error) {
	if now := time.Now(); now.After(l.from) && now.Before(l.until) {
		return ledger.Meta{}, errAway
	}
	return l.Shared.Meta(ctx, job)
}

func TestAWatchIsPatientForSomeMinutes(t *testing.T) {
	for gone, fails := range map[time.Duration]bool{90 * time.Second: false, 4 * time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(&faults{})
			m := s.runs(t, "logs", 1)
			begun := time.Now()
			l := away{s, begun.Add(time.Minute), begun.Add(time.Minute + gone)}
			go func() {
				time.Sleep(6 * time.Minute)
				s.ends(t, m, ledger.Cancelled)
			}()
			_, _, err := watch(t, control.New(l, control.Options{}), 0)
			if fails != errors.Is(err, errAway) || !fails && err != nil {
				t.Errorf("away for %v: %v", gone, err)
			}
			if passed := time.Since(begun); fails && passed > 200*time.Second {
				t.Errorf("it gave up after %v", passed)
			}
			time.Sleep(6 * time.Minute)
		})
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(&faults{})
		s.runs(t, "logs", 1)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := s.control().Watch(ctx, "logs", 0, func(control.Snapshot) {})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

type counted struct {
	d   feed.Depth
	err error
}

func (c counted) Depth(context.Context) (feed.Depth, error) { return c.d, c.err }

func TestTheFeedIsCountedWhereItIsKnown(t *testing.T) {
	l := newStack(&faults{}).Shared
	if d, err := control.New(l, control.Options{}).Depth(t.Context()); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	want := feed.Depth{Ready: 3, InFlight: 2, Dead: 1}
	d, err := control.New(l, control.Options{Feed: counted{d: want}}).Depth(t.Context())
	if err != nil || cmp.Diff(&want, d) != "" {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := control.New(l, control.Options{Feed: counted{err: errAway}}).Depth(t.Context()); d != nil || !errors.Is(err, errAway) {
		t.Errorf("%v, %v", d, err)
	}
}
