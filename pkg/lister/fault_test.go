package lister_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// sweep runs body with a world whose n-th call is the first to fail, for every n
// until no call is left, not applied and applied with the answer lost.
func sweep(t *testing.T, newWorld func(*testing.T) *world, body func(w *world)) {
	for _, applied := range []bool{false, true} {
		calls := 0
		for n := 1; ; n++ {
			t.Run(fmt.Sprintf("call %d fails, applied %v", n, applied), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.at, w.applied = n, applied
					body(w)
					calls = w.seen()
				})
			})
			if t.Failed() {
				return
			}
			if calls < n {
				break // there was no n-th call to fail
			}
		}
		if calls < 15 {
			t.Errorf("only %d calls were made", calls)
		}
	}
}

func TestALostConnectionAtAnyCallCostsTimeOnly(t *testing.T) {
	sweep(t, newZoo, func(w *world) {
		if err := w.run(zooOptions()); err != nil {
			w.t.Fatal(err)
		}
		w.check(zooOptions())
	})
}

func TestACrashAtAnyCallLosesAndDoublesNothing(t *testing.T) {
	crash := failure.New(failure.Job, failure.Config, errors.New("the process is gone"))
	sweep(t, newZoo, func(w *world) {
		w.err, w.span = crash, 1<<30
		err := w.run(zooOptions())
		dead := w.fault
		w.fault = &fault{}
		if err == nil {
			if dead.seen() >= dead.at {
				w.t.Fatal("a crash went by unnoticed")
			}
		} else if err := w.run(zooOptions()); err != nil {
			w.t.Fatal(err)
		}
		w.check(zooOptions())
		w.fault = dead
	})
}

func TestACrashWithinAnObjectOfManyRangesLosesNothing(t *testing.T) {
	crash := failure.New(failure.Job, failure.Config, errors.New("the process is gone"))
	for n := 1; ; n += 7 {
		w := newWorld(t, huge())
		w.fault = &fault{at: n, span: 1 << 30, applied: n%2 == 0, err: crash}
		if err := w.run(zooOptions()); err == nil {
			break
		}
		w.fault = &fault{}
		if err := w.run(zooOptions()); err != nil {
			t.Fatal(err)
		}
		w.check(zooOptions())
	}
}

func TestTheSameListingGivesTheSamePagesWhateverHappened(t *testing.T) {
	a, b := newZoo(t), newZoo(t)
	if err := errors.Join(a.run(zooOptions()), b.run(zooOptions()), b.run(zooOptions())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(a.pages, a.pages...), b.pages); diff != "" {
		t.Errorf("listed again, the ledger's pages differ:\n%s", diff)
	}
	if diff := cmp.Diff(a.sent, b.sent); diff != "" {
		t.Errorf("listed again, the units differ:\n%s", diff)
	}
	b.check(zooOptions())
}

func TestWhatIsDoneIsNotSentAgain(t *testing.T) {
	w := newZoo(t)
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	var done unit.ID
	for id := range w.sent {
		done = id
		break
	}
	w.finish(done)
	before := len(w.sent)
	clear(w.sent)
	if err := w.run(zooOptions()); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.sent[done]; ok || len(w.sent) != before-1 {
		t.Errorf("%d of %d units sent again, the done one among them: %v", len(w.sent), before, ok)
	}
}
