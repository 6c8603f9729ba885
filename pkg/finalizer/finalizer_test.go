package finalizer_test

import (
	"context"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// job is a started job of units a, b and c, one object each.
type job struct {
	*testing.T
	*memledger.Ledger
}

func newJob(t *testing.T) job {
	j := job{t, memledger.New()}
	lease := j.start()
	page := ledger.Page{Last: "c", Inventory: ledger.Inventory{Objects: 3, Empty: 2, Directory: 1}}
	for _, id := range []unit.ID{"a", "b", "c"} {
		page.Units = append(page.Units, ledger.Planned{ID: id, FirstKey: "key-" + string(id), Objects: 1})
	}
	page, _, err := j.Publish(t.Context(), lease, page)
	j.must(page, err)
	j.must(nil, j.Advance(t.Context(), lease, page))
	return j
}

func (j job) start() ledger.Lease {
	j.Helper()
	j.must(j.Start(j.Context(), "j", ledger.Start{}))
	lease := ledger.Lease{Job: "j", Run: 1, Holder: "lister"}
	j.must(j.Lease(j.Context(), lease))
	return lease
}

func (j job) must(_ any, err error) {
	j.Helper()
	if err != nil {
		j.Fatal(err)
	}
}

func (j job) finish() {
	j.Helper()
	j.must(nil, j.Finish(j.Context(), ledger.Lease{Job: "j", Run: 1, Holder: "lister"}))
}

func (j job) done(id unit.ID) {
	j.Helper()
	c := unit.Counts{Counts: record.Counts{In: 5, Out: 4, Filtered: 1}}
	j.must(j.Done(j.Context(), ledger.Ref{Job: "j", Run: 1, ID: id}, c))
}

func (j job) dead(id unit.ID) {
	j.Helper()
	r := ledger.Ref{Job: "j", Run: 1, ID: id}
	i, err := j.Begin(j.Context(), r, 1, 1)
	j.must(i, err)
	j.must(j.Dead(j.Context(), r, i.Serial, ledger.Cause{
		Reason: failure.NotFound, Detail: "gone", Record: -1, Objects: []unit.Object{{Key: "key-" + string(id)}},
	}))
}

func (j job) prove(want bool) {
	j.Helper()
	got, err := finalizer.New(j.Ledger).Prove(j.Context(), "j")
	if err != nil || got != want {
		j.Errorf("ended %t, %v; want %t", got, err, want)
	}
}

func (j job) report() *report.Report {
	j.Helper()
	r, err := finalizer.New(j.Ledger).Report(j.Context(), "j")
	j.must(r, err)
	return r
}

func TestAJobIsCompleteOnlyWhenEveryPlannedUnitIsDone(t *testing.T) {
	j := newJob(t)
	j.done("a")
	j.done("b")
	j.done("c")
	j.prove(false) // all done, but the plan is not known to be whole
	j.finish()
	j.prove(true)
	j.prove(true)
	r := j.report()
	if r.State != report.Completed || r.Units != (report.Units{Planned: 3, Done: 3}) {
		t.Errorf("report %+v", r)
	}
	if r.Records != (report.Records{In: 15, Out: 12, Filtered: 3}) {
		t.Errorf("records %+v", r.Records)
	}
	if o := r.Objects; o.Listed != 6 || o.Done != 3 || o.Skipped.Empty != 2 || o.Skipped.Directory != 1 {
		t.Errorf("objects %+v", o)
	}
}

func TestADeadUnitFailsNoJobWhoseListingGoesOn(t *testing.T) {
	j := newJob(t)
	j.dead("a")
	j.done("b")
	j.done("c")
	j.prove(false)
	j.finish()
	j.prove(true)
	if r := j.report(); r.State != report.Failed {
		t.Errorf("state %s", r.State)
	}
}

func TestADeadUnitFailsTheJobOnceNoneIsOpen(t *testing.T) {
	j := newJob(t)
	j.finish()
	j.dead("a")
	j.done("b")
	j.prove(false)
	j.done("c")
	j.prove(true)
	r := j.report()
	if r.State != report.Failed || len(r.Dead) != 1 || r.Dead[0].Objects[0].Key != "key-a" || r.Dead[0].Record != nil {
		t.Errorf("report %+v", r)
	}
	if r.Objects.Failed != 1 || r.Objects.Done != 2 {
		t.Errorf("objects %+v", r.Objects)
	}
}

// Trap 3 of the model: a unit that leaves dead between the proof and the
// verdict.
func TestAVerdictThatAReaderOvertookIsRefused(t *testing.T) {
	j := newJob(t)
	j.finish()
	j.done("b")
	j.done("c")
	j.dead("a")
	late := &overtaken{Ledger: j.Ledger, between: func() { j.done("a") }}
	if ended, err := finalizer.New(late).Prove(t.Context(), "j"); err != nil || ended {
		t.Fatalf("ended %t, %v", ended, err)
	}
	j.prove(true)
	if r := j.report(); r.State != report.Completed {
		t.Errorf("state %s, want completed: every unit is done", r.State)
	}
}

// overtaken runs something after the counting.
type overtaken struct {
	*memledger.Ledger
	between func()
}

func (o *overtaken) Prove(ctx context.Context, job string, run int) (ledger.Census, error) {
	c, err := o.Ledger.Prove(ctx, job, run)
	o.between()
	return c, err
}

func TestAHaltedJobIsReportedWithWhatIsOpen(t *testing.T) {
	j := newJob(t)
	j.finish()
	j.done("a")
	j.must(j.Halt(t.Context(), "j", ledger.Halt{Reason: failure.Denied, Detail: "s3:GetObject on x"}))
	r := j.report()
	if r.State != report.Halted || len(r.Missing) != 2 || r.Missing[0].Reason != failure.Denied || r.Missing[0].Key != "key-b" {
		t.Errorf("report %+v", r)
	}
	if r.Objects.Done != 1 || r.Units.Missing != 2 {
		t.Errorf("objects %+v, units %+v", r.Objects, r.Units)
	}
}

func TestAnEmptyPlanIsComplete(t *testing.T) {
	j := job{t, memledger.New()}
	j.start()
	j.finish()
	j.prove(true)
	if r := j.report(); r.State != report.Completed || r.Units.Planned != 0 {
		t.Errorf("report %+v", r)
	}
}
