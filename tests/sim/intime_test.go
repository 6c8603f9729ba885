package sim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a job's end may take from the moment that its last unit is done: by itself
// no more than the calls, and two looks of the schedule where something was
// killed.
const (
	endsBy = 2 * time.Second
	lateBy = 2 * time.Minute
)

// TestAJobEndsInTimeWhateverIsKilledBehindItsLastUnit kills whoever makes the n-th
// effect from the end of the last unit on, for every n.
func TestAJobEndsInTimeWhateverIsKilledBehindItsLastUnit(t *testing.T) {
	if took, _ := endOf(t, 0, applied, 0); took > endsBy {
		t.Errorf("undisturbed it takes %v", took)
	}
	longest, kills := time.Duration(0), 0
	for _, kind := range []string{crashBefore, crashAfter} {
		for _, since := range []time.Duration{0, 20 * time.Second, 59 * time.Second} { // a tick
			for n := 1; ; n++ {
				took, struck := endOf(t, n, kind, since)
				if struck == "" {
					break
				}
				kills++
				if longest = max(longest, took); took > lateBy {
					t.Errorf("%s%s: the job ends %v after its last unit, which is done %v after a tick", struck, kind, took, since)
				}
			}
		}
	}
	t.Logf("%d kills, the latest end is %v after the last unit's", kills, longest)
	if kills < 60 {
		t.Errorf("%d kills", kills)
	}
}

// endOf is how long after its last unit a job is reported and told of, where the
// n-th effect from then on is that actor's last: struck says which. The last unit
// is done that long after a tick.
func endOf(t *testing.T, n int, kind string, since time.Duration) (took time.Duration, struck string) {
	t.Helper()
	var w *world
	synctest.Test(t, func(*testing.T) {
		w = newWorld(1)
		defer w.stop()
		w.kinds["lag"] = true // the counters miss a unit whose reader was killed
		w.store.put("ka", 8, headBytes)
		effects := -1
		w.script = func(k *ask) (f fate, slow time.Duration, frozen bool) {
			if effects < 0 {
				switch verb(k.what) {
				case "get": // the unit's only one
					return f, since, false
				case "Done":
					effects = 0
				default:
					return f, 0, false
				}
			}
			if effects++; effects == n {
				struck, f.kind = k.name+" "+k.what, kind
			}
			return f, 0, false
		}
		w.operator("start")
		w.run(w, time.Now().Add(time.Hour), func() bool { return len(w.queue.messages) == 0 && w.still() })
		w.laws.rest()
	})
	var done, end time.Time
	for _, e := range w.record {
		if e.fate != applied && e.fate != crashAfter {
			continue
		}
		switch {
		case done.IsZero() && verb(e.what) == "Done":
			done = e.at
		case strings.HasPrefix(e.what, "put "), strings.HasPrefix(e.what, "announce "):
			end = e.at
		}
	}
	if len(w.broken) > 0 || end.IsZero() {
		t.Fatalf("kill %d%s at %s: the job is %s\n%s\n%s", n, kind, struck, w.meta().State, strings.Join(w.broken, "\n"), w.trace())
	}
	return end.Sub(done), struck
}
