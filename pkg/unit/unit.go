// Package unit defines the unit of work: several whole objects, or one byte
// range of one object. A unit is immutable and keeps its ID from the plan to
// its end.
package unit

import "time"

// Limits of a unit, observed by packers and checked by Decode.
const (
	MaxMembers         = 1000
	MaxDescriptorBytes = 200 << 10
)

// Object is one object at one version, as it was listed or announced.
type Object struct {
	Key          string
	Size         int64     // bytes
	ETag         string    // opaque, quotes included; empty where the store has none
	Version      string    // version id; empty where unknown
	LastModified time.Time // zero where unknown
	// Take numbers the claims of this version in a continuous job, from 0. A
	// version that was overwritten unread and is current again is claimed
	// again, as another unit.
	Take int
	// Again is how many times in a row the key was overwritten before its
	// announced version could be read, and was looked up again.
	Again int
}

// Range is the stretch [Start, End) of the only object of a unit. A record
// belongs to the range that holds its first byte.
type Range struct {
	Start, End int64 // bytes
	Delimiter  byte  // what separates records in this object
}

// Origin says how a unit came about.
type Origin string

// The origins.
const (
	FromList  Origin = "list"
	FromEvent Origin = "event"
)

// Unit is a unit of work as it travels through the feed. Objects stand in id
// order: by key, then ETag, then version.
type Unit struct {
	Job     string
	Run     int
	Bucket  string
	Objects []Object
	Range   *Range // nil: the objects are read whole
	Origin  Origin
}

// Size is the number of bytes that the unit covers.
func (u *Unit) Size() int64 {
	if u.Range != nil {
		return u.Range.End - u.Range.Start
	}
	var n int64
	for _, o := range u.Objects {
		n += o.Size
	}
	return n
}
