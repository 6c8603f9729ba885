package plan_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

const mib = 1 << 20

var lf = &plan.Cut{Delimiter: '\n'}

func options(target int64) plan.Options {
	return plan.Options{Job: "j", Run: 2, Bucket: "b", Target: target}
}

// pack packs a whole listing.
func pack(t testing.TB, o plan.Options, cut *plan.Cut, objects []unit.Object) []*unit.Unit {
	t.Helper()
	var units []*unit.Unit
	collect := func(u *unit.Unit) error {
		units = append(units, u)
		return nil
	}
	p := plan.NewPacker(o)
	for _, o := range objects {
		if err := p.Add(o, cut, collect); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(collect); err != nil {
		t.Fatal(err)
	}
	if p.Open() {
		t.Fatal("a unit is open after Flush")
	}
	return units
}

func ids(units []*unit.Unit) []unit.ID {
	out := make([]unit.ID, len(units))
	for i, u := range units {
		out[i] = u.ID()
	}
	return out
}

// anchored says, in words other than the packer's, whether a unit begins at key.
func anchored(key string) bool {
	sum := sha256.Sum256([]byte(key))
	return bits.LeadingZeros16(uint16(sum[0])<<8|uint16(sum[1])) >= 10
}

func listing(rng *rand.Rand, n int, size func() int64) []unit.Object {
	objects := make([]unit.Object, n)
	for i := range objects {
		objects[i] = unit.Object{
			Key:  fmt.Sprintf("logs/%07d-%04x.json", i, rng.IntN(1<<16)),
			Size: size(),
			ETag: fmt.Sprintf("%q", fmt.Sprint(rng.Uint32())),
		}
	}
	return objects
}

// mixed sizes around a target of 1 MiB: most small, some that stand alone.
func mixed(rng *rand.Rand) func() int64 {
	return func() int64 {
		switch rng.IntN(20) {
		case 0:
			return mib + rng.Int64N(5*mib)
		case 1:
			return []int64{mib - 1, mib, mib + 1}[rng.IntN(3)]
		}
		return 1 + rng.Int64N(100<<10)
	}
}

func TestEveryListingIsPackedByTheRules(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		objects := listing(rng, 3000, mixed(rng))
		for i := range objects {
			if rng.IntN(10) == 0 {
				objects[i].ETag = ""
			}
		}
		units := pack(t, options(mib), lf, objects)
		if diff := cmp.Diff(units, pack(t, options(mib), lf, objects)); diff != "" {
			t.Fatalf("seed %d: packed again, the same listing gives other units:\n%s", seed, diff)
		}
		covered(t, objects, units)
		for i, u := range units {
			bounded(t, u)
			if i+1 < len(units) {
				reasoned(t, u, units[i+1])
			}
		}
	}
}

// covered checks that the units hold every object once and in order, or tile it.
func covered(t *testing.T, objects []unit.Object, units []*unit.Unit) {
	t.Helper()
	next, at := 0, int64(0)
	for _, u := range units {
		if _, err := u.Encode(); err != nil {
			t.Fatalf("a unit that cannot travel: %v", err)
		}
		if u.Job != "j" || u.Run != 2 || u.Bucket != "b" || u.Origin != unit.FromList {
			t.Fatalf("unit of another job: %+v", u)
		}
		if u.Range == nil {
			if at != 0 {
				t.Fatalf("%q follows %q, which is cut up to %d", u.Objects[0].Key, objects[next].Key, at)
			}
			for _, o := range u.Objects {
				if o != objects[next] {
					t.Fatalf("got %q, want %q", o.Key, objects[next].Key)
				}
				next++
			}
			continue
		}
		if u.Objects[0] != objects[next] || u.Range.Start != at || u.Range.Delimiter != '\n' {
			t.Fatalf("range %+v of %q, want one from %d of %q", *u.Range, u.Objects[0].Key, at, objects[next].Key)
		}
		if at = u.Range.End; at == objects[next].Size {
			next, at = next+1, 0
		}
	}
	if next != len(objects) || at != 0 {
		t.Fatalf("%d of %d objects in units", next, len(objects))
	}
}

func cost(os ...unit.Object) (n int64) {
	for _, o := range os {
		n += max(o.Size, mib/64)
	}
	return n
}

// bounded checks a unit of target 1 MiB by itself.
func bounded(t *testing.T, u *unit.Unit) {
	t.Helper()
	first, last := u.Objects[0], u.Objects[len(u.Objects)-1]
	switch {
	case u.Range != nil:
		if n := u.Range.End - u.Range.Start; n > mib || n < mib/2 || first.Size <= mib || first.ETag == "" {
			t.Fatalf("range of %d bytes of an object of %d, etag %q", n, first.Size, first.ETag)
		}
	case len(u.Objects) == 1 && first.Size > mib && first.ETag != "":
		t.Fatalf("%q of %d bytes is not cut", first.Key, first.Size)
	case len(u.Objects) > 64:
		t.Fatalf("%d members", len(u.Objects))
	case len(u.Objects) > 1 && (cost(u.Objects...)-cost(last) >= mib || last.Size >= mib || first.Size >= mib):
		t.Fatalf("%d objects of cost %d were not closed at the target", len(u.Objects), cost(u.Objects...))
	}
	for _, o := range u.Objects[1:] {
		if anchored(o.Key) {
			t.Fatalf("anchor %q is not the first of its unit", o.Key)
		}
	}
}

// reasoned checks that u was closed for one of the reasons to close a unit.
func reasoned(t *testing.T, u, next *unit.Unit) {
	t.Helper()
	o := next.Objects[0]
	if u.Range == nil && cost(u.Objects...) < mib && o.Size < mib && !anchored(o.Key) {
		t.Fatalf("closed at cost %d before %q of %d bytes, and for no reason", cost(u.Objects...), o.Key, o.Size)
	}
}

func TestAnObjectIsCutOnlyIfAllAllowsIt(t *testing.T) {
	big := unit.Object{Key: "big", Size: 3*mib + 1, ETag: `"e"`}
	noTag := big
	noTag.ETag = ""
	exact := big
	exact.Size = mib
	for name, c := range map[string]struct {
		o    unit.Object
		cut  *plan.Cut
		want int
	}{
		"over the target":      {big, lf, 4},
		"no delimiter":         {big, nil, 1},
		"no etag":              {noTag, lf, 1},
		"of the target itself": {exact, lf, 1},
	} {
		if got := pack(t, options(mib), c.cut, []unit.Object{c.o}); len(got) != c.want {
			t.Errorf("%s: %d units, want %d", name, len(got), c.want)
		}
	}
}

func TestTheTargetHasADefaultAndAFloor(t *testing.T) {
	for asked, want := range map[int64]int64{0: 64 * mib, 1: mib, -5: mib, mib: mib, mib + 1: mib + 1, 1 << 40: 1 << 40} {
		if got := plan.Target(asked); got != want {
			t.Errorf("target %d: %d, want %d", asked, got, want)
		}
	}
	objects := []unit.Object{{Key: "a", Size: 64*mib - 1}, {Key: "b", Size: 1}, {Key: "c", Size: 1}}
	if got := pack(t, options(0), nil, objects); len(got) != 2 || len(got[0].Objects) != 2 {
		t.Errorf("by default 64 MiB are not what closes a unit: %d units", len(got))
	}
}

func TestAtMost64MembersWhateverTheTarget(t *testing.T) {
	var objects []unit.Object
	for i := range 500 {
		objects = append(objects, unit.Object{Key: fmt.Sprintf("%04d", i), Size: 1})
	}
	for _, target := range []int64{mib, mib + 1, mib + 63, 3*mib - 7} {
		most := 0
		for _, u := range pack(t, options(target), nil, objects) {
			most = max(most, len(u.Objects))
		}
		if most != 64 {
			t.Errorf("target %d: up to %d members, want 64", target, most)
		}
	}
}

func TestLongKeysCloseAUnitBeforeItsDescriptorIsTooLong(t *testing.T) {
	var objects []unit.Object
	for i := range 300 {
		objects = append(objects, unit.Object{Key: fmt.Sprintf("%04d", i) + strings.Repeat("\x01", 1020), Size: 1})
	}
	units := pack(t, options(0), nil, objects)
	covered(t, objects, units)
	for i, u := range units[:len(units)-1] {
		if anchored(units[i+1].Objects[0].Key) {
			continue
		}
		body, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if per := len(body) / len(u.Objects); len(body)+per < unit.MaxDescriptorBytes {
			t.Errorf("closed at %d bytes, with room for another object of %d", len(body), per)
		}
	}
}

func TestTheNameOfAJobCountsAsWell(t *testing.T) {
	o := options(0)
	o.Bucket = strings.Repeat("b", 190<<10)
	var objects []unit.Object
	for i := range 64 {
		objects = append(objects, unit.Object{Key: fmt.Sprintf("%04d", i) + strings.Repeat("k", 1000), Size: 1})
	}
	for _, u := range pack(t, o, nil, objects) {
		if _, err := u.Encode(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnitsAreInIDOrderEvenWhenObjectsAreNot(t *testing.T) {
	o := options(0)
	o.Origin = unit.FromEvent
	units := pack(t, o, nil, []unit.Object{{Key: "b", Size: 1}, {Key: "a", ETag: "2", Size: 1}, {Key: "a", ETag: "1", Size: 1}})
	if len(units) != 1 {
		t.Fatalf("%d units", len(units))
	}
	if _, err := units[0].Encode(); err != nil || units[0].Origin != unit.FromEvent {
		t.Errorf("%+v: %v", units[0], err)
	}
}

func TestAnErrorOfTheConsumerEndsThePacking(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	err := plan.NewPacker(options(mib)).Add(unit.Object{Key: "k", Size: 1 << 50, ETag: "e"}, lf, func(*unit.Unit) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls, want %v after 1", err, calls, stop)
	}
}

func TestAChangeOfTheListingAltersFewIDs(t *testing.T) {
	const seed = 8
	rng := rand.New(rand.NewPCG(seed, 0))
	objects := listing(rng, 20_000, func() int64 { return 1 + rng.Int64N(64<<10) })
	before := pack(t, options(0), nil, objects)
	known := map[unit.ID]bool{}
	for _, id := range ids(before) {
		known[id] = true
	}
	least := len(before)
	for range 40 {
		i := rng.IntN(len(objects))
		changed := slices.Delete(slices.Clone(objects), i, i+1)
		if rng.IntN(2) == 0 {
			changed = slices.Insert(slices.Clone(objects), i, unit.Object{Key: objects[i].Key[:12] + "+", Size: 9, ETag: "n"})
		}
		after := pack(t, options(0), nil, changed)
		kept := 0
		for _, id := range ids(after) {
			if known[id] {
				kept++
			}
		}
		least = min(least, kept)
		fallsIntoStep(t, objects[i].Key, before, after)
	}
	t.Logf("seed %d: of %d ids at least %d are kept", seed, len(before), least)
	if least < len(before)*3/4 {
		t.Errorf("seed %d: one change keeps only %d of %d ids", seed, least, len(before))
	}
}

// fallsIntoStep checks that from the second anchor after key on, all ids are
// the old ones: the first one may be the changed key itself.
func fallsIntoStep(t *testing.T, key string, before, after []*unit.Unit) {
	t.Helper()
	tail := func(units []*unit.Unit) []unit.ID {
		i := slices.IndexFunc(units, func(u *unit.Unit) bool {
			return u.Objects[0].Key > key && anchored(u.Objects[0].Key)
		})
		if i < 0 {
			return nil
		}
		return ids(units[i:])
	}
	if diff := cmp.Diff(tail(before), tail(after)); diff != "" {
		t.Fatalf("after %q changed, ids differ even past the next anchor:\n%s", key, diff)
	}
}

func TestKeyRangesListedApartPackAlikeWhenTheyBeginAtAnchors(t *testing.T) {
	const seed = 9
	rng := rand.New(rand.NewPCG(seed, 0))
	objects := listing(rng, 20_000, mixed(rng))
	whole := ids(pack(t, options(mib), lf, objects))
	var parts []unit.ID
	start, n := 0, 0
	for i, o := range objects {
		if i > 0 && anchored(o.Key) {
			parts = append(parts, ids(pack(t, options(mib), lf, objects[start:i]))...)
			start = i
			n++
		}
	}
	parts = append(parts, ids(pack(t, options(mib), lf, objects[start:]))...)
	if n < 5 {
		t.Fatalf("seed %d: only %d anchors among 20,000 keys", seed, n)
	}
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("seed %d: in %d parts (-whole +parts):\n%s", seed, n, diff)
	}
}

// A lister can only stop where no unit is open, so one must not wait for ever.
func TestAUnitIsClosedByManyKeysThatAreSkipped(t *testing.T) {
	const bound = 1 << 16
	p := plan.NewPacker(plan.Options{Job: "j"})
	var units []*unit.Unit
	keep := func(u *unit.Unit) error { units = append(units, u); return nil }
	skip := func(n int) {
		t.Helper()
		for range n {
			if err := p.Skip(keep); err != nil {
				t.Fatal(err)
			}
		}
	}
	add := func(key string) {
		t.Helper()
		if err := p.Add(unit.Object{Key: key, Size: 1}, nil, keep); err != nil {
			t.Fatal(err)
		}
	}
	skip(bound + 7) // of no unit
	add("a")
	skip(bound / 2)
	add("b")
	if skip(bound/2 - 1); len(units) > 0 || !p.Open() {
		t.Fatalf("%d units after %d keys", len(units), bound-1)
	}
	if skip(1); len(units) != 1 || p.Open() || len(units[0].Objects) != 2 {
		t.Fatalf("%d units after %d keys", len(units), bound)
	}
	skip(bound - 1)
	add("c")
	if skip(bound - 1); len(units) > 1 {
		t.Error("keys that were skipped before a unit count for it")
	}
}
