package intake_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/unit"
)

// zoo announces objects of every kind that an intake treats in a way of its own,
// when one of them is in a unit already and one was overwritten unread.
func zoo(w *world) (all []unit.Object) {
	w.t.Helper()
	known, replaced, other := w.put("p/known", "k", mib), w.put("p/replaced", "A", 9), w.put("p/other", "o", 9)
	w.announce(known, replaced, other)
	w.drain()
	w.put("p/replaced", "B", 9)
	w.readAll()
	replaced = w.put("p/replaced", "A", 9)
	untold := w.put("p/untold", "u", 9)
	lacking := untold
	lacking.Size, lacking.ETag = -1, ""
	all = []unit.Object{known, replaced, w.put("p/small", "s", 9), w.put("p/alone", "a", mib), w.put("p/big", "line\n", 2*mib+9)}
	w.announce(all[:3]...)
	w.announce(all[2], all[3], all[4])
	w.enqueue(body(w.record(lacking)), untold)
	w.enqueue(body(w.recordOf(bucket, "ObjectRemoved:Delete", known)))
	return append(all, untold)
}

func keys(os []unit.Object) (ks []string) {
	for _, o := range os {
		ks = append(ks, o.Key)
	}
	return ks
}

func TestALostConnectionAtAnyCallCostsTimeOnly(t *testing.T) {
	sweep(t, nil, func(t *testing.T, f *fault) {
		w := newWorld(t)
		all := zoo(w)
		if failed := w.handle(w.intake(f), 10); len(failed) > 0 {
			t.Errorf("failed %v", failed)
		}
		w.once(all...)
		w.rest(keys(all)...)
	})
}

func TestADeathAtAnyCallLosesAndDoublesNothing(t *testing.T) {
	for _, purged := range []bool{false, true} {
		t.Run(fmt.Sprintf("feed purged %v", purged), func(t *testing.T) {
			sweep(t, nil, func(t *testing.T, f *fault) {
				w := newWorld(t)
				all := zoo(w)
				f.dies = true
				failed := w.handle(w.intake(f), 10)
				if purged && len(failed) == 3 { // what was acked is for the schedule
					w.feed = nil
				}
				w.drain()
				w.once(all...)
				w.rest(keys(all)...)
			})
		})
	}
}

// A process that dies at any call, and one that is at the same messages' copies
// meanwhile.
func TestTwoIntakesAtOnceLoseAndDoubleNothing(t *testing.T) {
	// Which of them is given what is chance: the one with faults may not get to each
	// of the calls.
	sweep(t, operations, func(t *testing.T, f *fault) {
		w := newWorld(t)
		all := zoo(w)
		zooAgain := append([]unit.Object{}, all[:5]...)
		w.announce(zooAgain...)
		w.announce(zooAgain[3], zooAgain[2])
		f.dies = f.applied
		var wg sync.WaitGroup
		for _, in := range []*intake.Intake{w.intake(f), w.intake(nil)} {
			wg.Go(func() {
				for range 3 {
					w.handle(in, 2)
				}
			})
		}
		wg.Wait()
		w.drain()
		w.once(all...)
		w.rest(keys(all)...)
	})
}

// Objects put at random, with duplicates, reorderings and redeliveries of their
// events, several records in a message, and faults.
func TestTenThousandObjectsPutAtRandom(t *testing.T) {
	for versioned, n := range map[bool]int{true: 10_000, false: 3000} {
		t.Run(fmt.Sprintf("versioned %v", versioned), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { random(t, 11, n, versioned) })
		})
	}
}

func random(t *testing.T, seed uint64, n int, versioned bool) {
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.bucket.Versioned = versioned
	names := map[string]bool{}
	var all, recent []unit.Object
	for i := range n {
		key := fmt.Sprintf("p/%d", rng.IntN(n*3/4)) // some are overwritten
		names[key] = true
		o := w.put(key, fmt.Sprint(rng.IntN(3)), 1+rng.IntN(2000))
		all, recent = append(all, o), append(recent, o)
		for len(recent) > 0 && rng.IntN(3) == 0 {
			k := min(len(recent), 1+rng.IntN(4))
			w.announce(recent[:k]...)
			if rng.IntN(10) == 0 {
				w.announce(recent[rng.IntN(k)]) // once more
			}
			recent = recent[k:]
		}
		if rng.IntN(100) == 0 {
			w.announce(all[rng.IntN(len(all))]) // long after
		}
		if len(w.queue) > 60 {
			rng.Shuffle(len(w.queue), func(i, j int) { w.queue[i], w.queue[j] = w.queue[j], w.queue[i] })
			f := &fault{}
			if rng.IntN(3) == 0 {
				f = &fault{op: operations[1+rng.IntN(4)], at: 1 + rng.IntN(3), applied: rng.IntN(2) == 0, dies: rng.IntN(2) == 0}
			}
			w.handle(w.intake(f), 1+rng.IntN(40))
		}
		if i%500 == 499 {
			w.readAll()
			w.schedule(w.intake(nil))
		}
	}
	w.announce(recent...)
	w.drain()
	w.once(all...)
	var ks []string
	for k := range names {
		ks = append(ks, k)
	}
	w.rest(ks...)
	if versioned {
		for _, o := range all {
			if n := len(w.rows[o.ID()]); n != 1 {
				t.Errorf("%q at version %s was read in %d units", o.Key, o.Version, n)
			}
		}
	}
	t.Logf("%d puts of %d keys, %d units", n, len(names), len(w.sent))
}

// The feed of one process takes what an intake sends.
func TestAFeedInMemoryDeliversWhatIsTakenIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := memfeed.New(memfeed.Options{})
		calm := &actor{w, &fault{}}
		in := intake.New(calm, f, calm, w.opts)
		var all []unit.Object
		for i := range 100 {
			all = append(all, w.put(fmt.Sprintf("p/%d", i), "x", i+1))
		}
		w.announce(all...)
		ms := []intake.Message{w.queue[0].Message}
		if failed := in.Handle(t.Context(), ms); len(failed) > 0 {
			t.Fatal(failed)
		}
		got := 0
		go func() {
			_ = f.Run(t.Context(), 1, func(_ context.Context, d feed.Delivery) error {
				u, err := unit.Decode(d.Body)
				if err == nil {
					got += len(u.Objects)
				}
				return err
			})
		}()
		time.Sleep(time.Minute)
		f.Stop()
		synctest.Wait()
		if got != 100 {
			t.Errorf("%d objects were delivered", got)
		}
	})
}
