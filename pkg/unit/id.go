package unit

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// PackingVersion is part of every id, so that units packed by different rules
// never share one.
const PackingVersion = 3

// Shards is the number of partitions that the ledger spreads a job over.
const Shards = 64

const (
	wholeTag  = "spate-s3-split\n"
	rangeTag  = "spate-s3-range\n"
	objectTag = "spate-s3-object\n"
	takenTag  = "spate-s3-taken\n" // before the others, where a member was taken again
	idPrefix  = "s3-"
	objPrefix = "o-"
)

// ID names a unit: a digest of what it reads. Equal content gives equal ids, in
// any process and at any time (INV-3). The bucket is not part of it: a job has
// only one.
type ID string

// ObjectID names an object at one version by key and ETag: putting the same
// bytes under a key again gives the same id.
type ObjectID string

// ID returns the object's id.
func (o *Object) ID() ObjectID {
	b := make([]byte, 0, len(objectTag)+16+len(o.Key)+len(o.ETag))
	b = append(b, objectTag...)
	b = appendMember(b, &Object{Key: o.Key, ETag: o.ETag})
	return ObjectID(objPrefix + digest(b))
}

// Shard is the ledger partition of id.
func (id ObjectID) Shard() int { return shard(string(id), objPrefix) }

// ID returns the unit's id, whatever the order of its objects.
func (u *Unit) ID() ID { return identify(PackingVersion, u.Objects, u.Range) }

// Sort puts objects into id order: by key, then ETag, then version.
func Sort(objects []Object) { slices.SortFunc(objects, compare) }

func compare(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ETag, b.ETag), cmp.Compare(a.Version, b.Version))
}

func identify(packing uint32, objects []Object, r *Range) ID {
	if !slices.IsSortedFunc(objects, compare) {
		objects = slices.Clone(objects)
		Sort(objects)
	}
	tag := wholeTag
	if r != nil {
		tag = rangeTag
	}
	b := make([]byte, 0, preimageBytes(objects))
	taken := slices.ContainsFunc(objects, func(o Object) bool { return o.Take > 0 })
	if taken {
		b = append(b, takenTag...)
	}
	b = append(b, tag...)
	b = binary.LittleEndian.AppendUint32(b, packing)
	for i := range objects {
		b = appendMember(b, &objects[i])
		if taken {
			b = binary.LittleEndian.AppendUint32(b, uint32(objects[i].Take))
		}
	}
	if r != nil {
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Start))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.End))
		b = append(b, r.Delimiter)
	}
	return ID(idPrefix + digest(b))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// preimageBytes is an upper bound of what identify hashes.
func preimageBytes(objects []Object) int {
	n := 64
	for i := range objects {
		o := &objects[i]
		n += 17 + len(o.Key) + len(o.ETag) + len(o.Version)
	}
	return n
}

func appendMember(b []byte, o *Object) []byte {
	b = appendField(b, o.Key)
	if o.ETag == "" {
		b = append(b, 0)
	} else {
		b = appendField(append(b, 1), o.ETag)
	}
	// Only when known: ids made before versions were listed keep their value.
	if o.Version != "" {
		b = appendField(b, o.Version)
	}
	return b
}

// appendField appends s with its length before it, so that two neighbouring
// fields cannot trade bytes.
func appendField(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// Shard is the ledger partition of id. A malformed id goes to shard 0.
func (id ID) Shard() int { return shard(string(id), idPrefix) }

func shard(id, prefix string) int {
	var sum [16]byte
	if len(id) != len(prefix)+22 {
		return 0
	}
	if _, err := base64.RawURLEncoding.Decode(sum[:], []byte(id[len(prefix):])); err != nil {
		return 0
	}
	return int(sum[15] & (Shards - 1))
}
