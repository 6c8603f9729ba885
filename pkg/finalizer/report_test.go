package finalizer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

func TestTheReportSaysWhatTheJobCost(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b", "c")
	for _, id := range []unit.ID{"a", "b"} {
		w.must(w.l.Done(t.Context(), w.ref("j", id), ledger.Counts{BytesRead: 20 << 20, MemoryTime: 1024 * 1000 * 60}))
	}
	i := w.receive("j", "c", 1)
	w.must(nil, w.l.RestDone(t.Context(), w.ref("j", "c"), i.Serial, ledger.Counts{MemoryTime: 1024 * 1000 * 30}))
	r, err := finalizer.New(w.l).Report(t.Context(), "j")
	w.must(r, err)
	// 2 units: 2 invocations, 7 of the queue, 8 writes, 4 reads, 3 GETs of each of
	// 2 objects, a page.
	if c := r.Cost; c == nil || c.GBSeconds != 150 || c.Requests != 2+7+8+4+6+1 {
		t.Fatalf("cost %+v", c)
	}
	want := 150*0.0000133334 + (2*0.2+7*0.5+8*0.625+4*0.125+6*0.4+5)/1e6
	if math.Abs(r.Cost.Dollars-want) > 1e-12 {
		t.Errorf("%g dollars, want %g", r.Cost.Dollars, want)
	}
	t.Run("where it ran on functions", func(t *testing.T) {
		w := newWorld(t)
		w.listed("j", "a")
		w.done("j", "a")
		w.trigger("j")
		if body := string(w.reports[report.Key("j", 1, 0)]); strings.Contains(body, "cost") || strings.Contains(body, "omitted") || strings.Contains(body, "task-j") {
			t.Error(body)
		}
	})
}

func TestTheReportNamesThePipelinesThatWorkedOnIt(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a")
	for _, p := range []string{"sha-1", "sha-2"} {
		w.must(nil, w.l.Joined(t.Context(), "j", p))
	}
	w.done("j", "a")
	w.trigger("j")
	r := w.ended("j", ledger.Completed)
	if diff := cmp.Diff([]string{"sha-1", "sha-2"}, r.Pipelines); diff != "" {
		t.Error(diff)
	}
	if m := w.meta("j"); !r.Started.Equal(m.Started) || !r.Ended.Equal(m.Ended) || m.Ended.IsZero() {
		t.Errorf("%v to %v, want %v to %v", r.Started, r.Ended, m.Started, m.Ended)
	}
}

func TestWhatALaterRunDidNotListAgainIsCounted(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b", "c")
	w.done("j", "a", "b")
	w.dead("j", "c")
	w.trigger("j")
	if r := w.ended("j", ledger.Failed); r.Units.Unlisted != 0 {
		t.Errorf("the first run left units %+v", r.Units)
	}
	w.listed("j", "a", "d")
	w.done("j", "d")
	w.trigger("j")
	want := report.Units{Planned: 2, Done: 2, Unlisted: 2}
	if r := w.ended("j", ledger.Completed); r.Units != want {
		t.Errorf("units %+v, want %+v", r.Units, want)
	}

	w.opened("live", "a")
	w.done("live", "a")
	w.must(nil, w.l.Conclude(t.Context(), "live", 1, 0, ledger.Cancelled))
	w.must(w.l.Open(t.Context(), "live", ledger.Start{Token: "again"}))
	r, err := finalizer.New(w.l).Report(t.Context(), "live")
	w.must(r, err)
	if r.Run != 2 || r.Units != (report.Units{}) {
		t.Errorf("a continuous job, which lists nothing, left units: run %d, %+v", r.Run, r.Units)
	}
}

func TestARunWhoseListingHasNotEndedLeavesNoUnitBehind(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b", "c")
	w.done("j", "a", "b", "c")
	w.trigger("j")
	w.ended("j", ledger.Completed)
	w.begun("j", "a")
	r, err := finalizer.New(w.l).Report(t.Context(), "j")
	w.must(r, err)
	if r.Units.Unlisted != 0 {
		t.Errorf("the listing may yet come to them: units %+v", r.Units)
	}
	w.must(nil, w.l.Conclude(t.Context(), "j", 2, 0, ledger.Cancelled))
	w.trigger("j")
	if r := w.ended("j", ledger.Cancelled); r.Units.Unlisted != 0 {
		t.Errorf("nobody knows what the listing has left: units %+v", r.Units)
	}
}

func TestWhyAJobFailed(t *testing.T) {
	for _, c := range []struct {
		says, want string
		set        func(*world)
	}{
		{"dead ones", "1 of 3 units are dead", func(w *world) { w.dead("j", "a"); w.done("j", "b", "c") }},
		{"missing ones", "1 of 3 units are missing: no reader worked on them, re-sent 0 times", func(w *world) { w.done("j", "a", "b") }},
		{"both", "1 of 3 units are dead, and 2 are missing: no reader worked on them, re-sent 0 times", func(w *world) { w.dead("j", "a") }},
		{"neither any more", "units that were missing when it failed are done since: a redrive completes it", func(w *world) { w.done("j", "a", "b", "c") }},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := newWorld(t)
			w.listed("j", "a", "b", "c")
			c.set(w)
			w.must(nil, w.l.Conclude(t.Context(), "j", 1, w.meta("j").Generation, ledger.Failed))
			w.must(nil, w.tick())
			if r := w.ended("j", ledger.Failed); r.Reason != c.want {
				t.Error(r.Reason)
			}
		})
	}
}

// many is a run of n open units, of which nothing is kept.
type many struct {
	ledger.Prover
	n, ranges int
}

func (m many) Unfinished(_ context.Context, _ string, _ int, yield func(ledger.Item) error) error {
	i := ledger.Item{State: ledger.Open, Run: 1}
	i.Objects = 1
	for n := range m.n {
		i.ID, i.FirstKey = unit.ID(fmt.Sprintf("s3-%022d", n)), strings.Repeat("k", 900)+fmt.Sprint(n/m.ranges)
		if err := yield(i); err != nil {
			return err
		}
	}
	return nil
}

// INV-6: what a report takes does not grow with what is missing.
func TestTheReportOfAHundredThousandMissingUnitsIsBounded(t *testing.T) {
	const n = 100_000
	w := newWorld(t)
	w.listed("j", "a")
	w.must(nil, w.l.Conclude(t.Context(), "j", 1, 0, ledger.Failed))
	before := heap()
	r, err := finalizer.New(many{w.l, n, 10}).Report(t.Context(), "j")
	w.must(r, err)
	if grew := heap() - before; grew > 24<<20 {
		t.Errorf("the report takes %d MiB", grew>>20)
	}
	named := len(r.Missing)
	if r.Units.Missing != n || named == 0 || named > report.MaxNamed || r.Omitted.Missing != n-named {
		t.Errorf("%d missing, %d named, %d omitted", r.Units.Missing, named, r.Omitted.Missing)
	}
	body, err := r.JSON()
	w.must(body, err)
	if len(body) > 3*report.MaxNamedBytes {
		t.Errorf("%d bytes", len(body))
	}
	brief, err := json.Marshal(r.Brief())
	w.must(brief, err)
	if len(brief) > 64<<10 {
		t.Errorf("in brief %d bytes", len(brief))
	}
	runtime.KeepAlive(r)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestObjectsOfRangesCountOnce(t *testing.T) {
	w := newWorld(t)
	w.listed("j", "a", "b", "c", "d", "e")
	r, err := finalizer.New(many{w.l, 8, 4}).Report(t.Context(), "j")
	w.must(r, err)
	if r.Objects.Done != 5-2 || r.Units.Missing != 8 {
		t.Errorf("objects %+v, units %+v", r.Objects, r.Units)
	}
	t.Run("also where one range of it is dead, and another open", func(t *testing.T) {
		r, err := finalizer.New(ranges{w.l}).Report(t.Context(), "j")
		w.must(r, err)
		if r.Objects.Failed != 1 || r.Objects.Done != 5-1 {
			t.Errorf("objects %+v", r.Objects)
		}
	})
}

// ranges are two of an object.
type ranges struct{ ledger.Prover }

func (ranges) Unfinished(_ context.Context, _ string, _ int, yield func(ledger.Item) error) error {
	p := ledger.Planned{ID: "a", FirstKey: "k", Objects: 1}
	return errors.Join(
		yield(ledger.Item{Planned: p, State: ledger.Open}),
		yield(ledger.Item{Planned: p, State: ledger.Dead, Cause: &ledger.Cause{Objects: []unit.Object{{Key: "k"}}}}))
}
