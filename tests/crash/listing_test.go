package crash_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestListingOutlivesItsInvocation gives a lister so little time that it leaves off
// after the bucket's first page. The schedule has another one go on once the lease
// has lapsed, and what comes of both is what one would have planned.
func TestListingOutlivesItsInvocation(t *testing.T) {
	t.Parallel()
	const (
		objects = 1_100 // two pages
		slow    = 4 * time.Second
		timeout = 18 * time.Second // slow leaves less than a lister keeps in reserve
	)
	w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
	var went atomic.Int64 // invocations of the lister by the schedule
	w.lambda.Each = func(name string, _ []byte, o lambdakit.Outcome, err error) {
		if name == w.Name+"-"+lister {
			went.Add(1)
			if err != nil || !o.OK() {
				t.Errorf("a lister that was called to go on: %v, %+v", err, o)
			}
		}
	}
	var g errgroup.Group
	g.SetLimit(8)
	for i := range objects {
		g.Go(func() error { return w.rows.Put(t.Context(), fmt.Sprintf("in/%04d", i), 1, 0) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	schedule := w.serve(t, finalizer, 1)[0]
	l := w.start(t, lister, lambdakit.Options{Timeout: timeout})
	w.lambda.Register(w.Name+"-"+lister, l.Function)
	l.Proxy.Inject(func(c lambdakit.Call) (f lambdakit.Fault) {
		if c.Service == "s3" {
			f.Delay = slow
		}
		return f
	})
	w.poll(t, hooks{}, w.start(t, reader, lambdakit.Options{}))
	l.MustInvoke(t, `{"job":"j"}`)
	if m := w.meta(t, "j"); m.Listed {
		t.Error("the first lister had time for all of it")
	}
	w.until(t, schedule, time.Second)

	if went.Load() == 0 {
		t.Error("no other lister was called")
	}
	plan := w.plan(t, "")
	r := w.report(t, "j", report.Completed)
	if r.Units != (report.Units{Planned: len(plan), Done: len(plan)}) || r.Objects.Listed != objects || r.Objects.Done != objects {
		t.Errorf("%+v, %+v, of %d units planned at once", r.Units, r.Objects, len(plan))
	}
	for id := range w.items(t)["j"] {
		if !plan[id] {
			t.Errorf("unit %s is none of those", id)
		}
	}
	w.checkRows(t)
}
