package faults_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/tests/lambdakit"
)

// victim is an object in the midst of a unit.
var victim = key(5)

func TestAReadThatFailsForAWhileIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]lambdakit.Fault{
		"500":                 s3Says(500, "InternalError"),
		"503 SlowDown":        s3Says(503, "SlowDown"),
		"502 of a proxy":      {Status: 502, Answer: "<html>Bad Gateway</html>"},
		"no answer":           {Before: true},
		"a reset in mid-body": {Cut: 60_000},
		"a body cut short":    {Cut: 60_000, Ends: lambdakit.Short},
		"a reset at once":     {Cut: 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.reading(newWrong(4, get(victim), f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 1)
			w.was(t, 4)
		})
	}
}

func TestABodyThatStallsIsAskedForAgain(t *testing.T) {
	tr := newTrial(t)
	w := tr.reading(newWrong(1, get(victim), lambdakit.Fault{Cut: 100_000, Ends: lambdakit.Stall}))
	tr.listed("a")
	tr.poll()
	tr.schedule()
	tr.completes("a")
	tr.exact()
	tr.unburnt("a", 1)
	w.was(t, 1)
}

func TestAnObjectThatCannotBeReadFailsTheJobByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f      lambdakit.Fault
		reason failure.Reason
	}{
		"404":                    {s3Says(404, "NoSuchKey"), failure.NotFound},
		"412":                    {s3Says(412, "PreconditionFailed"), failure.ETagDrift},
		"403 InvalidObjectState": {s3Says(403, "InvalidObjectState"), failure.Archived},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			tr.reading(newWrong(always, get(victim), c.f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			r := tr.ends("a", ledger.Failed)
			d := onlyDead(t, r)
			if d.Reason != c.reason || len(d.Objects) != 1 || d.Objects[0].Key != victim || d.Objects[0].Reason != c.reason {
				t.Errorf("dead: %+v, want %s of %s alone", d, c.reason, victim)
			}
			tr.exact(victim)
		})
	}
}

func TestAStoreThatDoesNotAnswerForAnObjectFailsItsUnit(t *testing.T) {
	tr := newTrial(t)
	w := tr.reading(newWrong(always, get(victim), s3Says(503, "SlowDown")))
	tr.listed("a")
	tr.poll()
	tr.schedule()
	r := tr.ends("a", ledger.Failed)
	d := onlyDead(t, r)
	named := false
	for _, o := range d.Objects {
		named = named || o.Key == victim
	}
	if d.Reason != failure.RetriesExhausted || d.Attempts != 3 || !named || !strings.Contains(d.Detail, victim) {
		t.Errorf("dead: %+v", d)
	}
	if r.Units.Done != r.Units.Planned-1 {
		t.Errorf("%+v", r.Units)
	}
	w.was(t, 3*9)
}

func onlyDead(t *testing.T, r *report.Report) report.Dead {
	t.Helper()
	if r.Units.Dead != 1 || len(r.Dead) != 1 || r.Units.Missing > 0 {
		t.Fatalf("units %+v, dead %+v", r.Units, r.Dead)
	}
	return r.Dead[0]
}

func TestAReadThatIsRefusedHaltsTheJobAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f      lambdakit.Fault
		reason failure.Reason
		names  []string
	}{
		"401":              {s3Says(401, "Unauthorized"), failure.Denied, []string{"s3:GetObject"}},
		"403 AccessDenied": {s3Says(403, "AccessDenied"), failure.Denied, []string{"s3:GetObject", "s3:ListBucket"}},
		"404 NoSuchBucket": {s3Says(404, "NoSuchBucket"), failure.Config, []string{"bucket"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			w := tr.reading(newWrong(always, get("in/a/"), c.f))
			tr.listed("a")
			tr.poll()
			tr.schedule()
			tr.halts("a", c.reason, append(c.names, tr.Name, "in/a/")...)
			tr.unburnt("a", 2)
			tr.put("in/b/00.ndjson")
			tr.listed("b")
			tr.completes("b")
			if m := tr.until("a", "halted", func(ledger.Meta) bool { return true }); m.Halt == nil || len(tr.open("a")) != m.Planned {
				t.Errorf("halt %+v, %d of %d units open", m.Halt, len(tr.open("a")), m.Planned)
			}
			w.mend()
			tr.resume("a", c.reason)
			tr.completes("a")
			tr.exact()
			tr.unburnt("a", 2)
		})
	}
}
