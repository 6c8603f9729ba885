package crash_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/tests/lambdakit"
)

// tally counts requests.
type tally struct{ writes, reads, queue, asks int }

func count(calls []lambdakit.Call) (n tally) {
	for _, c := range calls {
		switch {
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
	calm := strings.Replace(pipeline("1MiB", ""), "visibility: 5s", "visibility: 2m", 1) // a renewal is a request
	w := newWorld(t, lambdakit.StackOptions{}, calm)
	schedule := w.serve(t, finalizer, 1)[0]
	for i := range units {
		w.put(t, anchor(fmt.Sprintf("u%03d", i)), 1, 0)
	}
	l := w.start(t, lister, lambdakit.Options{})
	l.invoke(t, `{"job":"j"}`)
	n := count(l.proxy.Calls())
	t.Logf("lister of %d units: %+v", units, n)
	if n.writes > units+fixed || n.queue > units/10+2 {
		t.Errorf("a listing of %d units: %+v, want a write a unit and %d others, and a send for ten", units, n, fixed)
	}

	var most tally
	first, asks := true, 0
	w.poll(t, hooks{
		before: func(f *function, _ delivery) { f.proxy.Inject(nil) },
		after: func(f *function, d delivery, o lambdakit.Outcome) {
			n := count(f.proxy.Calls())
			asks += n.asks
			if first { // names its chain and sinks in the job
				first = false
				n.writes--
			}
			if !o.OK() || n.writes > 3 || n.reads > 2 || n.queue > 1 {
				t.Errorf("unit %s: %+v: %v, %+v", d.unit, n, f.proxy.Calls(), o)
			}
			most = tally{max(most.writes, n.writes), max(most.reads, n.reads), max(most.queue, n.queue), 0}
		},
	}, w.start(t, racy, lambdakit.Options{}))
	w.until(t, schedule, 15*time.Second)
	t.Logf("reader, most for a unit: %+v, and %d calls of the finalizer", most, asks)
	if asks > shards { // whoever ends the last unit of a shard asks
		t.Errorf("the finalizer was asked for %d proofs", asks)
	}
	if r := w.report(t, "j", report.Completed); r.Units.Done != units {
		t.Errorf("%+v", r.Units)
	}
	w.checkRows(t)
}
