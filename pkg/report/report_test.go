package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

func TestReportKeysHoldRunAndGeneration(t *testing.T) {
	for got, want := range map[string]string{
		report.Key("access-logs", 3, 0):     "access-logs/run-3/report-0.json",
		report.Key("access-logs", 3, 12):    "access-logs/run-3/report-12.json",
		report.SuccessKey("access-logs", 3): "access-logs/run-3/_SUCCESS",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func dead(objects, key int) report.Dead {
	d := report.Dead{Unit: "u", Reason: failure.NotFound, Detail: "gone"}
	for range objects {
		d.Objects = append(d.Objects, report.NewObject(unit.Object{Key: strings.Repeat("k", key)}))
	}
	return d
}

func TestListsAreBoundedAndCountsAreNot(t *testing.T) {
	for _, c := range []struct {
		says       string
		units      int
		d          report.Dead
		most, want int // named
	}{
		{"few are named", 100, dead(1, 10), 100, 100},
		{"ten thousand are", report.MaxNamed + 7, dead(1, 10), report.MaxNamed, report.MaxNamed},
		{"fewer with long keys", 200, dead(100, 900), 100, 60},
		{"none that is too large by itself", 3, dead(9000, 1000), 0, 0},
	} {
		t.Run(c.says, func(t *testing.T) {
			r := &report.Report{Units: report.Units{Planned: 7, Done: 3, Dead: 99}, Omitted: report.Omitted{Dead: 99}}
			n := r.Names()
			for range c.units {
				n.Dead(c.d)
				n.Missing(report.Missing{Unit: "m", Key: "k"})
			}
			if named := len(r.Dead); named > c.most || named < c.want || r.Omitted.Dead != c.units-named {
				t.Errorf("%d named, %d omitted of %d", named, r.Omitted.Dead, c.units)
			}
			if named := len(r.Missing); named != min(c.units, report.MaxNamed) || r.Omitted.Missing != c.units-named {
				t.Errorf("missing: %d named, %d omitted of %d", named, r.Omitted.Missing, c.units)
			}
			if want := (report.Units{Planned: 7, Done: 3, Dead: c.units, Missing: c.units}); r.Units != want {
				t.Errorf("units %+v", r.Units)
			}
		})
	}
}

func TestAListIsItsFirstUnitsWithoutGaps(t *testing.T) {
	r := &report.Report{}
	n := r.Names()
	n.Dead(dead(1, 1))
	n.Dead(dead(9000, 1000))
	n.Dead(dead(1, 1))
	if len(r.Dead) != 1 || r.Omitted.Dead != 2 {
		t.Errorf("%d named, %d omitted", len(r.Dead), r.Omitted.Dead)
	}
}

func TestBriefFitsIntoAnEvent(t *testing.T) {
	r := &report.Report{Job: "j", State: report.Failed, Reason: strings.Repeat("\x01", 100_000), Pipelines: []string{"p"}}
	n := r.Names()
	for range 20_000 {
		n.Dead(dead(5, 300))
		n.Missing(report.Missing{Unit: "m", Key: strings.Repeat("\x01", 1000)})
	}
	b := r.Brief()
	body, err := json.Marshal(b)
	if err != nil || len(body) > 256<<10 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if len(b.Dead) == 0 || len(b.Missing) == 0 || b.Units != r.Units ||
		b.Omitted != (report.Omitted{Dead: 20_000 - len(b.Dead), Missing: 20_000 - len(b.Missing)}) {
		t.Errorf("%d and %d named, units %+v, omitted %+v", len(b.Dead), len(b.Missing), b.Units, b.Omitted)
	}
	if len(r.Dead) < 3900 || r.Units.Dead != 20_000 {
		t.Error("the report itself was cut")
	}
	t.Run("and is the whole of a report that is small", func(t *testing.T) {
		r := &report.Report{Job: "j", Reason: "r"}
		n := r.Names()
		n.Dead(dead(1, 10))
		n.Missing(report.Missing{Unit: "m"})
		if diff := cmp.Diff(r, r.Brief()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestText(t *testing.T) {
	began := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	text := func(dead, missing int) string {
		r := &report.Report{
			Job: "j", Run: 2, State: report.Failed, Reason: "because", Started: began, Ended: began.Add(time.Minute),
			Cost: &report.Cost{GBSeconds: 12345.678, Requests: 2345678, Dollars: 1.236},
		}
		n := r.Names()
		for range dead {
			n.Dead(report.Dead{Reason: failure.Crashed, Detail: "x", Attempts: 5})
		}
		for range missing {
			n.Missing(report.Missing{Key: "k", Reason: failure.Missing})
		}
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for n, want := range map[int]string{
		0: "units     0 planned, 0 done, 0 dead, 0 missing\n  records",
		1: "0 missing\n  unlisted  1 unit of earlier runs that",
		3: "unlisted  3 units of earlier runs that",
	} {
		var b strings.Builder
		r := &report.Report{Units: report.Units{Unlisted: n}}
		if err := r.Text(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("with %d units of earlier runs: %v\n%s", n, err, b.String())
		}
	}
	for _, c := range []struct {
		says          string
		dead, missing int
		want, not     string
	}{
		{"what it cost", 0, 0, "  cost      12,345.6 GB-s, 2,345,678 requests, about $1.24\n", "…"},
		{"twenty dead units", 20, 0, "  dead      crashed after 5 attempts: x\n", "…"},
		{"one that is missing, and no reason beside", 0, 1, "  missing   the unit that begins at \"k\"\n", "(missing)"},
		{"more, counted", 25, 0, "  dead      … and 5 more, in the JSON report\n", "missing   "},
		{"more than the JSON names", 0, 100_000, "  missing   … and 99,980 more, 9,980 of them in the JSON report\n", "dead      "},
	} {
		t.Run(c.says, func(t *testing.T) {
			if got := text(c.dead, c.missing); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("no %q, or some %q in\n%s", c.want, c.not, got)
			}
		})
	}
}

func TestTheTextOfAContinuousJobHasNoPlan(t *testing.T) {
	r := &report.Report{
		Job: "j-live", Run: 1, State: report.Running, Continuous: true,
		Objects: report.Objects{Done: 7, Overwritten: 2}, Units: report.Units{Done: 5, Dead: 1},
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"job j-live, run 1: running in 0s\n", "  objects   7 done, 0 failed, 2 overwritten\n", "  units     5 done, 1 dead, 0 missing\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	body, err := r.JSON()
	if err != nil || !strings.Contains(string(body), `"continuous": true`) || !strings.Contains(string(body), `"overwritten": 2`) {
		t.Errorf("%s, %v", body, err)
	}
	listed, err := (&report.Report{State: report.Completed}).JSON()
	if err != nil || strings.Contains(string(listed), "continuous") || strings.Contains(string(listed), "overwritten") {
		t.Errorf("of a listed job: %s, %v", listed, err)
	}
}

func TestNothingSecretIsWritten(t *testing.T) {
	r := &report.Report{Job: "j", Callback: "token"}
	body, err := r.JSON()
	if err != nil || strings.Contains(string(body), "token") || !strings.HasSuffix(string(body), "}\n") {
		t.Errorf("%s, %v", body, err)
	}
}
