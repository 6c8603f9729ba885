package lister_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// crashed returns a world whose lister died at the n-th call of op.
func crashed(t *testing.T, objects []object.Listed, op string, n int, applied bool) *world {
	t.Helper()
	w := newWorld(t, objects)
	w.slow = time.Second
	w.op, w.at, w.applied, w.err, w.dies = op, n, applied, errCrash, true
	if err := w.run(zooOptions()); !errors.Is(err, errCrash) {
		t.Fatalf("it was to die at %s %d, and says %v", op, n, err)
	}
	return w
}

// versions are the ETags of each object in units, with the bytes of each.
func (w *world) versions() map[string]map[string]int64 {
	w.t.Helper()
	of := map[string]map[string]int64{}
	for _, body := range w.sent {
		u, err := unit.Decode(body)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range u.Objects {
			if of[o.Key] == nil {
				of[o.Key] = map[string]int64{}
			}
			if u.Range != nil {
				of[o.Key][o.ETag] += u.Size()
			} else {
				of[o.Key][o.ETag] += o.Size
			}
		}
	}
	return of
}

func TestAListerThatGoesOnWithinAnObjectPlansTheVersionThatWasBegun(t *testing.T) {
	for says, change := range map[string]func(w *world){
		"where it was overwritten": func(w *world) {
			w.put(object.Listed{Object: unit.Object{Key: "b", Size: 1500 * mib, ETag: "new"}})
		},
		"where it was overwritten by what is not cut": func(w *world) {
			w.put(object.Listed{Object: unit.Object{Key: "b", Size: 5, ETag: "new"}})
		},
		"where it was removed":            func(w *world) { w.remove("b") },
		"where another came before it":    func(w *world) { w.put(object.Listed{Object: unit.Object{Key: "ab", Size: 7, ETag: "e"}}) },
		"where it can not be looked at":   func(w *world) { w.heads["b"] = func() ([]byte, error) { return nil, errCrash } },
		"where another came right behind": func(w *world) { w.put(object.Listed{Object: unit.Object{Key: "b\x00", Size: 7, ETag: "e"}}) },
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crashed(t, huge(), "Send", 2, false) // the first page holds ranges of b
				change(w)
				if err := w.next(zooOptions()); err != nil {
					t.Fatal(err)
				}
				all := w.versions()
				got := all["b"]
				if len(got) != 1 || got["b"] != 2100*mib {
					t.Errorf("in units are %v bytes by version, want all of the one that was begun", got)
				}
				m := w.meta()
				if !m.Listed || m.Planned != len(w.sent) || m.Inventory.Bytes < 2140*mib {
					t.Errorf("%+v, and %d units were sent", m, len(w.sent))
				}
				if _, ok := all["ab"]["e"]; ok {
					t.Error("a key before the frontier was listed")
				}
				if _, ok := all["b\x00"]["e"]; ok != strings.Contains(says, "behind") {
					t.Errorf("the key behind was listed: %v", ok)
				}
			})
		})
	}
}

// What was entered and not yet sent stays in the plan, whatever the listing says
// by then: its units are open.
func TestAPageThatWasEnteredIsSentWhateverIsListedLater(t *testing.T) {
	for _, applied := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := crashed(t, zoo(), "Publish", 3, applied)
			entered := w.open()
			w.objects = nil
			if err := w.next(zooOptions()); err != nil {
				t.Fatal(err)
			}
			m := w.meta()
			if len(w.open()) != len(entered) || m.Planned != len(entered) || len(w.sent) != len(entered) || !m.Listed {
				t.Errorf("%d units were entered, %d are open, %d sent, %d planned", len(entered), len(w.open()), len(w.sent), m.Planned)
			}
			var objects int64
			for _, p := range w.pages {
				objects += p.Inventory.Objects
			}
			if m.Inventory.Objects != objects || objects == 0 {
				t.Errorf("%d objects counted, the pages have %d", m.Inventory.Objects, objects)
			}
			w.chain()
		})
	}
}

func TestAListingThatIsCutShortByTimeIsGoneOnWith(t *testing.T) {
	want := undisturbed(t, newSlowZoo)
	for limit, most := time.Second, 0; ; limit += 500 * time.Millisecond {
		listers := 0
		synctest.Test(t, func(t *testing.T) {
			w := newSlowZoo(t)
			o := zooOptions()
			o.Reserve = 1500 * time.Millisecond // a page takes a second
			for err := lister.ErrPaused; err != nil; listers++ {
				time.Sleep(ledger.LeaseTime)
				ctx, cancel := context.WithTimeout(t.Context(), limit+o.Reserve)
				if err = w.runIn(ctx, o); err != nil && !errors.Is(err, lister.ErrPaused) || ctx.Err() != nil {
					t.Fatalf("lister %d says %v, and its time: %v", listers, err, ctx.Err())
				}
				cancel()
			}
			w.same(want)
		})
		most = max(most, listers)
		if listers == 1 && most < 3 {
			t.Errorf("%d listers were at it at most", most)
		}
		if t.Failed() || listers == 1 {
			return
		}
	}
}

// What is closed when time is up is published, however short ago the last page was.
func TestAListerThatPausesLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, full(70))
		w.slow = 300 * time.Millisecond
		o := zooOptions()
		o.Reserve = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), o.Reserve+800*time.Millisecond)
		defer cancel()
		if err := w.runIn(ctx, o); !errors.Is(err, lister.ErrPaused) {
			t.Fatal(err)
		}
		if n := w.meta().Planned; n != 3*7 || len(w.sent) != n {
			t.Errorf("%d units planned and %d sent of three pages of seven", n, len(w.sent))
		}
	})
}

// A lister pauses between two pages of one object, too.
func TestAListerGoesOnWithinAnObjectWhereTimeRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, huge()[1:2]) // which ends with the object
		o := zooOptions()
		for n := 1; ; n++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // less than the reserve
			err := w.runIn(ctx, o)
			cancel()
			if err == nil {
				if n < 3 {
					t.Errorf("%d listers for 2100 units", n)
				}
				break
			}
			if !errors.Is(err, lister.ErrPaused) {
				t.Fatal(err)
			}
			time.Sleep(ledger.LeaseTime)
		}
		w.check(o)
		w.chain()
	})
}

// Another lister had the lease, went on and died, while this one was frozen.
func TestAListerThatWakesGoesOnWhereTheRunStands(t *testing.T) {
	for says, pages := range map[string]int{"a page was entered": 1, "a page was left, and another entered": 2} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, full(28))
				w.slow = time.Second
				frozen := &fault{op: "List", at: 2, wakes: make(chan struct{})}
				w.fault = frozen
				late := make(chan error, 1)
				go func() { late <- w.run(zooOptions()) }()
				time.Sleep(2 * ledger.LeaseTime)
				synctest.Wait()
				w.fault = &fault{op: "Publish", at: pages, applied: true, err: errCrash, dies: true}
				if err := w.run(zooOptions()); !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				w.objects = w.objects[:7]
				time.Sleep(2 * ledger.LeaseTime)
				close(frozen.wakes)
				if err := <-late; err != nil {
					t.Fatal(err)
				}
				if m, n := w.meta(), 7*(1+pages); !m.Listed || m.Planned != n || len(w.sent) != n {
					t.Errorf("%+v, %d units were sent, want %d", m, len(w.sent), n)
				}
				w.chain()
			})
		})
	}
}

func TestAConfigurationThatCutsNothingDoesNotGoOnWithinAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crashed(t, huge(), "Send", 2, false)
		o := zooOptions()
		o.Cut = nil
		time.Sleep(ledger.LeaseTime)
		w.fault = &fault{}
		err := w.run(o)
		if _, reason := failure.Of(err); !failure.Is(err, failure.Job) || reason != failure.Fingerprint || w.meta().Listed {
			t.Errorf("it says %v", err)
		}
	})
}

func TestALeaseThatAnotherHoldsEndsTheRunAtOnce(t *testing.T) {
	w := newZoo(t)
	m := w.start()
	if _, err := w.ledger.Lease(t.Context(), ledger.Lease{Job: "job", Run: m.Run, Holder: "other"}); err != nil {
		t.Fatal(err)
	}
	if err := w.run(zooOptions()); !errors.Is(err, ledger.ErrLeased) || w.seen() != 1 {
		t.Errorf("%v after %d calls", err, w.seen())
	}
}

func TestAJobThatEndsMeanwhileEndsItsListing(t *testing.T) {
	sweep(t, newSlowZoo, func(w *world) {
		w.err = nil // the call is answered, and the job ends before or after it
		w.wakes = make(chan struct{})
		go func() {
			time.Sleep(time.Minute)
			if m := w.meta(); m.State == ledger.Listing {
				if err := w.ledger.Conclude(context.Background(), "job", m.Run, m.Generation, ledger.Cancelled); err != nil {
					w.t.Error(err)
				}
			}
			close(w.wakes)
		}()
		w.start()
		err := w.run(zooOptions())
		if m := w.meta(); (err == nil) != m.Listed || err != nil && !errors.Is(err, ledger.ErrState) {
			w.t.Errorf("the job is %s, and the lister says %v", m.State, err)
		}
		<-w.wakes
	})
}

// A listing that finds nothing for long keeps its lease.
func TestTheLeaseIsHeldAsLongAsTheListerLives(t *testing.T) {
	var objects []object.Listed
	for i := range 40 {
		objects = append(objects, object.Listed{Object: unit.Object{Key: fmt.Sprintf("p/%02d/tmp", i), Size: 9, ETag: "e"}})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(objects, zoo()[0]))
		w.size, w.slow = 1, 25*time.Second
		ended := make(chan error, 1)
		go func() { ended <- w.run(zooOptions()) }()
		for range 100 {
			time.Sleep(10 * time.Second)
			_, err := w.ledger.Lease(t.Context(), ledger.Lease{Job: "job", Run: 1, Holder: "other"})
			if err == nil {
				t.Fatalf("another lister got the lease, at %q", w.meta().Page)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		w.check(zooOptions())
	})
}

// A feed that is full makes its lister wait for longer than a lease stands.
func TestAListerThatWaitedTakesItsLeaseAgain(t *testing.T) {
	want := undisturbed(t, newSlowZoo)
	synctest.Test(t, func(t *testing.T) {
		w := newSlowZoo(t)
		a := &actor{w, w.fault}
		if err := lister.New(a, a, slowly{a, 2 * ledger.LeaseTime}, zooOptions()).Run(t.Context(), "job", w.start()); err != nil {
			t.Fatal(err)
		}
		w.same(want)
	})
}

// TestWhateverHappensToListersThePlanIsSound lets listers crash, freeze and wake
// while keys come and go, and checks what must hold of any such history.
func TestWhateverHappensToListersThePlanIsSound(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { history(t, rand.New(rand.NewPCG(seed, 1))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func history(t *testing.T, rng *rand.Rand) {
	w := newSlowZoo(t)
	if rng.IntN(4) == 0 {
		w.put(huge()...)
	}
	touched := map[string]bool{} // keys that changed
	var late []chan error
	var wakes []chan struct{}
	for range 1 + rng.IntN(4) {
		f := &fault{op: operations[rng.IntN(len(operations))], at: 1 + rng.IntN(6), applied: rng.IntN(2) == 0, err: errCrash, dies: true}
		if rng.IntN(2) == 0 {
			f.wakes, f.dies = make(chan struct{}), false
			wakes = append(wakes, f.wakes)
		}
		w.fault = f
		done := make(chan error, 1)
		late = append(late, done)
		w.start()
		a := &actor{w, f}
		go func() {
			done <- lister.New(a, a, a, zooOptions()).Run(context.Background(), "job", ledger.Meta{Run: 1})
		}()
		time.Sleep(ledger.LeaseTime + time.Duration(rng.IntN(90))*time.Second)
		for range rng.IntN(4) {
			w.mutate(rng, touched)
		}
		if len(wakes) > 0 && rng.IntN(3) == 0 {
			close(wakes[0])
			wakes = wakes[1:]
		}
	}
	if err := w.next(zooOptions()); err != nil && !errors.Is(err, ledger.ErrState) && !errors.Is(err, ledger.ErrLeased) {
		t.Fatal(err)
	}
	for _, c := range wakes {
		close(c)
	}
	for _, c := range late {
		if err := <-c; err != nil && !errors.Is(err, errCrash) && !errors.Is(err, ledger.ErrState) && !errors.Is(err, ledger.ErrLeased) {
			t.Errorf("a lister says %v", err)
		}
	}
	if !w.meta().Listed {
		if err := w.next(zooOptions()); err != nil {
			t.Fatal(err)
		}
	}
	w.sound(touched)
}

// mutate puts, overwrites or removes a key.
func (w *world) mutate(rng *rand.Rand, touched map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := w.objects[rng.IntN(len(w.objects))].Key
	switch rng.IntN(3) {
	case 0:
		key += fmt.Sprintf("-%d", rng.IntN(100))
		fallthrough
	case 1:
		size := []int64{1, mib, 4 * mib}[rng.IntN(3)]
		w.put(object.Listed{Object: unit.Object{Key: key, Size: size, ETag: fmt.Sprint(rng.IntN(1e9))}})
	case 2:
		w.remove(key)
	}
	touched[key] = true
}

// sound checks the law of a listing in whose time some keys were touched: all
// others are in one unit each, or in ranges that tile them, no version is in two,
// and what is counted is what is there.
func (w *world) sound(touched map[string]bool) {
	w.t.Helper()
	m, open := w.meta(), w.open()
	if m.Planned != len(open) || len(w.sent) != len(open) {
		w.t.Errorf("%d units planned, %d open, %d sent", m.Planned, len(open), len(w.sent))
	}
	held := map[string]int64{} // by key and version
	var objects int64
	for _, body := range w.sent {
		u, err := unit.Decode(body)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range u.Objects {
			size := o.Size
			if u.Range != nil {
				size = u.Size()
			}
			if held[o.Key+" "+o.ETag] == 0 {
				objects++
			}
			if held[o.Key+" "+o.ETag] += size; held[o.Key+" "+o.ETag] > o.Size {
				w.t.Errorf("%q is in more than one unit", o.Key)
			}
			if u.Range == nil && size != o.Size {
				w.t.Errorf("%q is in a unit in part", o.Key)
			}
		}
	}
	if m.Inventory.Objects != objects {
		w.t.Errorf("%d objects are counted, and %d in units", m.Inventory.Objects, objects)
	}
	for _, o := range slices.Concat(zoo(), huge()) {
		i := slices.IndexFunc(w.objects, func(l object.Listed) bool { return l.Key == o.Key })
		f := zooOptions().Filter
		if touched[o.Key] || i < 0 || f.Select(o.Object, o.Archived) != "" {
			continue
		}
		if held[o.Key+" "+o.ETag] != o.Size {
			w.t.Errorf("%q: %d of %d bytes are in units", o.Key, held[o.Key+" "+o.ETag], o.Size)
		}
	}
	w.chain()
}
