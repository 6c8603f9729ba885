package crash_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestUnitOutlivesItsInvocation reads the same objects on two stacks: on one with
// time enough, on the other by functions whose time ends long before a unit does.
// What comes out must be the same, block by block.
func TestUnitOutlivesItsInvocation(t *testing.T) {
	t.Parallel()
	lambdakit.Endpoint(t) // without one there is nothing to compare
	const (
		timeout = 12 * time.Second
		slow    = 3 * time.Second // a read or a write
	)
	run := func(t *testing.T, o lambdakit.Options, delay time.Duration) (*world, *report.Report, map[unit.ID]int) {
		w := newWorld(t, lambdakit.StackOptions{MaxReceives: 20}, pipeline("20MiB", ""))
		w.put(t, "plain", 38<<10, 1<<10) // two ranges of three segments
		w.put(t, "packed.gz", 30<<10, 1<<10)
		schedule := w.serve(t, finalizer, 1)[0]
		w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)
		var (
			fleet  []*function
			slowly = func(c lambdakit.Call) (f lambdakit.Fault) {
				if c.Service == "s3" {
					f.Delay = delay
				}
				return f
			}
		)
		for range 3 {
			f := w.start(t, reader, o)
			f.Proxy.Inject(slowly)
			fleet = append(fleet, f)
		}
		w.poll(t, hooks{}, fleet...)
		w.until(t, schedule, time.Second)
		w.checkRows(t)
		pauses := map[unit.ID]int{}
		for id := range w.items(t)["j"] {
			for _, f := range fleet {
				pauses[id] += strings.Count(f.Logs(), fmt.Sprintf(`"unit":%q,"outcome":"paused"`, id))
			}
		}
		return w, w.report(t, "j", report.Completed), pauses
	}

	var whole, broken *world
	var once, often *report.Report
	t.Run("runs", func(t *testing.T) {
		t.Run("with time enough", func(t *testing.T) {
			t.Parallel()
			var pauses map[unit.ID]int
			whole, once, pauses = run(t, lambdakit.Options{Timeout: 5 * time.Minute}, 0)
			for id, n := range pauses {
				if n > 0 {
					t.Errorf("unit %s paused %d times", id, n)
				}
			}
		})
		t.Run("over several invocations", func(t *testing.T) {
			t.Parallel()
			var pauses map[unit.ID]int
			broken, often, pauses = run(t, lambdakit.Options{Timeout: timeout}, slow)
			for id, n := range pauses {
				t.Logf("unit %s paused %d times", id, n)
				if n == 0 {
					t.Errorf("unit %s did not outlive its invocation", id)
				}
			}
		})
	})
	if whole == nil || broken == nil {
		return // a run failed before its end, and said so
	}
	if once.Units.Done != 3 || once.Records != often.Records || once.Sinks["default"] != often.Sinks["default"] {
		t.Errorf("at once: %+v, %+v, %+v\nover several: %+v, %+v, %+v",
			once.Units, once.Records, once.Sinks, often.Units, often.Records, often.Sinks)
	}
	blocks, parts := whole.bodies(t, "out/"), broken.bodies(t, "out/")
	if len(blocks) != len(parts) || len(blocks) < 3*3 {
		t.Errorf("%d blocks at once, %d over several invocations", len(blocks), len(parts))
	}
	for name, b := range blocks {
		if !bytes.Equal(b, parts[name]) {
			t.Errorf("block %s has %d bytes at once, %d over several invocations", name, len(b), len(parts[name]))
		}
	}
}

// TestNoProgressBeforeTheDeadline is a store too slow for the function's time:
// each attempt fails, and the unit is given up at the last one.
func TestNoProgressBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{MaxReceives: 2}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	w.put(t, anchor("fast"), 2, 0)
	w.write(t, anchor("slow"), []byte("{}\n"))
	w.start(t, lister, lambdakit.Options{}).MustInvoke(t, `{"job":"j"}`)
	slow := w.unitOf(t, "in/"+anchor("slow"))
	f := w.start(t, reader, lambdakit.Options{Timeout: 24 * time.Second})
	w.poll(t, hooks{
		hasten: true,
		before: func(f *function, d delivery) {
			f.Proxy.Inject(func(c lambdakit.Call) (f lambdakit.Fault) {
				if c.Service == "s3" && d.unit == slow {
					f.Delay = time.Minute
				}
				return f
			})
		},
		after: func(_ *function, d delivery, o lambdakit.Outcome) {
			if !o.OK() {
				t.Errorf("delivery %d of %s did not end in time: %+v", d.nth, d.unit, o)
			}
		},
	}, f)
	w.until(t, schedule, 5*time.Second)
	r := w.report(t, "j", report.Failed)
	if len(r.Dead) != 1 || r.Dead[0].Unit != slow || r.Dead[0].Reason != "deadline" || r.Dead[0].Attempts != 2 {
		t.Errorf("dead: %+v", r.Dead)
	}
	if letters := w.letters(t); len(letters) != 1 || letters[0] != slow {
		t.Errorf("dead letters: %v", letters)
	}
	w.checkRows(t)
}
