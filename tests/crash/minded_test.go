package crash_test

import (
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/tests/lambdakit"
)

// hourAgo is the ledger as it would have been written an hour ago.
func (w *world) hourAgo(job string) *ledgerOf {
	past := func() time.Time { return time.Now().Add(-time.Hour) }
	return &ledgerOf{dynamoledger.New(w.Dynamo, w.Name, dynamoledger.Options{Now: past}), job}
}

// TestFinalizerKilledOverAContinuousJob kills a tick over a job of which something
// is due. The ticks after it must bring all of that to its end, and once.
func TestFinalizerKilledOverAContinuousJob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		plant   func(t *testing.T, w *world, l *ledgerOf)
		objects int
	}{
		{"what is due and keys to be looked at again", due, 3},
		{"units whose messages are lost", lost, 2},
		{"a sink that was down", probed, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lambdakit.StackOptions{Visibility: 15 * time.Second}, pipeline("1MiB", ", settling_window: 3s"))
			schedule, victim := w.start(t, finalizer, lambdakit.Options{}), w.start(t, finalizer, lambdakit.Options{})
			w.poll(t, hooks{}, w.start(t, reader, lambdakit.Options{}))
			var start ledger.Start
			plant := func(job string, put func(*testing.T, *world, *ledgerOf)) {
				if _, err := w.ledger.Open(t.Context(), job, start); err != nil {
					t.Fatal(err)
				}
				put(t, w, w.hourAgo(job))
			}
			plant("first", lost) // of which a reader says what it works by
			w.rest(t, "first", schedule)
			start.Digests = w.meta(t, "first").Digests
			w.retire(t, "first")
			plant("whole", c.plant)
			schedule.Proxy.Inject(nil)
			schedule.MustInvoke(t, "{}")
			all := strikesByOp(schedule.Proxy.Calls()) // units are looked for in the order of their ids
			w.rest(t, "whole", schedule)
			w.retire(t, "whole")

			struck := map[strike]bool{}
			jobs := []string{"whole"}
			for _, s := range all {
				job := s.String()
				jobs = append(jobs, job)
				plant(job, c.plant)
				tr := set(victim, s)
				o, err := victim.Invoke(t.Context(), []byte("{}"))
				if err != nil {
					t.Fatal(err)
				}
				struck[s] = tr.struck(t, o)
				t.Logf("kill %v: %v", s, tr.hit.Load())
				w.rest(t, job, schedule)
				w.retire(t, job)
			}
			check(t, all, 0, struck)
			w.checkRows(t)
			w.checkClaims(t, c.objects, jobs...)
			if letters := w.letters(t); len(letters) > 0 {
				t.Errorf("units given up: %v", letters)
			}
		})
	}
}

// due is a unit that paused, a key whose current version nobody has, and one whose
// current version was overtaken when it was claimed.
func due(t *testing.T, w *world, l *ledgerOf) {
	t.Helper()
	for _, key := range []string{"/back", "/new", "/paused"} {
		w.put(t, l.job+key, 2, 0)
	}
	o := w.objects(t, "in/"+l.job+"/")
	back, fresh, paused := o[0], o[1], o[2]
	r, _ := w.entered(t, l, back)
	l.passed(t, r, 0, back)
	r, _ = w.entered(t, l, paused)
	item, err := l.Begin(t.Context(), r, 1, 5)
	if err == nil {
		err = l.Pause(t.Context(), r, item.Serial, ledger.Cursor{}, ledger.Counts{})
	}
	if err == nil {
		err = l.Again(t.Context(), l.job, back)
	}
	if err == nil {
		err = l.Again(t.Context(), l.job, fresh)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lost are units that were entered and are in no queue.
func lost(t *testing.T, w *world, l *ledgerOf) {
	t.Helper()
	for _, key := range []string{"/a", "/b"} {
		w.put(t, l.job+key, 2, 0)
		w.entered(t, l, w.objects(t, "in/"+l.job+key)...)
	}
}

// probed are units whose messages were acked because the sink was down.
func probed(t *testing.T, w *world, l *ledgerOf) {
	t.Helper()
	lost(t, w, l)
	h := ledger.Halt{Reason: failure.SinkDown, Detail: "503", At: time.Now()}
	if won, err := l.Halt(t.Context(), l.job, h); err != nil || !won {
		t.Fatalf("halt: %v, %v", won, err)
	}
}

// retire ends a continuous job.
func (w *world) retire(t *testing.T, job string) {
	t.Helper()
	m := w.meta(t, job)
	err := w.ledger.Conclude(t.Context(), job, 1, m.Generation, ledger.Cancelled)
	if err == nil {
		err = w.ledger.Retire(t.Context(), job, 1, m.Generation)
	}
	if err != nil {
		t.Fatalf("job %s: %v", job, err)
	}
}
