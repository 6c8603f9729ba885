package crash_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestReaderKilledAtEveryCall gives each kill a job of one unit, so that each
// meets the first reader of a job and the last, which asks for the proof.
func TestReaderKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{Visibility: 15 * time.Second}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 2)[0]
	list := w.start(t, lister, lambdakit.Options{})
	list.Proxy.Inject(func(c lambdakit.Call) (f lambdakit.Fault) {
		if c.Service == "lambda" { // to ask for a proof, too early
			f.Status = 202
		}
		return f
	})
	start := func(job string) {
		w.put(t, job+"/a", 3, 0)
		w.put(t, job+"/b.gz", 3, 0)
		w.put(t, job+"/c", 2, 0)
		list.MustInvoke(t, fmt.Sprintf(`{"job":%q,"url":"s3://%s/in/%s/"}`, job, w.Name, job))
	}

	start("whole")
	first := w.start(t, reader, lambdakit.Options{})
	done := make(chan []lambdakit.Call, 1)
	stop := w.poll(t, hooks{after: func(f *function, _ delivery, _ lambdakit.Outcome) { done <- f.Proxy.Calls() }}, first)
	calls := <-done
	stop()

	all := strikes(calls, 0)
	of := map[string]strike{} // by job
	for _, s := range all {
		start(s.String())
		of[s.String()] = s
	}
	swept := newSweep(t, func(d delivery) (strike, bool) { return of[d.job], true })
	w.poll(t, swept.hooks(false), first, w.start(t, reader, lambdakit.Options{}))
	w.until(t, schedule, 10*time.Second)

	check(t, all, 0, swept.struck())
	w.checkRows(t)
	for job := range of {
		r := w.report(t, job, report.Completed)
		if r.Units.Done != 1 || r.Records.In != 8 || r.Records.Out != 8 {
			t.Errorf("job %s: %+v, %+v", job, r.Units, r.Records)
		}
	}
}
