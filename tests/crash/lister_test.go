package crash_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// listing is a job whose second run is listed by a lister that is killed.
type listing struct {
	*world
	job   string
	first unit.ID // the unit that its first run read
}

func (l listing) event(token string) string {
	return fmt.Sprintf(`{"job":%q,"url":"s3://%s/in/%s/","token":%q}`, l.job, l.Name, l.job, token)
}

// second puts what the second run finds: of twelve keys a unit that is done, an
// object cut in two, and two units that begin at anchors.
func (l listing) second(t *testing.T) {
	t.Helper()
	l.put(t, l.job+"/b-large", 1200, 1<<10)
	for _, key := range []string{"c-0", "c-1.gz", "c-2", anchor(l.job + "/d")[len(l.job)+1:], "e-0", anchor(l.job + "/f")[len(l.job)+1:], "g-0"} {
		l.put(t, l.job+"/"+key, 2, 0)
	}
	l.write(t, l.job+"/h-empty", nil)
	l.write(t, l.job+"/i/", nil)
}

const (
	unitsOfSecond = 6
	keysOfSecond  = 12

	// Units are sent in batches of what is ready: a listing may make a call or two
	// more or less than the one before.
	slackOfSends = 2
)

// TestListerKilledAtEveryCall gives each kill a job that had a run already. The
// lister's lease outlives it for a minute, which all jobs wait for together, and
// with all other tests: they begin then.
func TestListerKilledAtEveryCall(t *testing.T) {
	w := newWorld(t, lambdakit.StackOptions{}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 2)[0]
	list := w.serve(t, lister, 2)[0]
	readers := []*function{w.start(t, reader, lambdakit.Options{}), w.start(t, reader, lambdakit.Options{})}
	quiet := func(c lambdakit.Call) (f lambdakit.Fault) {
		if c.Service == "lambda" { // first runs are concluded without a proof
			f.Status = 202
		}
		return f
	}
	list.Proxy.Inject(quiet)
	for _, f := range readers {
		f.Proxy.Inject(quiet)
	}
	var mu sync.Mutex
	first := map[unit.ID]bool{}
	again := map[string]bool{} // jobs whose second run sent what their first one read
	w.poll(t, hooks{before: func(_ *function, d delivery) {
		u, err := unit.Decode([]byte(aws.ToString(d.Body)))
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		again[d.job] = again[d.job] || first[d.unit] && u.Run > 1
	}}, readers...)

	begin := func(job string) listing {
		l := listing{world: w, job: job}
		w.put(t, job+"/a-0", 2, 0)
		w.put(t, job+"/a-1", 2, 0)
		list.MustInvoke(t, l.event("first"))
		for l.first = range w.plan(t, job+"/") {
		}
		return l
	}
	whole := begin("whole")
	whole.conclude(t)
	whole.second(t)
	list.Proxy.Inject(nil)
	list.MustInvoke(t, whole.event("second"))
	all := strikes(list.Proxy.Calls(), slackOfSends)

	list.Proxy.Inject(quiet)
	jobs := map[strike]listing{}
	for _, s := range all {
		jobs[s] = begin(s.String())
	}
	for _, l := range jobs {
		l.conclude(t)
		l.second(t)
		mu.Lock()
		first[l.first] = true
		mu.Unlock()
	}
	for _, f := range append(readers, list) {
		f.Proxy.Inject(nil)
	}

	struck := map[strike]bool{}
	victim := w.start(t, lister, lambdakit.Options{})
	for _, s := range all {
		tr := set(victim, s)
		o, err := victim.Invoke(t.Context(), []byte(jobs[s].event("second")))
		if err != nil {
			t.Fatal(err)
		}
		struck[s] = tr.struck(t, o)
		t.Logf("kill %v: %v", s, tr.hit.Load())
	}
	check(t, all, slackOfSends, struck)
	for _, l := range jobs { // of a start that came to nothing whoever asked for it knows, and asks again
		if w.meta(t, l.job).Run == 1 {
			list.MustInvoke(t, l.event("second"))
		}
	}
	schedule.MustInvoke(t, "{}") // goes on where no lease keeps it from that
	lapse := time.Now().Add(ledger.LeaseTime)
	t.Parallel()
	time.Sleep(time.Until(lapse))
	schedule.MustInvoke(t, "{}")
	w.until(t, schedule, 15*time.Second)

	w.checkRows(t)
	items := w.items(t)
	for s, l := range jobs {
		l.check(t, items[l.job])
		if again[l.job] {
			t.Errorf("kill %v: what the first run read was sent again", s)
		}
	}
}

// conclude waits for the first run's unit and ends the run.
func (l listing) conclude(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		p, err := l.ledger.Progress(t.Context(), l.job, 1)
		if err != nil {
			t.Fatal(err)
		}
		if p.Done == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the first run of job %s does not end: %+v", l.job, p)
		}
	}
	if err := l.ledger.Conclude(t.Context(), l.job, 1, 0, ledger.Completed); err != nil {
		t.Fatal(err)
	}
	if err := l.ledger.Retire(t.Context(), l.job, 1, 0); err != nil {
		t.Fatal(err)
	}
}

// check compares the job with one whose listing went through at once.
func (l listing) check(t *testing.T, items map[unit.ID]string) {
	t.Helper()
	want := l.plan(t, l.job+"/")
	if len(want) != unitsOfSecond {
		t.Fatalf("job %s has %d units, and its test wants %d", l.job, len(want), unitsOfSecond)
	}
	for id := range want {
		if items[id] != "done" {
			t.Errorf("job %s: unit %s is %q", l.job, id, items[id])
		}
	}
	if len(items) != len(want) {
		t.Errorf("job %s has %d units, of which %d were planned", l.job, len(items), len(want))
	}
	r := l.report(t, l.job, report.Completed)
	if r.Run != 2 || r.Units != (report.Units{Planned: unitsOfSecond, Done: unitsOfSecond}) {
		t.Errorf("job %s, run %d: units %+v", l.job, r.Run, r.Units)
	}
	if o := r.Objects; o.Listed != keysOfSecond || o.Skipped.Empty != 1 || o.Skipped.Directory != 1 {
		t.Errorf("job %s: objects %+v", l.job, o)
	}
}
