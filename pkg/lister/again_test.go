package lister_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// restart ends the run, with the given units done and the others dead, and starts
// the next one, of which nothing is sent yet.
func (w *world) restart(done ...unit.ID) {
	w.t.Helper()
	ctx, m := context.Background(), w.meta()
	for _, id := range done {
		if _, err := w.ledger.Done(ctx, ledger.Ref{Job: "job", Run: m.Run, ID: id}, ledger.Counts{}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.ledger.Conclude(ctx, "job", m.Run, m.Generation, ledger.Failed); err != nil {
		w.t.Fatal(err)
	}
	w.token += "+"
	clear(w.sent)
	clear(w.known)
	clear(w.owed)
	w.pages = nil
}

// some are the ids of the units sent, in order, but for every third.
func (w *world) some() (some []unit.ID) {
	for i, id := range slices.Sorted(maps.Keys(w.sent)) {
		if i%3 > 0 {
			some = append(some, id)
		}
	}
	return some
}

// The next run of a job lists anew, sends what is not done and tells of the rest,
// whatever happens to its listers.
func TestWhatIsDoneIsNotSentAgain(t *testing.T) {
	for _, op := range []string{"", "Publish", "Send", "Advance"} {
		for _, applied := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newSlowZoo(t)
				if err := w.run(zooOptions()); err != nil {
					t.Fatal(err)
				}
				all, done := len(w.sent), w.some()
				w.restart(done...)
				w.fault = &fault{op: op, at: 3, applied: applied, err: errCrash, dies: true}
				kept := map[unit.ID]bool{}
				o := zooOptions()
				o.Kept = func(u *unit.Unit) { kept[u.ID()] = true }
				err := w.run(o)
				if (err != nil) != (op != "") {
					t.Fatal(err)
				}
				if err != nil {
					w.remove("p/00/small.json") // so that a page would be another one now
					if err := w.next(o); err != nil {
						t.Fatal(err)
					}
				}
				m := w.meta()
				if m.Run != 2 || m.Planned != all || len(w.sent) != all-len(done) {
					t.Errorf("%s, applied %v: %d units of %d were sent in run %d, %d are done", op, applied, len(w.sent), m.Planned, m.Run, len(done))
				}
				if d := cmp.Diff(done, slices.Sorted(maps.Keys(kept))); d != "" {
					t.Errorf("%s, applied %v: told of (-want +got):\n%s", op, applied, d)
				}
			})
		}
	}
}

// A page that another lister entered holds units that this one has not packed.
func TestWhatIsDoneOfAnotherListersPageIsToldOf(t *testing.T) {
	for says, change := range map[string]func(w *world){
		"where nothing is listed any more": func(w *world) { w.objects = nil },
		"where other units are packed now": func(w *world) { w.remove("p/00/small.json") },
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newZoo(t)
				w.size = 1000
				if err := w.run(zooOptions()); err != nil {
					t.Fatal(err)
				}
				done := slices.Sorted(maps.Keys(w.sent))
				w.restart(done...)
				w.fault = &fault{op: "Publish", at: 1, applied: true, err: errCrash, dies: true}
				if err := w.run(zooOptions()); err == nil {
					t.Fatal("nothing happened")
				}
				change(w)
				var kept []unit.ID
				o := zooOptions()
				o.Kept = func(u *unit.Unit) { kept = append(kept, u.ID()) }
				if err := w.next(o); err != nil {
					t.Fatal(err)
				}
				var want []unit.ID
				for _, p := range w.pages {
					for _, u := range p.Units {
						want = append(want, u.ID)
					}
				}
				if d := cmp.Diff(want, kept); d != "" || len(want) == 0 || len(w.sent) > 0 {
					t.Errorf("%d units were sent, told of (-want +got):\n%s", len(w.sent), d)
				}
			})
		})
	}
}
