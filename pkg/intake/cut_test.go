package intake_test

import (
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/unit"
)

// ranges counts the units that were sent of an object, by whether they are whole.
func (w *world) ranges(o unit.Object) (whole, parts int) {
	for _, u := range w.units() {
		if !slices.ContainsFunc(u.Objects, func(m unit.Object) bool { return m.ID() == o.ID() }) {
			continue
		}
		if u.Range == nil {
			whole++
		} else {
			parts++
		}
	}
	return whole, parts
}

func TestLargePlainObjectsAreCut(t *testing.T) {
	w := newWorld(t)
	plain, zipped := w.put("p/plain", "line\n", 3*mib+1), w.put("p/zipped", "\x1f\x8b\x08\x00", 3*mib)
	exact, small := w.put("p/exact", "line\n", mib), w.put("p/small", "line\n", 100)
	w.announce(plain, zipped, exact, small)
	w.drain()
	w.once(plain, zipped, exact, small)
	for name, c := range map[string]struct {
		o            unit.Object
		whole, parts int
	}{"plain": {plain, 0, 4}, "zipped": {zipped, 1, 0}, "exact": {exact, 1, 0}, "small": {small, 1, 0}} {
		if whole, parts := w.ranges(c.o); whole != c.whole || parts != c.parts {
			t.Errorf("%s: %d units whole and %d ranges, want %d and %d", name, whole, parts, c.whole, c.parts)
		}
	}
	for _, r := range w.bucket.Requests() {
		if r.N > 16 || r.Key != "p/plain" && r.Key != "p/zipped" {
			t.Errorf("%d bytes of %q were read", r.N, r.Key)
		}
	}
	h, err := w.ledger.Claimed(t.Context(), job, plain.ID())
	if err != nil {
		t.Fatal(err)
	}
	if u, err := unit.Decode(w.sent[h.Unit]); err != nil || u.Range == nil || u.Range.Start != 0 {
		t.Errorf("the claim names %+v, %v: want the first range", u, err)
	}
}

// An object of more ranges than fit into a transaction, and whoever enters them
// dies at any of its calls.
func TestACutObjectComesWholeWhateverHappens(t *testing.T) {
	o := unit.Object{Key: "p/big", Size: 150 * mib, ETag: `"e"`, LastModified: noon}
	never := []string{"Claimed", "Stat"} // nothing repeats where nothing fails
	sweep(t, never, func(t *testing.T, f *fault) {
		w := newWorld(t)
		w.vast = true
		f.dies = true
		w.announce(o)
		w.handle(w.intake(f), 10)
		w.feed = nil // purged
		if len(w.queue) == 0 {
			return // the fault was at no call
		}
		w.drain()
		w.once(o)
		if _, parts := w.ranges(o); parts != 150 || len(w.feed) != 150 {
			t.Errorf("%d ranges, and %d messages; want 150", parts, len(w.feed))
		}
	})
}

func TestOnlyTheOpenRangesOfACutObjectAreSentAgain(t *testing.T) {
	w := newWorld(t)
	o := w.put("p/big", "line\n", 5*mib)
	w.announce(o)
	f := &fault{op: "Send", at: 1, until: 4, applied: true}
	w.handle(w.intake(f), 10)
	first, err := w.ledger.Claimed(t.Context(), job, o.ID())
	if err != nil {
		t.Fatal(err)
	}
	var done int
	for _, m := range w.feed[:5] {
		if u, _ := unit.Decode(m.Body); u.Range.Start == 0 || u.Range.Start == 2*mib {
			w.read(m) // the first one, and one more
			done++
		}
	}
	w.feed = nil
	w.drain()
	if done != 2 || len(w.feed) != 3 || slices.ContainsFunc(w.feed, func(m feed.Message) bool { return m.ID == first.Unit }) {
		t.Errorf("%d are done, and %d units were sent again, want the 3 others", done, len(w.feed))
	}
	w.readAll()
	w.announce(o)
	w.drain()
	w.ignored(map[failure.Reason]int64{failure.Repeated: 1})
}

func TestAnObjectHasABoundedNumberOfRanges(t *testing.T) {
	w := newWorld(t)
	huge := unit.Object{Key: "p/huge", Size: 50 << 40, ETag: `"e"`, LastModified: noon}
	w.vast = true
	w.announce(huge)
	w.drain()
	w.once(huge)
	if _, parts := w.ranges(huge); parts != 4096 {
		t.Errorf("%d ranges of 50 TiB", parts)
	}
}

func TestAnObjectThatCannotBeLookedAtIsNotCut(t *testing.T) {
	w := newWorld(t)
	o := w.put("p/big", "line\n", 3*mib)
	gone := o
	gone.ETag = `"another"`
	w.announce(o, gone)
	w.drain()
	w.once(o, gone)
	if whole, _ := w.ranges(gone); whole != 1 {
		t.Errorf("%d units of what is overwritten", whole)
	}
	t.Run("but a fault that may pass decides nothing", func(t *testing.T) {
		w := newWorld(t)
		w.bucket.Hook = func(op memobject.Op, _ string, _ int64) error {
			if op == memobject.OpGet {
				return errLost
			}
			return nil
		}
		o, small := w.put("p/big", "line\n", 3*mib), w.put("p/small", "s", 9)
		w.announce(o)
		w.announce(small)
		if failed := inBubble(t, w); len(failed) != 1 {
			t.Errorf("failed %v", failed)
		}
		w.bucket.Hook = nil
		w.drain()
		w.once(o, small)
		if _, parts := w.ranges(o); parts != 3 {
			t.Errorf("%d ranges", parts)
		}
	})
}

// Ranges of an object that was overwritten before it was read are taken again as
// ranges.
func TestACutObjectMayBeTakenAgain(t *testing.T) {
	w := newWorld(t)
	o := w.put("p/big", "line\n", 3*mib)
	w.announce(o)
	w.drain()
	w.put("p/big", "other\n", 10)
	w.readAll()
	w.put("p/big", "line\n", 3*mib)
	w.announce(o)
	w.handle(w.intake(&fault{op: "Send", at: 1, dies: true}), 10) // so that the second take has to be sent again
	w.drain()
	h, err := w.ledger.Claimed(t.Context(), job, o.ID())
	if err != nil || h.Take != 1 || len(w.feed) != 3 {
		t.Errorf("claim %+v, %v; %d ranges were sent of the second take", h, err, len(w.feed))
	}
	w.once(o)
	if _, parts := w.ranges(o); parts != 6 {
		t.Errorf("%d ranges in two takes", parts)
	}
}
