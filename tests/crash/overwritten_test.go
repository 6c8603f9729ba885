package crash_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// TestReaderKilledOverAnOverwrittenMember gives each kill a unit of three objects
// that were announced, one of which a newer version has replaced. Nobody announces
// that one: it is for the reader to find.
func TestReaderKilledOverAnOverwrittenMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lambdakit.StackOptions{Visibility: 15 * time.Second}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	w.open(t, w.start(t, intake, lambdakit.Options{}))
	l := &ledgerOf{w.ledger, live}
	plant := func(name string) unit.ID {
		for _, key := range []string{"/a", "/b", "/c"} {
			w.replace(t, name+key, 0, 2)
		}
		objects := w.objects(t, "in/"+name+"/")
		r, body := w.entered(t, l, objects...)
		w.replace(t, name+"/b", 1, 3)
		w.send(t, r, body)
		return r.ID
	}

	first := w.start(t, reader, lambdakit.Options{})
	done := make(chan []lambdakit.Call)
	stop := w.poll(t, hooks{
		before: func(f *function, _ delivery) {
			f.Kill() // so that each begins as a new one
			f.Proxy.Inject(nil)
		},
		after: func(f *function, _ delivery, o lambdakit.Outcome) {
			if !o.OK() {
				t.Errorf("a unit that nothing disturbs: %+v", o)
			}
			done <- f.Proxy.Calls()
		},
	}, first)
	plant("first") // of the job, whose reader says what it works by
	<-done
	plant("whole")
	calls := <-done
	stop()
	if keys := w.keys(t, live); !slices.Equal(slices.Sorted(slices.Values(keys)), []string{"in/first/b", "in/whole/b"}) {
		t.Errorf("to be looked at again: %v", keys)
	}

	all := strikes(calls, 0)
	of := map[unit.ID]strike{}
	for _, s := range all {
		of[plant(s.String())] = s
	}
	swept := newSweep(t, func(d delivery) (strike, bool) { s, planted := of[d.unit]; return s, planted })
	w.poll(t, swept.hooks(true), first, w.start(t, reader, lambdakit.Options{}))
	w.rest(t, live, schedule)

	check(t, all, 0, swept.struck())
	w.checkRows(t)
	// Of each name a, b as it was announced and as it is now, and c.
	w.checkClaims(t, 4*(len(all)+2), live)
	if letters := w.letters(t); len(letters) > 0 {
		t.Errorf("units given up: %v", letters)
	}
}
