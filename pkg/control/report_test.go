package control_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

func TestTheReportIsTheFinalizersOnceItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(&faults{})
		m := s.runs(t, "logs", 1)
		s.ends(t, m, ledger.Failed)
		wrote := &report.Report{Job: "logs", Reason: "as it was written"}
		go func() {
			time.Sleep(5 * time.Second)
			s.writes(wrote, m)
		}()
		begun := time.Now()
		r, err := s.control().Report(t.Context(), "logs", 10*time.Second)
		if passed := time.Since(begun); err != nil || r != wrote || passed < 5*time.Second || passed > 7*time.Second {
			t.Errorf("after %v: %+v, %v", passed, r, err)
		}
	})
}

func TestAReportOfAnotherGenerationIsNotTheRunsReport(t *testing.T) {
	s := newStack(&faults{})
	m := s.runs(t, "logs", 1)
	s.writes(&report.Report{State: report.Failed}, m)
	s.dead(t, m, 0)
	if _, err := s.Redrive(t.Context(), "logs", 1); err != nil {
		t.Fatal(err)
	}
	m = s.meta(t, "logs")
	s.done(t, m, 0)
	s.ends(t, m, ledger.Completed)
	r, err := s.control().Report(t.Context(), "logs", 0)
	if err != nil || r.State != report.Completed || r.Units.Done != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAReportThatNobodyWroteIsMadeOfTheLedger(t *testing.T) {
	sweep(t, func(t *testing.T, f *faults) {
		s := newStack(f)
		m := s.runs(t, "logs", 2)
		s.done(t, m, 0)
		s.ends(t, m, ledger.Cancelled)
		begun := time.Now()
		r, err := s.control().Report(t.Context(), "logs", 10*time.Second)
		if err != nil || r.State != report.Cancelled || r.Units.Done != 1 || r.Units.Missing != 1 || time.Since(begun) < 10*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(begun), r, err)
		}
	})
}

func TestAReportOfAJobThatGoesOnIsOfNow(t *testing.T) {
	for name, c := range map[string]struct {
		halt failure.Reason
		want report.State
	}{"running": {"", "running"}, "halted": {failure.Denied, report.Halted}} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(&faults{})
			s.runs(t, "logs", 1)
			time.Sleep(time.Minute)
			if c.halt != "" {
				s.halts(t, "logs", c.halt)
			}
			r, err := s.control().Report(t.Context(), "logs", time.Hour)
			if err != nil || r.State != c.want || r.Ended.Sub(r.Started) != time.Minute || s.reads != 0 {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		})
	}
}

type unreadable struct{}

func (unreadable) Report(context.Context, string, int, int) (*report.Report, error) {
	return nil, errAway
}

func TestAReportThatCannotBeReadIsAnError(t *testing.T) {
	s := newStack(&faults{})
	s.ends(t, s.runs(t, "logs", 1), ledger.Cancelled)
	_, err := control.New(s.Shared, control.Options{Reports: unreadable{}}).Report(t.Context(), "logs", 0)
	if !errors.Is(err, errAway) {
		t.Errorf("got %v", err)
	}
}
