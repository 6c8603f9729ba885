package intake

import (
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// maxRanges bounds the units of one object, and so the memory and the time that
// an intake spends on it; a larger object has longer ranges.
const maxRanges = 4096

// group is what is entered with one call: a unit and the objects in it, or the
// ranges of one object.
type group struct {
	wants []*want // in the order of entry.Claims
	entry ledger.Entry
}

// first is the unit that the claims name.
func (g *group) first() *ledger.Planned { return &g.entry.Units[0] }

// pack packs ws, which has no object twice. What cannot be encoded fails by
// itself.
func (in *Intake) pack(m ledger.Meta, ws []*want) []*group {
	var groups []*group
	whole := make(map[unit.ObjectID]*want, len(ws))
	var objects []unit.Object
	for _, w := range ws {
		if w.cut == nil {
			whole[w.id] = w
			objects = append(objects, w.Object)
			continue
		}
		if g := newGroup(m, []*want{w}, in.ranges(m, w.Object, w.cut)); g != nil {
			groups = append(groups, g)
		}
	}
	unit.Sort(objects)
	p := plan.NewPacker(in.packing(m))
	keep := func(u *unit.Unit) error {
		of := make([]*want, len(u.Objects))
		for i := range u.Objects {
			of[i] = whole[u.Objects[i].ID()]
		}
		if g := newGroup(m, of, []*unit.Unit{u}); g != nil {
			groups = append(groups, g)
		}
		return nil
	}
	for _, o := range objects {
		_ = p.Add(o, nil, keep) // keep has no error
	}
	_ = p.Flush(keep)
	return groups
}

func (in *Intake) packing(m ledger.Meta) plan.Options {
	return plan.Options{Job: m.Job, Run: m.Run, Bucket: in.opts.Bucket, Target: in.opts.Target, Origin: unit.FromEvent}
}

// ranges are the units of an object that is cut, in the order of their bytes.
// The same object always gives the same ones.
func (in *Intake) ranges(m ledger.Meta, o unit.Object, c *plan.Cut) []*unit.Unit {
	opts := in.packing(m)
	opts.Target = max(plan.Target(opts.Target), (o.Size+maxRanges-1)/maxRanges)
	var units []*unit.Unit
	keep := func(u *unit.Unit) error {
		units = append(units, u)
		return nil
	}
	p := plan.NewPacker(opts)
	_ = p.Add(o, c, keep) // keep has no error
	_ = p.Flush(keep)
	return units
}

// newGroup makes an entry of units and the claims on what is in them. If a unit
// cannot be encoded, it fails the wants and returns nil.
func newGroup(m ledger.Meta, ws []*want, units []*unit.Unit) *group {
	g := &group{wants: ws, entry: ledger.Entry{Job: m.Job, Run: m.Run, Units: make([]ledger.Planned, len(units))}}
	for i, u := range units {
		body, err := u.Encode()
		if err != nil {
			failAll(ws, err)
			return nil
		}
		g.entry.Units[i] = ledger.Planned{ID: u.ID(), FirstKey: u.Objects[0].Key, Objects: len(u.Objects), Body: body}
	}
	id := g.first().ID
	g.entry.Claims = slices.Grow(g.entry.Claims, len(ws))
	for _, w := range ws {
		g.entry.Claims = append(g.entry.Claims, ledger.Claim{ID: w.id, Unit: id, Take: w.Take})
	}
	return g
}
