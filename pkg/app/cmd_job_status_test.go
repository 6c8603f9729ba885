package app

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// courses are a job's at every turn that it may take.
func courses() []struct {
	name string
	take func(t *testing.T, s *fakeStack, m ledger.Meta)
} {
	type course = struct {
		name string
		take func(t *testing.T, s *fakeStack, m ledger.Meta)
	}
	return []course{
		{"running", func(t *testing.T, s *fakeStack, m ledger.Meta) { s.reads(t, m, 1, 1) }},
		{"running, with a dead unit", func(t *testing.T, s *fakeStack, m ledger.Meta) { s.reads(t, m, 1, 2) }},
		{"halted", func(t *testing.T, s *fakeStack, m ledger.Meta) { s.halts(t, "logs") }},
		{"halted because the sink is down", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			if _, err := s.Halt(t.Context(), "logs", ledger.Halt{Reason: failure.SinkDown, Detail: "no answer", At: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}},
		{"resumed", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.halts(t, "logs")
			if _, err := s.Resume(t.Context(), "logs", failure.Denied); err != nil {
				t.Fatal(err)
			}
		}},
		{"sent again", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			if err := errors.Join(s.Resend(t.Context(), "logs", m.Run, m.Generation, 0), s.Swept(t.Context(), "logs", m.Run, 1)); err != nil {
				t.Fatal(err)
			}
		}},
		{"read twice", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.bytes = 16 << 20
			s.reads(t, m, 3, 3)
		}},
		{"completed", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.reads(t, m, 4, 4)
			s.ends(t, "logs", ledger.Completed)
		}},
		{"failed", func(t *testing.T, s *fakeStack, m ledger.Meta) { s.reads(t, m, 3, 4); s.ends(t, "logs", ledger.Failed) }},
		{"cancelled", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.reads(t, m, 1, 1)
			s.ends(t, "logs", ledger.Cancelled)
		}},
		{"cancelled before it was sent", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			if _, err := s.Redrive(t.Context(), "logs", 1); err != nil {
				t.Fatal(err)
			}
			s.ends(t, "logs", ledger.Cancelled)
		}},
		{"listing", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.ends(t, "logs", ledger.Cancelled)
			if _, err := s.Start(t.Context(), "logs", ledger.Start{Token: "next"}); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

func TestStatusSaysWhereAJobStandsAndWhatToDo(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		var all strings.Builder
		for _, c := range courses() {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStack()
				m := s.lists(t, "logs")
				time.Sleep(90 * time.Second)
				c.take(t, s, m)
				time.Sleep(30 * time.Second)
				if code := s.run(t.Context(), t, "job", "status", "logs", "--table", "t", "-o", form); code != exitOK || s.stderr != "" {
					t.Errorf("%s: code %d: %s", c.name, code, s.stderr)
				}
				all.WriteString("# " + c.name + "\n" + s.stdout)
			})
		}
		golden(t, "status."+form, all.String())
	}
}

func TestAFeedThatCannotBeCountedIsANote(t *testing.T) {
	s := newFakeStack()
	s.lists(t, "logs")
	s.depth = errors.New("allow\nsqs:GetQueueAttributes")
	code := s.run(t.Context(), t, "job", "status", "logs", "--table", "t")
	if code != exitOK || s.stderr != "spate: note: count the feed's messages: allow sqs:GetQueueAttributes\n" || strings.Contains(s.stdout, "feed") {
		t.Errorf("code %d: %s%s", code, s.stdout, s.stderr)
	}
}

func TestTheLiveJobsAreATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStack()
		list := func(form string) string {
			t.Helper()
			if code := s.run(t.Context(), t, "job", "list", "--table", "t", "-o", form); code != exitOK || s.stderr != "" {
				t.Errorf("code %d: %s", code, s.stderr)
			}
			return s.stdout
		}
		if text, json := list("text"), list("json"); text != "no job is live\n" || json != "[]\n" {
			t.Errorf("%q, %q", text, json)
		}
		s.reads(t, s.lists(t, "access-logs"), 2, 3)
		s.lists(t, "clicks")
		s.halts(t, "clicks")
		if _, err := s.Start(t.Context(), "next", ledger.Start{Token: "next"}); err != nil {
			t.Fatal(err)
		}
		golden(t, "list.out", list("text"))
		var jobs []jobStatus
		if err := json.Unmarshal([]byte(list("json")), &jobs); err != nil || len(jobs) != 3 || jobs[0].Job != "access-logs" || jobs[0].Units != (statusUnits{4, 2, 1}) || jobs[1].Halt == nil {
			t.Errorf("%+v, %v", jobs, err)
		}
	})
}
