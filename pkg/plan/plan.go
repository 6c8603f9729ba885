// Package plan turns a listing into units. It is pure: no I/O, no clock, no
// randomness, and memory for one open unit.
//
// It is not the lister: it knows neither ledger nor feed, and whoever calls it
// says which objects may be cut.
//
// The law: the same objects in the same order give the same units with the same
// ids (INV-3), every object is in exactly one unit or in ranges that tile it,
// and a change of the listing alters units only up to the next anchor.
package plan

import (
	"crypto/sha256"

	"github.com/spate-go/spate/pkg/unit"
)

// Sizes of a unit, in bytes.
const (
	DefaultTarget = 64 << 20
	MinTarget     = 1 << 20
)

// maxPacked is how many objects fill a unit however small they are: each costs
// a request, and so counts as at least this part of the target.
const maxPacked = 64

// maxSkipped is how many keys may be skipped while a unit is open. A lister can
// stop only while none is open, and must be able to within a bounded time.
const maxSkipped = 1 << 16

// Options tune a Packer.
type Options struct {
	Job    string
	Run    int
	Bucket string
	Target int64       // bytes of a unit; 0 means DefaultTarget, and less than MinTarget is MinTarget
	Origin unit.Origin // "" means unit.FromList
}

// Cut says that an object may be read in ranges.
type Cut struct {
	Delimiter byte // what separates records in it
}

// Packer packs objects in the order of their keys. It is not for concurrent
// use.
type Packer struct {
	opts     Options
	floor    int64 // cost of the smallest object
	envelope int   // encoded bytes of a unit without its objects

	open    []unit.Object
	cost    int64
	encoded int
	skipped int    // keys, since the open unit began
	key     []byte // scratch for hashing
}

// NewPacker returns a Packer with nothing open.
func NewPacker(o Options) *Packer {
	o.Target = Target(o.Target)
	if o.Origin == "" {
		o.Origin = unit.FromList
	}
	p := &Packer{opts: o, floor: (o.Target + maxPacked - 1) / maxPacked}
	p.envelope = p.unit(nil).EnvelopeBytes()
	return p
}

// Target is the unit size that a packer uses when asked for bytes.
func Target(bytes int64) int64 {
	if bytes == 0 {
		return DefaultTarget
	}
	return max(bytes, MinTarget)
}

// Open reports whether a unit is open: objects were added and not yet yielded.
func (p *Packer) Open() bool { return len(p.open) > 0 }

// Add packs o and calls yield for each unit that this closes: first the one
// that was open, if o closes it, then those that hold o. An object over the
// target with an ETag comes as ranges when cut is given. Units are yielded one
// by one, because a cut object may give millions.
//
// An error of yield is returned at once, and the Packer is unusable afterwards.
func (p *Packer) Add(o unit.Object, cut *Cut, yield func(*unit.Unit) error) error {
	alone := o.Size >= p.opts.Target
	n := o.EncodedBytes()
	if alone || p.anchor(o.Key) || p.encoded+n > unit.MaxDescriptorBytes {
		if err := p.Flush(yield); err != nil {
			return err
		}
	}
	if alone && cut != nil && o.Size > p.opts.Target && o.ETag != "" {
		return p.cut(o, *cut, yield)
	}
	if len(p.open) == 0 {
		p.encoded, p.skipped = p.envelope, 0
	}
	p.open = append(p.open, o)
	p.cost += max(o.Size, p.floor)
	p.encoded += n
	if p.cost >= p.opts.Target {
		return p.Flush(yield)
	}
	return nil
}

// Skip is called in place of Add for a key that is not packed. After maxSkipped
// of them it closes the open unit, if there is one, and calls yield for it.
func (p *Packer) Skip(yield func(*unit.Unit) error) error {
	if p.skipped++; p.skipped < maxSkipped {
		return nil
	}
	return p.Flush(yield)
}

// Flush closes the open unit, if there is one, and calls yield for it.
func (p *Packer) Flush(yield func(*unit.Unit) error) error {
	p.skipped = 0
	if len(p.open) == 0 {
		return nil
	}
	u := p.unit(p.open)
	// A listing comes sorted by key; events do not.
	unit.Sort(u.Objects)
	p.open, p.cost, p.encoded = nil, 0, 0
	return yield(u)
}

func (p *Packer) unit(objects []unit.Object) *unit.Unit {
	return &unit.Unit{
		Job:     p.opts.Job,
		Run:     p.opts.Run,
		Bucket:  p.opts.Bucket,
		Objects: objects,
		Origin:  p.opts.Origin,
	}
}

// cut yields the ranges of o. They share its one object: units are immutable.
func (p *Packer) cut(o unit.Object, c Cut, yield func(*unit.Unit) error) error {
	objects := []unit.Object{o}
	for start, end := range Ranges(o.Size, p.opts.Target) {
		u := p.unit(objects)
		u.Range = &unit.Range{Start: start, End: end, Delimiter: c.Delimiter}
		if err := yield(u); err != nil {
			return err
		}
	}
	return nil
}

// anchor reports whether a unit must begin at key: about one key in a thousand,
// chosen by the key alone, so that packing falls into step again soon after any
// change of the listing.
func (p *Packer) anchor(key string) bool {
	p.key = append(p.key[:0], key...)
	sum := sha256.Sum256(p.key)
	return sum[0] == 0 && sum[1]&0xC0 == 0
}
