package unit_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/unit"
)

// objectID is the digest of p as an object's id.
func (p *preimage) objectID() unit.ObjectID {
	return unit.ObjectID("o-" + strings.TrimPrefix(string(p.id()), "s3-"))
}

func TestAnObjectIDDigestsKeyAndETag(t *testing.T) {
	for _, o := range []unit.Object{{Key: "exports/2026/part-000.ndjson", ETag: `"9b2cf5"`}, {Key: "\xff\x00", ETag: "e"}, {Key: "k"}} {
		var p preimage
		p.raw("spate-s3-object\n")
		p.field(o.Key)
		if o.ETag == "" {
			p.raw("\x00")
		} else {
			p.raw("\x01")
			p.field(o.ETag)
		}
		if got := o.ID(); got != p.objectID() || len(got) != 24 {
			t.Errorf("%+v: %s, want %s", o, got, p.objectID())
		}
	}
	t.Run("and comes out as it always has", func(t *testing.T) {
		o := unit.Object{Key: "exports/2026/part-000.ndjson", ETag: `"9b2cf5"`}
		if got, want := o.ID(), unit.ObjectID("o-JIOQQSyzzcZWTEMqhEHACg"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	t.Run("and nothing else", func(t *testing.T) {
		o := unit.Object{Key: "k", ETag: "e"}
		same := unit.Object{Key: "k", ETag: "e", Size: 5, Version: "v", LastModified: time.Unix(9, 0), Take: 2, Again: 1}
		if o.ID() != same.ID() {
			t.Error("size, version, time, take or again changed the id")
		}
	})
	t.Run("and differs from another object's, and from the unit's of it alone", func(t *testing.T) {
		seen := map[string]unit.Object{}
		for _, o := range []unit.Object{{Key: "k"}, {Key: "k", ETag: "e"}, {Key: "k", ETag: `"e"`}, {Key: "ke"}, {Key: "e", ETag: "k"}} {
			for _, id := range []string{string(o.ID())[2:], string((&unit.Unit{Objects: []unit.Object{o}}).ID())[3:]} {
				if other, ok := seen[id]; ok {
					t.Errorf("%+v and %+v share %s", o, other, id)
				}
				seen[id] = o
			}
		}
	})
}

func TestAnObjectIDsShardIsItsLowBits(t *testing.T) {
	for last, want := range map[byte]int{0: 0, 63: 63, 64: 0, 0x9A: 26} {
		sum := [16]byte{15: last}
		id := unit.ObjectID("o-" + base64.RawURLEncoding.EncodeToString(sum[:]))
		if got := id.Shard(); got != want {
			t.Errorf("last byte %#x: shard %d, want %d", last, got, want)
		}
	}
	for _, id := range []unit.ObjectID{"", "o-", "o-short", "o-!!!!!!!!!!!!!!!!!!!!!!", "s3-xje_MfL-wSNqMCft5ellCg"} {
		if got := id.Shard(); got != 0 {
			t.Errorf("%q: shard %d, want 0", id, got)
		}
	}
	var hits [unit.Shards]int
	for i := range 64 * unit.Shards {
		hits[(&unit.Object{Key: string(rune('A' + i)), ETag: "e"}).ID().Shard()]++
	}
	for shard, n := range hits {
		if n < 20 {
			t.Errorf("shard %d has %d of %d objects, want about 64", shard, n, 64*unit.Shards)
		}
	}
}

func TestATakeMakesAnotherUnit(t *testing.T) {
	t.Run("whose id digests the take of each member", func(t *testing.T) {
		var p preimage
		p.raw("spate-s3-taken\nspate-s3-split\n")
		p.u32(3)
		p.field("a")
		p.raw("\x01")
		p.field("e")
		p.field("v")
		p.u32(2)
		p.field("b")
		p.raw("\x00")
		p.u32(0)
		u := unit.Unit{Objects: []unit.Object{{Key: "a", ETag: "e", Version: "v", Take: 2}, {Key: "b"}}}
		if got := u.ID(); got != p.id() {
			t.Errorf("%s, want %s", got, p.id())
		}
	})
	t.Run("of a range too", func(t *testing.T) {
		var p preimage
		p.raw("spate-s3-taken\nspate-s3-range\n")
		p.u32(3)
		p.field("a")
		p.raw("\x01")
		p.field("e")
		p.u32(1)
		p.u64(7)
		p.u64(9)
		p.raw("\n")
		u := unit.Unit{Objects: []unit.Object{{Key: "a", ETag: "e", Size: 9, Take: 1}}, Range: &unit.Range{Start: 7, End: 9, Delimiter: '\n'}}
		if got := u.ID(); got != p.id() {
			t.Errorf("%s, want %s", got, p.id())
		}
	})
	t.Run("and comes out as it always has", func(t *testing.T) {
		o := published()
		o[0].Take = 1
		if got, want := (&unit.Unit{Objects: o}).ID(), unit.ID("s3-xLBaKqKdy26kL-fMH-pnMA"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	t.Run("whichever member it is of, and whatever their order", func(t *testing.T) {
		const seed = 17
		rng := rand.New(rand.NewPCG(seed, 0))
		seen := map[unit.ID][2]int{}
		for a := range 4 {
			for b := range 4 {
				objects := []unit.Object{{Key: "a", Take: a}, {Key: "b", Take: b}}
				id := (&unit.Unit{Objects: objects}).ID()
				if other, ok := seen[id]; ok {
					t.Errorf("takes %d, %d and %v share %s", a, b, other, id)
				}
				seen[id] = [2]int{a, b}
				rng.Shuffle(2, func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
				if got := (&unit.Unit{Objects: objects}).ID(); got != id {
					t.Errorf("seed %d: in order %v it is %s, want %s", seed, objects, got, id)
				}
			}
		}
	})
	t.Run("and how often a key was looked at again does not", func(t *testing.T) {
		u := unit.Unit{Objects: []unit.Object{{Key: "a", Take: 1}}}
		other := unit.Unit{Objects: []unit.Object{{Key: "a", Take: 1, Again: 3}}}
		if u.ID() != other.ID() {
			t.Error("again changed the id")
		}
	})
}
