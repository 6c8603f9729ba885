package app

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

func TestAJobThatIsWatchedIsShownUntilItsReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStack()
		m := s.lists(t, "logs")
		s.reads(t, m, 1, 1)
		time.Sleep(time.Minute)
		go func() {
			time.Sleep(15 * time.Second)
			s.reads(t, m, 1, 2)
			time.Sleep(10 * time.Second)
			if _, err := s.Redrive(t.Context(), "logs", 1); err != nil {
				t.Error(err)
			}
			s.reads(t, m, 4, 4)
			s.ends(t, "logs", ledger.Completed)
		}()
		if code := s.run(t.Context(), t, "job", "watch", "logs", "--table", "t"); code != exitOK {
			t.Fatalf("code %d: %s", code, s.stderr)
		}
		golden(t, "watch.out", s.stderr+s.stdout)
	})
}

func TestAJobThatHasEndedIsNotShownOnItsWay(t *testing.T) {
	s := newFakeStack()
	m := s.lists(t, "logs")
	s.reads(t, m, 4, 4)
	s.ends(t, "logs", ledger.Completed)
	s.writes(m, &report.Report{Job: "logs", State: report.Completed, Units: report.Units{Planned: 4}})
	if code := s.run(t.Context(), t, "job", "watch", "logs", "--table", "t"); code != exitOK || s.stderr != "" {
		t.Errorf("code %d: %s", code, s.stderr)
	}
}

func TestAWatchWaitsForTheFinalizersReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStack()
		m := s.lists(t, "logs")
		go func() {
			time.Sleep(3 * time.Second)
			s.ends(t, "logs", ledger.Cancelled)
			time.Sleep(10 * time.Second)
			s.writes(m, &report.Report{Job: "logs", State: report.Cancelled, Reason: "as the finalizer wrote it"})
		}()
		s.run(t.Context(), t, "job", "watch", "logs", "--table", "t", "--progress", "none")
		if !strings.Contains(s.stdout, "as the finalizer wrote it") {
			t.Errorf("%s%s", s.stdout, s.stderr)
		}
	})
}

func TestHowAJobEndsIsTheExitCodeOfItsWatch(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *fakeStack, m ledger.Meta)
		code int
		want string
	}{
		"completed": {func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.reads(t, m, 4, 4)
			s.ends(t, "logs", ledger.Completed)
		}, exitOK, ""},
		"failed": {func(t *testing.T, s *fakeStack, m ledger.Meta) { s.reads(t, m, 3, 4); s.ends(t, "logs", ledger.Failed) }, exitIncomplete,
			"spate: job logs failed: 1 of 4 units are dead: spate job redrive logs retries them, spate job start logs reads new versions\n"},
		"cancelled": {func(t *testing.T, s *fakeStack, _ ledger.Meta) { s.ends(t, "logs", ledger.Cancelled) }, exitIncomplete,
			"spate: job logs was cancelled: spate job start logs reads what is not done\n"},
		"halted": {func(t *testing.T, s *fakeStack, _ ledger.Meta) { s.halts(t, "logs") }, exitIncomplete,
			"spate: job logs is halted: denied: get s3://b/p/0.gz: 403 allow s3:GetObject: fix that, then spate job resume logs\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStack()
				m := s.lists(t, "logs")
				go func() {
					time.Sleep(3 * time.Second)
					c.end(t, s, m)
				}()
				code := s.run(t.Context(), t, "job", "watch", "logs", "--table", "t", "--progress", "none", "-o", "json")
				if code != c.code || s.stderr != c.want {
					t.Errorf("code %d: %s", code, s.stderr)
				}
				var r report.Report
				if err := json.Unmarshal([]byte(s.stdout), &r); err != nil || string(r.State) != name {
					t.Errorf("%s, %v", s.stdout, err)
				}
			})
		})
	}
}

func TestAWatchThatIsInterruptedLeavesTheJobAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStack()
		s.lists(t, "logs")
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		code := s.run(ctx, t, "job", "watch", "logs", "--table", "t")
		if code != exitInterrupted || s.stdout != "" || strings.Count(s.stderr, "\n") != 3 || // two lines of progress
			!strings.HasSuffix(s.stderr, "\nspate: watch of job logs was interrupted: the job continues, and spate job watch logs follows it\n") {
			t.Errorf("code %d: %s%s", code, s.stdout, s.stderr)
		}
		if m, err := s.Meta(t.Context(), "logs"); err != nil || m.State != ledger.Running || m.Halt != nil {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestAStartThatWatchesEndsAsTheRunDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStack()
		go func() {
			time.Sleep(3 * time.Second)
			s.ends(t, "logs", ledger.Cancelled)
		}()
		code := s.run(t.Context(), t, "job", "start", "logs", "--table", "t", "--watch", "--progress", "none")
		if code != exitIncomplete || !strings.HasPrefix(s.stdout, "job logs, run 1: cancelled in 3s\n") ||
			s.stderr != "spate: note: job logs, run 1 is listing\nspate: job logs was cancelled: spate job start logs reads what is not done\n" {
			t.Errorf("code %d: %s%s", code, s.stdout, s.stderr)
		}
	})
}

func TestAReportIsPrintedWhateverItSays(t *testing.T) {
	s := newFakeStack()
	m := s.lists(t, "logs")
	s.reads(t, m, 2, 3)
	if code := s.run(t.Context(), t, "job", "report", "logs", "--table", "t"); code != exitOK || !strings.HasPrefix(s.stdout, "job logs, run 1: running in ") {
		t.Errorf("code %d: %s%s", code, s.stdout, s.stderr)
	}
	s.ends(t, "logs", ledger.Failed)
	s.writes(m, &report.Report{Job: "logs", Run: 1, State: report.Failed, Reason: "as the finalizer wrote it",
		Dead: []report.Dead{{Unit: unitID(2), Reason: failure.SinkRejected}}})
	if code := s.run(t.Context(), t, "job", "report", "logs", "--table", "t", "-o", "json"); code != exitOK || s.stderr != "" {
		t.Errorf("code %d: %s", code, s.stderr)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(s.stdout), &r); err != nil || r.Reason != "as the finalizer wrote it" || len(r.Dead) != 1 {
		t.Errorf("%s, %v", s.stdout, err)
	}
}
