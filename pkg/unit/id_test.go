package unit_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/unit"
)

func published() []unit.Object {
	return []unit.Object{
		{Key: "exports/2026/part-000.ndjson", ETag: `"9b2cf5"`, Size: 1 << 20},
		{Key: "exports/2026/part-001.ndjson", Size: 1 << 20},
	}
}

func TestTheIDsThatTheOriginalPublishedComeOut(t *testing.T) {
	for packing, want := range map[uint32]unit.ID{
		1: "s3-_rD2rPZklAFVV4pYEYaWxg",
		2: "s3-xje_MfL-wSNqMCft5ellCg",
	} {
		if got := unit.IdentifyPacked(packing, published(), nil); got != want {
			t.Errorf("packing version %d: %s, want %s", packing, got, want)
		}
	}
	u := unit.Unit{Objects: published()}
	if got, want := u.ID(), unit.IdentifyPacked(3, published(), nil); got != want {
		t.Errorf("a unit's own id is %s, want that of packing version 3, %s", got, want)
	}
}

// preimage spells out the text that ids digest, field by field.
type preimage struct{ b []byte }

func (p *preimage) raw(s string)   { p.b = append(p.b, s...) }
func (p *preimage) u32(n int)      { p.b = binary.LittleEndian.AppendUint32(p.b, uint32(n)) }
func (p *preimage) u64(n int64)    { p.b = binary.LittleEndian.AppendUint64(p.b, uint64(n)) }
func (p *preimage) field(s string) { p.u32(len(s)); p.raw(s) }

func (p *preimage) id() unit.ID {
	sum := sha256.Sum256(p.b)
	return unit.ID("s3-" + base64.URLEncoding.WithPadding(base64.NoPadding).EncodeToString(sum[:16]))
}

func TestAnIDDigestsFieldByField(t *testing.T) {
	t.Run("a range has a tag of its own, its bounds and its delimiter", func(t *testing.T) {
		var p preimage
		p.raw("spate-s3-range\n")
		p.u32(3)
		p.field("k")
		p.raw("\x01")
		p.field(`"e"`)
		p.u64(7)
		p.u64(1 << 40)
		p.raw("\n")
		u := unit.Unit{
			Objects: []unit.Object{{Key: "k", ETag: `"e"`, Size: 1 << 41}},
			Range:   &unit.Range{Start: 7, End: 1 << 40, Delimiter: '\n'},
		}
		if got := u.ID(); got != p.id() {
			t.Errorf("%s, want %s", got, p.id())
		}
	})
	t.Run("a version follows the etag, and only where there is one", func(t *testing.T) {
		var p preimage
		p.raw("spate-s3-split\n")
		p.u32(3)
		p.field("a")
		p.raw("\x00")
		p.field("v1")
		p.field("b")
		p.raw("\x01")
		p.field("e")
		u := unit.Unit{Objects: []unit.Object{{Key: "a", Version: "v1"}, {Key: "b", ETag: "e"}}}
		if got := u.ID(); got != p.id() {
			t.Errorf("%s, want %s", got, p.id())
		}
	})
}

func TestWhatAUnitReadsMakesItsID(t *testing.T) {
	whole := func(os ...unit.Object) unit.Unit { return unit.Unit{Objects: os} }
	part := func(start, end int64, delimiter byte) unit.Unit {
		return unit.Unit{
			Objects: []unit.Object{{Key: "k", ETag: "e", Size: 100}},
			Range:   &unit.Range{Start: start, End: end, Delimiter: delimiter},
		}
	}
	units := []unit.Unit{
		whole(unit.Object{Key: "k"}),
		whole(unit.Object{Key: "k", ETag: "e"}),
		whole(unit.Object{Key: "k", ETag: `"e"`}),
		whole(unit.Object{Key: "k", ETag: "e", Version: "v"}),
		whole(unit.Object{Key: "k", Version: "v"}),
		whole(unit.Object{Key: "ke"}),
		whole(unit.Object{Key: "k"}, unit.Object{Key: "l"}),
		part(0, 50, '\n'), part(50, 100, '\n'), part(0, 50, 0), part(0, 100, '\n'),
	}
	seen := map[unit.ID]int{}
	for i, u := range units {
		id := u.ID()
		if len(id) != 25 {
			t.Errorf("unit %d: id %s has %d characters, want 25", i, id, len(id))
		}
		if j, ok := seen[id]; ok {
			t.Errorf("units %d and %d share the id %s", i, j, id)
		}
		seen[id] = i
	}
	t.Run("and nothing else does", func(t *testing.T) {
		u := whole(unit.Object{Key: "k", ETag: "e"})
		other := unit.Unit{Job: "j", Run: 9, Bucket: "b", Origin: unit.FromEvent, Objects: []unit.Object{{Key: "k", ETag: "e", Size: 5}}}
		if u.ID() != other.ID() {
			t.Error("job, run, bucket, origin or size changed the id")
		}
	})
}

func TestTheOrderOfTheMembersDoesNotMatter(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 0))
	objects := []unit.Object{
		{Key: "a", ETag: "1", Version: "x"}, {Key: "a", ETag: "1", Version: "y"}, {Key: "a", ETag: "2"},
		{Key: "a\x00", ETag: "0"}, {Key: "b"}, {Key: "é"}, {Key: "\xff"},
	}
	want := (&unit.Unit{Objects: objects}).ID()
	for range 50 {
		shuffled := slices.Clone(objects)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		before := slices.Clone(shuffled)
		if got := (&unit.Unit{Objects: shuffled}).ID(); got != want {
			t.Fatalf("seed %d: order %v gives %s, want %s", seed, shuffled, got, want)
		}
		if !slices.Equal(before, shuffled) {
			t.Fatal("asking for the id moved the unit's objects")
		}
		unit.Sort(shuffled)
		if !slices.Equal(shuffled, objects) {
			t.Fatalf("seed %d: sorted to %v, want id order", seed, shuffled)
		}
	}
}

func TestAShardIsTheLowBitsOfTheID(t *testing.T) {
	for last, want := range map[byte]int{0: 0, 1: 1, 63: 63, 64: 0, 0xFF: 63, 0x9A: 26} {
		sum := [16]byte{15: last}
		id := unit.ID("s3-" + base64.RawURLEncoding.EncodeToString(sum[:]))
		if got := id.Shard(); got != want {
			t.Errorf("last byte %#x: shard %d, want %d", last, got, want)
		}
	}
	for _, id := range []unit.ID{"", "s3-", "s3-short", "s3-!!!!!!!!!!!!!!!!!!!!!!", "o-0123456789012345678901234567"} {
		if got := id.Shard(); got != 0 {
			t.Errorf("%q: shard %d, want 0", id, got)
		}
	}
}

func TestUnitsSpreadOverAllShards(t *testing.T) {
	var hits [unit.Shards]int
	for i := range 64 * unit.Shards {
		u := unit.Unit{Objects: []unit.Object{{Key: string(rune('A' + i))}}}
		hits[u.ID().Shard()]++
	}
	for shard, n := range hits {
		if n < 20 {
			t.Errorf("shard %d has %d of %d units, want about 64", shard, n, 64*unit.Shards)
		}
	}
}

func TestTheSizeOfAUnit(t *testing.T) {
	objects := []unit.Object{{Key: "a", Size: 3}, {Key: "b", Size: 1 << 40}}
	if got := (&unit.Unit{Objects: objects}).Size(); got != 3+(1<<40) {
		t.Errorf("whole: %d", got)
	}
	ranged := unit.Unit{Objects: objects[1:], Range: &unit.Range{Start: 10, End: 25}}
	if got := ranged.Size(); got != 15 {
		t.Errorf("range: %d, want 15", got)
	}
}
