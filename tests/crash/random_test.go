package crash_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestRandomKills kills the readers of one job two hundred times, no unit more
// than three times, which is less than a unit may take.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	const (
		kills   = 200
		most    = 3 // of a unit
		units   = 120
		calls   = 9 // that a unit costs at least, when its reader is new
		readers = 4
	)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, lambdakit.StackOptions{Visibility: 7 * time.Second}, pipeline("1MiB", ""))
	rows := 0
	for i := range units {
		w.put(t, anchor(fmt.Sprintf("u%03d", i)), 1+i%5, 0)
		rows += 1 + i%5
	}
	schedule := w.serve(t, finalizer, 1)[0]
	w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)

	var (
		mu     sync.Mutex
		struck int
		of     = map[unit.ID]int{} // kills
		traps  = map[*function]*trap{}
		fleet  []*function
	)
	for range readers {
		fleet = append(fleet, w.start(t, reader, lambdakit.Options{}))
	}
	w.poll(t, hooks{
		before: func(f *function, d delivery) {
			mu.Lock()
			defer mu.Unlock()
			if traps[f] = nil; struck < kills && of[d.unit] < most {
				traps[f] = set(f, strike{at: 1 + random.IntN(calls), after: random.IntN(2) == 0})
			} else {
				f.Proxy.Inject(nil)
			}
		},
		after: func(f *function, d delivery, o lambdakit.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			switch tr := traps[f]; {
			case tr != nil && tr.struck(t, o):
				struck++
				of[d.unit]++
			case !o.OK():
				t.Errorf("delivery %d of %s: %+v", d.nth, d.unit, o)
			}
		},
	}, fleet...)
	w.until(t, schedule, 5*time.Second)

	mu.Lock()
	defer mu.Unlock()
	if struck < kills {
		t.Errorf("%d kills struck, of %d", struck, kills)
	}
	r := w.report(t, "j", report.Completed)
	if r.Units != (report.Units{Planned: units, Done: units}) || r.Records.Out != int64(rows) {
		t.Errorf("%+v, %+v, of %d rows", r.Units, r.Records, rows)
	}
	w.checkRows(t)
	t.Logf("%d kills over %d units", struck, len(of))
}

// TestKilledAtEveryDelivery has a unit that no reader survives. The job fails and
// names it, and a redrive to readers that do survive completes the job.
func TestKilledAtEveryDelivery(t *testing.T) {
	t.Parallel()
	const receives = 3
	w := newWorld(t, lambdakit.StackOptions{MaxReceives: receives, Visibility: 4 * time.Second}, pipeline("1MiB", ", settling_window: 8s"))
	var keys []string
	for _, name := range []string{"a", "b", "c"} {
		key := anchor(name)
		keys = append(keys, "in/"+key)
		w.put(t, key, 2, 0)
	}
	schedule := w.serve(t, finalizer, 1)[0]
	w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)
	deadly := w.unitOf(t, keys[1])

	var (
		mu     sync.Mutex
		killed int
	)
	f := w.start(t, reader, lambdakit.Options{})
	stop := w.poll(t, hooks{
		before: func(f *function, d delivery) {
			f.Proxy.Inject(func(c lambdakit.Call) lambdakit.Fault {
				// Where its rows go out, the work on it has begun.
				return lambdakit.Fault{Before: d.unit == deadly && c.Service == "s3" && c.Op == "PUT", Kill: func() { f.Signal() }}
			})
		},
		after: func(_ *function, d delivery, o lambdakit.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			if d.unit == deadly && o.Killed {
				killed++
			}
		},
	}, f)
	w.until(t, schedule, 2*time.Second)
	stop()
	if killed != receives {
		t.Errorf("%d kills struck, of %d", killed, receives)
	}
	r := w.report(t, "j", report.Failed)
	if r.Units != (report.Units{Planned: 3, Done: 2, Dead: 1}) || len(r.Dead) != 1 {
		t.Fatalf("%+v, dead: %+v", r.Units, r.Dead)
	}
	d := r.Dead[0]
	if d.Unit != deadly || d.Reason != "crashed" || d.Attempts != receives || len(d.Objects) != 1 || d.Objects[0].Key != keys[1] {
		t.Errorf("dead: %+v", d)
	}
	if letters := w.letters(t); len(letters) != 1 || letters[0] != deadly {
		t.Errorf("dead letters: %v", letters)
	}

	n, err := w.ledger.Redrive(t.Context(), "j", 1)
	if err != nil || n != 1 {
		t.Fatalf("%d units redriven: %v", n, err)
	}
	f.Proxy.Inject(nil)
	w.poll(t, hooks{}, f)
	w.until(t, schedule, 2*time.Second)
	if r := w.report(t, "j", report.Completed); r.Units != (report.Units{Planned: 3, Done: 3}) || len(r.Dead) != 0 {
		t.Errorf("after the redrive: %+v, dead: %+v", r.Units, r.Dead)
	}
	w.checkRows(t)
}
