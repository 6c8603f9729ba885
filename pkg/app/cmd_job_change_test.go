package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestAChangeSaysWhatItDid(t *testing.T) {
	fail := func(t *testing.T, s *fakeStack, m ledger.Meta) { s.reads(t, m, 2, 4); s.ends(t, "logs", ledger.Failed) }
	halt := func(t *testing.T, s *fakeStack, _ ledger.Meta) { s.halts(t, "logs") }
	still := func(*testing.T, *fakeStack, ledger.Meta) {}
	var all strings.Builder
	for _, c := range []struct {
		args   string
		before func(t *testing.T, s *fakeStack, m ledger.Meta)
		code   int
	}{
		{"redrive logs", fail, exitOK}, {"redrive logs -o json", fail, exitOK},
		{"redrive logs", func(t *testing.T, s *fakeStack, m ledger.Meta) { s.reads(t, m, 3, 4); s.ends(t, "logs", ledger.Failed) }, exitOK},
		{"redrive logs", func(t *testing.T, s *fakeStack, _ ledger.Meta) { s.ends(t, "logs", ledger.Cancelled) }, exitIncomplete},
		{"resume logs", halt, exitOK}, {"resume logs -o json", halt, exitOK}, {"resume logs", still, exitIncomplete},
		{"cancel logs", still, exitOK}, {"cancel logs -o json", still, exitOK},
		{"cancel logs", func(t *testing.T, s *fakeStack, m ledger.Meta) { s.ends(t, "logs", ledger.Cancelled) }, exitOK},
		{"cancel logs", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.reads(t, m, 4, 4)
			s.ends(t, "logs", ledger.Completed)
		}, exitIncomplete},
		{"cancel logs", func(t *testing.T, s *fakeStack, m ledger.Meta) {
			s.refuse = failure.New(failure.Job, failure.Denied, errors.New("allow\nlambda:InvokeFunction"))
		}, exitOK},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeStack()
			m := s.lists(t, "logs")
			time.Sleep(time.Minute)
			c.before(t, s, m)
			code := s.run(t.Context(), t, append([]string{"job"}, strings.Fields(c.args+" --table t")...)...)
			if code != c.code {
				t.Errorf("%s: code %d: %s", c.args, code, s.stderr)
			}
			fmt.Fprintf(&all, "$ spate job %s\n%s%s", c.args, s.stdout, s.stderr)
		})
	}
	golden(t, "changes.txt", all.String())
}
