package crash_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/tests/lambdakit"
)

// tally counts requests.
type tally struct{ writes, reads, queue, asks int }

func count(calls []lambdakit.Call) (n tally) {
	for _, c := range calls {
		switch {
		case c.Again: // the endpoint was slow
		case c.Service == "dynamodb" && reads(c):
			n.reads++
		case c.Service == "dynamodb":
			n.writes++
		case c.Service == "sqs":
			n.queue++
		case c.Service == "lambda":
			n.asks++
		}
	}
	return n
}

// TestRequestsPerUnit counts what a unit that goes well costs.
func TestRequestsPerUnit(t *testing.T) {
	t.Parallel()
	const (
		units  = 120
		shards = 64
		fixed  = 12 // writes of a listing, whatever it finds
	)
	w := newWorld(t, lambdakit.StackOptions{}, calm())
	schedule := w.serve(t, finalizer, 1)[0]
	for i := range units {
		w.put(t, anchor(fmt.Sprintf("u%03d", i)), 1, 0)
	}
	l := w.start(t, lister, lambdakit.Options{})
	l.MustInvoke(t, `{"job":"j"}`)
	n := count(l.Proxy.Calls())
	t.Logf("lister of %d units: %+v", units, n)
	if n.writes > units+fixed || n.queue > units/10+2 {
		t.Errorf("a listing of %d units: %+v, want a write a unit and %d others, and a send for ten", units, n, fixed)
	}

	asks := w.countReader(t)
	w.until(t, schedule, 15*time.Second)
	if n := asks.Load(); n > shards { // whoever ends the last unit of a shard asks
		t.Errorf("the finalizer was asked for %d proofs", n)
	}
	if r := w.report(t, "j", report.Completed); r.Units.Done != units {
		t.Errorf("%+v", r.Units)
	}
	w.checkRows(t)
}

// calm is a pipeline whose readers renew no message in a test: that is a request.
func calm() string {
	return strings.Replace(pipeline("1MiB", ""), "visibility: 5s", "visibility: 2m", 1)
}

// countReader has a reader read what is in the feed, and counts what each unit
// costs it. It returns how often the finalizer is asked for a proof.
func (w *world) countReader(t *testing.T) *atomic.Int64 {
	t.Helper()
	var (
		most  tally
		first = true
		asks  = new(atomic.Int64)
	)
	w.poll(t, hooks{
		before: func(f *function, _ delivery) { f.Proxy.Inject(nil) },
		after: func(f *function, d delivery, o lambdakit.Outcome) {
			n := count(f.Proxy.Calls())
			asks.Add(int64(n.asks))
			if first { // names its chain and sinks in the job
				first = false
				n.writes--
			}
			if !o.OK() || n.writes > 3 || n.reads > 2 || n.queue > 1 {
				t.Errorf("unit %s: %+v: %v, %+v", d.unit, n, f.Proxy.Calls(), o)
			}
			most = tally{max(most.writes, n.writes), max(most.reads, n.reads), max(most.queue, n.queue), 0}
		},
	}, w.start(t, racy, lambdakit.Options{}))
	t.Cleanup(func() { t.Logf("reader, most for a unit: %+v, and %d calls of the finalizer", most, asks.Load()) })
	return asks
}

// TestRequestsPerAnnouncedUnit counts what a unit of a continuous job costs that
// goes well: its reader no more than one of a listed job.
func TestRequestsPerAnnouncedUnit(t *testing.T) {
	t.Parallel()
	const (
		units = 120
		fixed = 2 // reads of an invocation
	)
	w := newWorld(t, lambdakit.StackOptions{}, calm())
	f := w.start(t, intake, lambdakit.Options{})
	w.open(t, f)
	for i := range units {
		w.put(t, anchor(fmt.Sprintf("u%03d", i)), 1, 0)
	}
	var bodies []string
	for _, n := range w.notices(t, "") {
		bodies = append(bodies, lambdakit.FromS3(n))
	}
	w.announce(t, bodies...)
	f.Proxy.Inject(nil)
	invocations := 0
	stop := w.take(t, watch{
		before: func(*function, []types.Message) { invocations++ },
		after: func(_ *function, o lambdakit.Outcome) {
			if !well(o) {
				t.Errorf("%+v, %s", o, o.Response)
			}
		},
	}, f)
	for left := 1; left > 0; time.Sleep(100 * time.Millisecond) {
		var err error
		if left, err = w.Depth(t.Context(), w.Intake); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	n := count(f.Proxy.Calls())
	t.Logf("intake of %d units in %d invocations: %+v", units, invocations, n)
	if n.writes > units || n.reads > 2*units+fixed*invocations || n.queue > units/10+invocations {
		t.Errorf("an intake of %d units in %d invocations: %+v, want a transaction and two reads a unit, and a send for ten", units, invocations, n)
	}
	w.countReader(t)
	w.rest(t, live, nil)
	w.checkRows(t)
	w.checkClaims(t, units, live)
}
