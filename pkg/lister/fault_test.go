package lister_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// sweep runs body with a world of which one call meets a fault: for every
// operation the first call of it, the second and so on until no call is left,
// not applied and applied with the answer lost.
func sweep(t *testing.T, newWorld func(*testing.T) *world, body func(w *world)) {
	for _, applied := range []bool{false, true} {
		for _, op := range operations {
			for n, left := 1, true; left; n++ {
				t.Run(fmt.Sprintf("%s %d, applied %v", op, n, applied), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						f := w.fault
						f.op, f.at, f.applied = op, n, applied
						body(w)
						left = f.seen(op) >= n
					})
				})
				if t.Failed() {
					return
				}
				if n == 1 && !left && op != "ReadRange" {
					t.Errorf("%s was not called", op)
				}
			}
		}
	}
}

var errCrash = failure.New(failure.Job, failure.Config, errors.New("the process is gone"))

func TestALostConnectionAtAnyCallCostsTimeOnly(t *testing.T) {
	sweep(t, newSlowZoo, func(w *world) {
		if err := w.run(zooOptions()); err != nil {
			w.t.Fatal(err)
		}
		w.check(zooOptions())
	})
}

// outcome is what a listing comes to.
type outcome struct {
	sent      map[unit.ID][]byte
	inventory ledger.Inventory
}

// undisturbed is the outcome of a world to which nothing happens.
func undisturbed(t *testing.T, newWorld func(*testing.T) *world) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.run(zooOptions()); err != nil {
			t.Fatal(err)
		}
		w.check(zooOptions())
		o = outcome{w.sent, w.meta().Inventory}
	})
	return o
}

// same checks that the outcome is o, with the same bytes in the same units.
func (w *world) same(o outcome) {
	w.t.Helper()
	if !maps.EqualFunc(o.sent, w.sent, bytes.Equal) {
		w.t.Errorf("units (-undisturbed +got):\n%s", cmp.Diff(o.sent, w.sent))
	}
	m := w.meta()
	if !m.Listed || m.Planned != len(o.sent) || m.Inventory != o.inventory || len(w.open()) != len(o.sent) {
		w.t.Errorf("%+v, want %d units planned, and %+v", m, len(o.sent), o.inventory)
	}
	w.chain()
}

// newSlowZoo is listed so slowly that each page of the listing makes one of the
// ledger.
func newSlowZoo(t *testing.T) *world {
	w := newZoo(t)
	w.slow = time.Second
	return w
}

func newHuge(t *testing.T) *world { return newWorld(t, huge()) }

func TestACrashAtAnyCallLosesAndDoublesNothing(t *testing.T) {
	for name, newWorld := range map[string]func(*testing.T) *world{
		"between objects": newSlowZoo, "within an object of many ranges": newHuge,
	} {
		t.Run(name, func(t *testing.T) {
			want := undisturbed(t, newWorld)
			sweep(t, newWorld, func(w *world) {
				w.err, w.dies = errCrash, true
				if err := w.run(zooOptions()); err != nil {
					if err := w.next(zooOptions()); err != nil && !(errors.Is(err, ledger.ErrState) && w.finished) {
						w.t.Fatal(err)
					}
				}
				w.same(want)
			})
		})
	}
}

// A lister that is frozen at any call, wakes when another one has listed all, and
// finds that it can do no more.
func TestAListerThatWakesLateChangesNothing(t *testing.T) {
	for name, newWorld := range map[string]func(*testing.T) *world{
		"between objects": newSlowZoo, "within an object of many ranges": newHuge,
	} {
		t.Run(name, func(t *testing.T) {
			want := undisturbed(t, newWorld)
			sweep(t, newWorld, func(w *world) {
				f := w.fault
				f.wakes = make(chan struct{})
				late := make(chan error, 1)
				go func() { late <- w.run(zooOptions()) }()
				time.Sleep(time.Minute)         // enough for all of it
				if synctest.Wait(); !f.struck { // no such call
					if err := <-late; err != nil {
						w.t.Error(err)
					}
					return
				}
				err := w.next(zooOptions())
				if err != nil && !errors.Is(err, ledger.ErrState) { // the frozen one may have finished
					w.t.Fatal(err)
				}
				m, pages := w.meta(), len(w.pages)
				close(f.wakes)
				if err := <-late; err != nil && !errors.Is(err, ledger.ErrState) && !errors.Is(err, ledger.ErrLeased) {
					w.t.Errorf("the late one says %v", err)
				}
				if d := cmp.Diff(m, w.meta()); d != "" || len(w.pages) != pages {
					w.t.Errorf("the late one changed the job (-before +after):\n%s", d)
				}
				w.same(want)
			})
		})
	}
}
