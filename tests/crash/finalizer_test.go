package crash_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestFinalizerKilledAtEveryCall kills it over jobs that are at their end; then
// one tick has to bring the report and take the job off the live ones.
func TestFinalizerKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, event string // %q stands for the job
		state       report.State
	}{
		{"asked for a proof of a completed job", `{"job":%q}`, report.Completed},
		{"by the schedule, of a failed job", `{}`, report.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
			schedule, victim := w.start(t, finalizer, lambdakit.Options{}), w.start(t, finalizer, lambdakit.Options{})
			event := func(job string) string { return strings.Replace(c.event, "%q", fmt.Sprintf("%q", job), 1) }

			w.plant(t, "whole", c.state)
			schedule.MustInvoke(t, event("whole"))
			all := strikes(schedule.Proxy.Calls(), 0)
			w.ended(t, "whole", c.state)

			struck := map[strike]bool{}
			for _, s := range all {
				job := s.String()
				w.plant(t, job, c.state)
				tr := set(victim, s)
				o, err := victim.Invoke(t.Context(), []byte(event(job)))
				if err != nil {
					t.Fatal(err)
				}
				struck[s] = tr.struck(t, o)
				schedule.MustInvoke(t, `{}`)
				w.ended(t, job, c.state)
			}
			check(t, all, 0, struck)
			t.Logf("%d kills", len(all)-1)
		})
	}
}

// plant puts a job into the ledger whose units have all ended: one of them dead,
// where the job is to fail.
func (w *world) plant(t *testing.T, job string, state report.State) {
	t.Helper()
	refs := w.planned(t, job, 2)
	for i, r := range refs {
		item, err := w.ledger.Begin(t.Context(), r, 1, 5)
		if err == nil && i == 0 && state == report.Failed {
			_, err = w.ledger.Dead(t.Context(), r, item.Serial, ledger.Cause{Reason: failure.NotFound, Detail: "gone", Record: -1})
		} else if err == nil {
			_, err = w.ledger.Done(t.Context(), r, ledger.Counts{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// planned puts a job into the ledger that is listed and whose units are open.
func (w *world) planned(t *testing.T, job string, units int) []ledger.Ref {
	t.Helper()
	var refs []ledger.Ref
	page := ledger.Page{Last: "z"}
	for i := range units {
		u := &unit.Unit{Job: job, Run: 1, Bucket: w.Name, Objects: []unit.Object{{Key: fmt.Sprintf("in/%s/%d", job, i), Size: 1}}}
		body, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ledger.Ref{Job: job, Run: 1, ID: u.ID()})
		page.Units = append(page.Units, ledger.Planned{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: 1, Body: body})
		page.Inventory.Objects++
	}
	lease := ledger.Lease{Job: job, Run: 1, Holder: "test"}
	for what, call := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := w.ledger.Start(ctx, job, ledger.Start{}); return err },
		func(ctx context.Context) error { _, err := w.ledger.Lease(ctx, lease); return err },
		func(ctx context.Context) (err error) { page, _, err = w.ledger.Publish(ctx, lease, page); return err },
		func(ctx context.Context) error { return w.ledger.Advance(ctx, lease, page) },
		func(ctx context.Context) error { return w.ledger.Finish(ctx, lease) },
	} {
		if err := call(t.Context()); err != nil {
			t.Fatalf("step %d: %v", what, err)
		}
	}
	return refs
}

// ended checks that the job is reported and not live.
func (w *world) ended(t *testing.T, job string, state report.State) {
	t.Helper()
	live, err := w.ledger.Live(t.Context())
	if err != nil || len(live) > 0 {
		t.Errorf("job %s: live are %v, %v", job, live, err)
	}
	r := w.report(t, job, state)
	want := report.Units{Planned: 2, Done: 2}
	if state == report.Failed {
		want = report.Units{Planned: 2, Done: 1, Dead: 1}
	}
	if r.Units != want || len(r.Dead) != want.Dead {
		t.Errorf("job %s: %+v, dead: %+v", job, r.Units, r.Dead)
	}
	key := "reports/" + report.SuccessKey(job, 1)
	_, err = w.S3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &w.Name, Key: &key})
	if marked := err == nil; marked != (state == report.Completed) {
		t.Errorf("job %s is %s, and its marker: %v", job, state, err)
	}
}

// TestFinalizerKilledWhileItSends kills it over jobs of which something is to be
// sent. After the next tick it must be in the feed, and not be due for ever.
func TestFinalizerKilledWhileItSends(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ask  func(ctx context.Context, w *world, refs []ledger.Ref) error
		due  int // of the units, the first so many
	}{
		{"units that are due again", func(ctx context.Context, w *world, refs []ledger.Ref) (err error) {
			for _, r := range refs[:2] {
				item, e := w.ledger.Begin(ctx, r, 1, 5)
				if err = e; err == nil {
					err = w.ledger.Pause(ctx, r, item.Serial, ledger.Cursor{}, ledger.Counts{})
				}
			}
			return err
		}, 2},
		{"every open unit, as was asked for", func(ctx context.Context, w *world, refs []ledger.Ref) error {
			_, err := w.ledger.Redrive(ctx, refs[0].Job, 1)
			return err
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
			schedule, victim := w.start(t, finalizer, lambdakit.Options{}), w.start(t, finalizer, lambdakit.Options{})
			wanted := map[unit.ID]bool{}
			plant := func(job string) []ledger.Ref {
				refs := w.planned(t, job, 3)
				if err := c.ask(t.Context(), w, refs); err != nil {
					t.Fatal(err)
				}
				for _, r := range refs[:c.due] {
					wanted[r.ID] = true
				}
				return refs
			}
			refs := plant("whole")
			schedule.Proxy.Inject(nil)
			schedule.MustInvoke(t, `{}`)
			all := strikes(schedule.Proxy.Calls(), 0)
			w.nothingDue(t, refs)

			struck := map[strike]bool{}
			for _, s := range all {
				refs := plant(s.String())
				tr := set(victim, s)
				o, err := victim.Invoke(t.Context(), []byte(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				struck[s] = tr.struck(t, o)
				schedule.MustInvoke(t, `{}`)
				w.nothingDue(t, refs)
			}
			check(t, all, 0, struck)
			for _, id := range w.drain(t) {
				delete(wanted, id)
			}
			if len(wanted) > 0 {
				t.Errorf("%d units were not sent: %v", len(wanted), wanted)
			}
		})
	}
}

// nothingDue checks that all was sent that was to be, and ends the job.
func (w *world) nothingDue(t *testing.T, refs []ledger.Ref) {
	t.Helper()
	job := refs[0].Job
	m := w.meta(t, job)
	if m.Swept != m.Ask {
		t.Errorf("job %s: a send is due: asked for %d, met %d", job, m.Ask, m.Swept)
	}
	err := w.ledger.Due(t.Context(), job, 1, func(todo ledger.Todo) error { return fmt.Errorf("%s is due", todo.ID) })
	if err == nil {
		err = w.ledger.Conclude(t.Context(), job, 1, m.Generation, ledger.Cancelled)
	}
	if err == nil {
		err = w.ledger.Retire(t.Context(), job, 1, m.Generation)
	}
	if err != nil {
		t.Fatalf("job %s: %v", job, err)
	}
}
