package control_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestARedriveThatAnythingFailsOpensWhatIsDead(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		m := s.runs(t, "logs", 3)
		s.done(t, m, 0)
		s.dead(t, m, 1)
		s.dead(t, m, 2)
		s.ends(t, m, ledger.Failed)
		if err := s.Retire(t.Context(), "logs", m.Run, m.Generation); err != nil {
			t.Fatal(err)
		}
		got, err := s.control().Redrive(t.Context(), "logs")
		if err != nil || got.Run != 1 || got.Units != 2 && !f.applied {
			t.Errorf("%+v, %v", got, err)
		}
		now := s.meta(t, "logs")
		census, err := s.Prove(t.Context(), "logs", 1)
		live, liveErr := s.Live(t.Context())
		if err != nil || liveErr != nil || now.State != ledger.Running || now.Ask == now.Swept || census.Open != 2 || census.Done != 1 || !slices.Equal(live, []string{"logs"}) {
			t.Errorf("%+v, %+v, %v, %v, %v", now, census, live, err, liveErr)
		}
	})
}

func TestWhatHasNoDeadUnitsIsNotRedriven(t *testing.T) {
	for _, state := range []ledger.State{ledger.Completed, ledger.Cancelled} {
		s := newStack(&faults{})
		m := s.runs(t, "logs", 1)
		s.done(t, m, 0)
		s.ends(t, m, state)
		_, err := s.control().Redrive(t.Context(), "logs")
		if want := "redrive job logs: run 1 is " + string(state) + ": only a running or a failed one has units to redrive"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
	}
}

func TestAResumeThatAnythingFailsClearsTheHaltAndNamesIt(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		s.runs(t, "logs", 1)
		s.halts(t, "logs", failure.Denied)
		got, err := s.control().Resume(t.Context(), "logs")
		if err != nil || got.Run != 1 || got.Halt.Reason != failure.Denied || got.Halt.Detail != "allow denied" {
			t.Errorf("%+v, %v", got, err)
		}
		if m := s.meta(t, "logs"); m.Halt != nil || m.Ask != 1 {
			t.Errorf("%+v", m)
		}
	})
}

func TestWhatIsNotHaltedIsNotResumed(t *testing.T) {
	s := newStack(&faults{})
	s.runs(t, "logs", 1)
	_, err := s.control().Resume(t.Context(), "logs")
	if err == nil || err.Error() != "resume job logs: run 1 is not halted: it is running" {
		t.Errorf("got %v", err)
	}
}

// meddled is a ledger that somebody else uses between two calls.
type meddled struct {
	*stack
	meddle func(calls int)
	calls  int
}

func (l *meddled) Resume(ctx context.Context, job string, r failure.Reason) (bool, error) {
	l.calls++
	l.meddle(l.calls)
	return l.Shared.Resume(ctx, job, r)
}

func (l *meddled) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	l.calls++
	l.meddle(l.calls)
	return l.Shared.Conclude(ctx, job, run, generation, s)
}

func TestAHaltThatTookTheOthersPlaceIsClearedAndNamed(t *testing.T) {
	s := newStack(&faults{})
	s.runs(t, "logs", 1)
	s.halts(t, "logs", failure.SinkDown)
	l := &meddled{stack: s, meddle: func(n int) {
		if n == 1 {
			s.halts(t, "logs", failure.Denied)
		}
	}}
	got, err := control.New(l, control.Options{}).Resume(t.Context(), "logs")
	if err != nil || got.Halt.Reason != failure.Denied || s.meta(t, "logs").Halt != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAHaltThatKeepsComingBackIsSaid(t *testing.T) {
	s := newStack(&faults{})
	s.runs(t, "logs", 1)
	s.halts(t, "logs", failure.SinkDown)
	l := &meddled{stack: s, meddle: func(n int) {
		was, now := failure.SinkDown, failure.Denied
		if n%2 == 0 {
			was, now = now, was
		}
		if _, err := s.Shared.Resume(t.Context(), "logs", was); err != nil {
			t.Fatal(err)
		}
		s.halts(t, "logs", now)
	}}
	_, err := control.New(l, control.Options{}).Resume(t.Context(), "logs")
	if err == nil || !strings.Contains(err.Error(), "it halts again each time") {
		t.Errorf("got %v", err)
	}
}

func TestACancelThatAnythingFailsEndsTheJobAndHasItReported(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		m := s.runs(t, "logs", 2)
		s.done(t, m, 0)
		got, err := s.control().Cancel(t.Context(), "logs")
		if err != nil || got.Run != 1 || got.Later != nil || s.meta(t, "logs").State != ledger.Cancelled {
			t.Errorf("%+v, %v", got, err)
		}
		if len(s.calls) == 0 || s.calls[len(s.calls)-1] != `queue finalizer {"job":"logs"}` {
			t.Errorf("calls %q", s.calls)
		}
	})
}

func TestACancelIsGivenAnewWhenAUnitLeavesDead(t *testing.T) {
	s := newStack(&faults{})
	m := s.runs(t, "logs", 1)
	s.dead(t, m, 0)
	l := &meddled{stack: s, meddle: func(n int) {
		if n < 4 {
			if _, err := s.Redrive(t.Context(), "logs", 1); err != nil {
				t.Fatal(err)
			}
		}
	}}
	if _, err := control.New(l, control.Options{}).Cancel(t.Context(), "logs"); err != nil || l.calls != 4 || s.meta(t, "logs").State != ledger.Cancelled {
		t.Errorf("after %d calls: %v", l.calls, err)
	}
}

func TestACancelIsOfOneRunOnly(t *testing.T) {
	for name, c := range map[string]struct {
		meddle func(s *stack, m ledger.Meta)
		want   string
	}{
		"it completes first": {func(s *stack, m ledger.Meta) { s.done(t, m, 0); s.ends(t, m, ledger.Completed) },
			"cancel job logs: run 1 has ended: it is completed"},
		"it is started again": {func(s *stack, m ledger.Meta) { s.ends(t, m, ledger.Failed); s.runs(t, "logs", 1) },
			"cancel job logs: run 1 has ended, and run 2 is running: look at that one first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStack(&faults{})
			m := s.runs(t, "logs", 1)
			l := &meddled{stack: s, meddle: func(n int) {
				if n == 1 {
					c.meddle(s, m)
				}
			}}
			_, err := control.New(l, control.Options{}).Cancel(t.Context(), "logs")
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatIsCancelledIsReportedAgain(t *testing.T) {
	s := newStack(&faults{})
	s.ends(t, s.runs(t, "logs", 1), ledger.Cancelled)
	if _, err := s.control().Cancel(t.Context(), "logs"); err != nil || len(s.calls) != 1 {
		t.Errorf("%v, calls %q", err, s.calls)
	}
}

func TestACancelHoldsWhereNobodyReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(&faults{})
		s.runs(t, "logs", 1)
		s.refuse = failure.New(failure.Job, failure.Denied, errors.New("allow it"))
		got, err := s.control().Cancel(t.Context(), "logs")
		if err != nil || got.Later == nil || s.meta(t, "logs").State != ledger.Cancelled {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
