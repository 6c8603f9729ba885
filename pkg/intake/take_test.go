package intake_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/unit"
)

// open opens the job as `bucket connect` does.
func (w *world) open() ledger.Meta {
	w.t.Helper()
	m, err := w.ledger.Open(w.t.Context(), job, ledger.Start{Cutoff: noon.Add(time.Hour)})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) take(os ...unit.Object) []intake.Taken {
	w.t.Helper()
	taken, err := w.intake(nil).Take(w.t.Context(), w.meta(), os)
	if err != nil || len(taken) != len(os) {
		w.t.Fatalf("%d of %d taken: %v", len(taken), len(os), err)
	}
	return taken
}

func TestNamedObjectsGoThroughTheSameClaims(t *testing.T) {
	w := newWorld(t)
	w.open()
	done, open, fresh, large := w.put("p/done", "d", 9), w.put("p/open", "o", 9), w.put("p/fresh", "f", 9), w.put("p/large", "line\n", 3*mib)
	w.take(done)
	w.readAll()
	w.take(open)
	w.put("p/empty", "x", 0)
	w.feed = nil
	got := w.take(
		unit.Object{Key: "p/done"}, unit.Object{Key: "p/open"}, unit.Object{Key: "p/fresh"}, fresh, large,
		unit.Object{Key: "elsewhere"}, unit.Object{Key: "p/a.tmp"}, unit.Object{Key: "p/folder/", ETag: "e"}, unit.Object{Key: "p/empty"},
		unit.Object{Key: "p/missing"}, unit.Object{Key: "p/fresh", Size: -1, ETag: fresh.ETag},
	)
	for i, want := range []failure.Reason{failure.Repeated, "", "", "", "", failure.OutsidePrefix, failure.Excluded, failure.Directory, failure.Empty, "", ""} {
		if got[i].Reason != want || (got[i].Err != nil) != (i == 9) || (got[i].Unit != "") != (i < 5 || i == 10) {
			t.Errorf("object %d: %+v, want reason %q", i, got[i], want)
		}
	}
	if !failure.Is(got[9].Err, failure.Member) || got[2].Unit != got[3].Unit || got[2].Unit != got[10].Unit {
		t.Errorf("%+v", got)
	}
	w.once(done, open, fresh, large)
	if len(w.feed) != 1+1+3 {
		t.Errorf("%d units were sent, want the open one, the new one and 3 ranges", len(w.feed))
	}
	if n := w.count(metric.IntakeObjects, ""); n != 1+1+3 {
		t.Errorf("%d objects are counted", n)
	}
	if n := w.count(metric.IntakeUnits, ""); n != 1+1+5 {
		t.Errorf("%d units are counted", n)
	}
	if n := w.count(metric.IntakeEvents, ""); n != 0 {
		t.Errorf("%d events are counted", n)
	}
}

func TestAnETagMayBeNamedWithoutItsQuotes(t *testing.T) {
	w := newWorld(t)
	w.open()
	o := w.put("p/a", "a", 9)
	bare := o
	bare.ETag = strings.Trim(o.ETag, `"`)
	got := w.take(bare, o, unit.Object{Key: "p/b", Size: 1, ETag: "no\ntag"})
	if got[0].Unit == "" || got[0] != got[1] || !failure.Is(got[2].Err, failure.Member) {
		t.Errorf("%+v", got)
	}
	w.once(o)
}

func TestAVersionThatIsNamedAloneIsTheCurrentOneOrNone(t *testing.T) {
	w := newWorld(t)
	w.bucket.Versioned = true
	w.open()
	old := w.put("p/a", "old", 9)
	now := w.put("p/a", "now", 9)
	if old.Version == "" || old.Version == now.Version {
		t.Fatalf("versions %q and %q", old.Version, now.Version)
	}
	got := w.take(unit.Object{Key: "p/a", Version: old.Version, Size: -1}, unit.Object{Key: "p/a", Version: now.Version, Size: -1})
	if !failure.Is(got[0].Err, failure.Member) || !strings.Contains(got[0].Err.Error(), old.Version) || got[0].Unit != "" {
		t.Errorf("of the old one, whose ETag nobody knows: %+v", got[0])
	}
	if got[1].Err != nil || got[1].Unit == "" {
		t.Errorf("of the current one: %+v", got[1])
	}
}

func TestAJobOtherThanTheIntakesOwnIsReadAgainByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const other = "other-live"
		stale, err := w.ledger.Open(t.Context(), other, ledger.Start{})
		if err == nil {
			err = w.ledger.Conclude(t.Context(), other, stale.Run, stale.Generation, ledger.Cancelled)
		}
		if err == nil {
			_, err = w.ledger.Open(t.Context(), other, ledger.Start{Token: "next"})
		}
		if err != nil {
			t.Fatal(err)
		}
		o := w.put("p/a", "a", 9)
		got, err := w.intake(&fault{op: "Meta", at: 1}).Take(t.Context(), stale, []unit.Object{o})
		if err != nil || got[0].Err != nil || got[0].Unit == "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestATakeMayBeRepeated(t *testing.T) {
	sweep(t, []string{"Open", "Claimed"}, func(t *testing.T, f *fault) {
		w := newWorld(t)
		w.open()
		var os []unit.Object
		for i := range 3 {
			os = append(os, w.put(fmt.Sprint("p/", i), "x", i+1))
		}
		os = append(os, w.put("p/big", "line\n", 2*mib))
		all := slices.Clone(os)
		os[0].ETag = ""
		f.dies = true
		_, err := w.intake(f).Take(t.Context(), w.meta(), os)
		if err != nil && !failure.Is(err, failure.Job) {
			t.Error(err)
		}
		w.feed = nil // purged
		for _, k := range w.take(os...) {
			if k.Err != nil || k.Reason != "" || k.Unit == "" {
				t.Errorf("%+v", k)
			}
		}
		if len(w.feed) != 3 {
			t.Errorf("%d units were sent, want 1 of small ones and 2 ranges", len(w.feed))
		}
		w.once(all...)
	})
}

func TestAKeyThatIsLookedAtAgainSaysHowOften(t *testing.T) {
	for says, again := range map[string][]int{"alone": {2}, "by the greatest number that is said": {2, 1}, "in any order": {1, 2}} {
		t.Run(says, func(t *testing.T) {
			w := newWorld(t)
			w.open()
			o := w.put("p/k", "k", 9)
			var os []unit.Object
			for i, n := range again {
				o.Again, o.Take, o.LastModified = n, 7, noon.Add(time.Duration(i))
				os = append(os, o)
			}
			w.take(os...)
			if us := w.units(); len(us) != 1 || us[0].Objects[0].Again != 2 || us[0].Objects[0].Take != 0 {
				t.Errorf("units %+v", us)
			}
		})
	}
	t.Run("also when it is looked up", func(t *testing.T) {
		w := newWorld(t)
		w.open()
		w.put("p/k", "k", 9)
		w.take(unit.Object{Key: "p/k", Again: 3, Take: 7})
		if us := w.units(); len(us) != 1 || us[0].Objects[0].Again != 3 || us[0].Objects[0].Take != 0 {
			t.Errorf("units %+v", us)
		}
	})
}

func TestAnObjectAnnouncedWithoutItsSizeIsLookedUp(t *testing.T) {
	w := newWorld(t)
	w.bucket.Versioned = true
	size, etag := w.put("p/size", "s", 9), w.put("p/etag", "e", 9)
	none, folder := w.put("p/none", "x", 0), w.put("p/folder/", "x", 0)
	was := w.put("p/replaced", "A", 9)
	now := w.put("p/replaced", "B", 9)
	gone := unit.Object{Key: "p/gone", Size: -1, LastModified: noon}
	lacking := func(o unit.Object) string {
		o.Size = -1
		return w.record(o)
	}
	tagless := etag
	tagless.ETag = ""
	w.enqueue(body(lacking(size), w.record(tagless), lacking(none), lacking(folder)), size, etag)
	w.enqueue(body(lacking(was)), now)
	w.enqueue(body(lacking(gone)))
	w.announce(size)
	if failed := w.handle(w.intake(nil), 10); len(failed) > 0 {
		t.Fatal(failed)
	}
	w.once(size, etag, now)
	w.ignored(map[failure.Reason]int64{failure.Empty: 1, failure.Directory: 1, failure.Overwritten: 1, failure.UnparsableEvent: 1, failure.Repeated: 1})
	if len(w.dead) != 1 || !strings.Contains(w.dead[0], "p%2Fgone") || !strings.Contains(w.reasons[0], "no such object") {
		t.Errorf("refused %q for %q", w.dead, w.reasons)
	}
	for _, u := range w.units() {
		for _, o := range u.Objects {
			if o.Size != 9 || o.ETag == "" || o.Version == "" {
				t.Errorf("%+v", o)
			}
		}
	}
	t.Run("a passing fault fails its message alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			o, other := w.put("p/a", "a", 9), w.put("p/b", "b", 9)
			d := w.enqueue(body(lacking(o)), o)
			w.announce(other)
			f := &fault{op: "Stat", at: 1, until: 4}
			failed := w.handle(w.intake(f), 10)
			if len(failed) != 1 || failed[0].ID != d.ID || !errors.Is(failed[0].Err, errLost) || f.calls("Stat") != 4 {
				t.Errorf("failed %v after %d calls", failed, f.calls("Stat"))
			}
			w.drain()
			w.once(o, other)
		})
	})
}

// Where a store has no ETags, versions of a key could not be told apart: every
// one after the first would be lost.
func TestAnObjectOfAStoreWithoutETagsIsRefused(t *testing.T) {
	w := newWorld(t)
	w.open()
	w.vast = true
	w.enqueue(body(w.record(unit.Object{Key: "p/a", Size: 9, LastModified: noon.Add(time.Hour)})))
	if failed := w.handle(w.intake(nil), 10); len(failed) > 0 || len(w.dead) != 1 || !strings.Contains(w.reasons[0], "ETag") {
		t.Errorf("failed %v, refused for %q", failed, w.reasons)
	}
	if taken := w.take(unit.Object{Key: "p/a", Size: 9}); !failure.Is(taken[0].Err, failure.Member) {
		t.Errorf("%+v", taken)
	}
}

func TestTheLogSaysWhatNothingIsReadForAndWhy(t *testing.T) {
	w := newWorld(t)
	var log strings.Builder
	w.opts.Log = slog.New(slog.NewJSONHandler(&log, nil))
	w.announce(w.put("p/a", "a", 9))
	w.enqueue(body(w.record(w.put("elsewhere/b", "b", 9)), w.record(w.put("p/empty", "x", 0))))
	w.enqueue(`{"Event":"s3:TestEvent"}`)
	w.handle(w.intake(nil), 10)
	if want := `"objects":1,"units":1,"ignored":{"empty":1,"outside_prefix":1,"test":1},"refused":0`; !strings.Contains(log.String(), want) {
		t.Errorf("%s is not in\n%s", want, log.String())
	}
}
