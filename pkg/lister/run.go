package lister

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// pace is how long closed units may wait for others to share their page: a page
// costs a few writes of its own, and readers want work.
const pace = time.Second

// run is one lister's part of a run's listing.
type run struct {
	*Lister
	lease     ledger.Lease
	renewed   time.Time // when the lease was last asked for
	published time.Time // when the last page was published
	alone     bool      // no other lister can have entered the page after that one
	packer    *plan.Packer
	stretch   stretch
}

// list continues the run, from where it stands to the end marker.
func (r *run) list(ctx context.Context) error {
	for {
		m, err := r.renew(ctx)
		if err != nil {
			return err
		}
		if err = r.from(ctx, m.Page); !errors.Is(err, errElsewhere) {
			return err
		}
	}
}

// from lists from the named place on. Packing starts afresh, as it does after
// each page that ends between objects, so whoever continues there makes the
// units that the lister before would have made.
func (r *run) from(ctx context.Context, name string) error {
	p, err := parsePlace(name)
	if err != nil {
		return err
	}
	if name == "" {
		p.key = r.opts.StartAfter
	}
	r.stretch = startAt(name, p)
	r.packer = plan.NewPacker(plan.Options{
		Job:    r.lease.Job,
		Run:    r.lease.Run,
		Bucket: r.opts.Bucket,
		Target: r.opts.Target,
		Origin: unit.FromList,
	})
	if p.object != nil {
		if r.opts.Cut == nil {
			return failure.Errorf(failure.Job, failure.Fingerprint,
				"resume within %q: it is cut into ranges, and this configuration cuts nothing: list with the one that the job was started with", p.key)
		}
		if err := r.pack(ctx, *p.object, r.opts.Cut, p.units); err != nil {
			return err
		}
	}
	for k, err := range r.pages(ctx, p.key) {
		if err != nil {
			return err
		}
		if err := r.take(ctx, k); err != nil {
			return err
		}
	}
	return r.finish(ctx)
}

// take packs a page of the listing, and publishes the units that it closed when
// they are many, have waited long enough or would be lost.
func (r *run) take(ctx context.Context, k keys) error {
	if err := r.hold(ctx); err != nil {
		return err
	}
	for i, o := range k.Objects {
		if err := r.add(ctx, o, k.cuts[i]); err != nil {
			return err
		}
	}
	late := k.More && r.late(ctx)
	if !r.stretch.empty() && (late || time.Since(r.published) >= pace) {
		if err := r.publish(ctx, r.stretch.end()); err != nil {
			return err
		}
	}
	if late {
		return ErrPaused
	}
	return nil
}

// late reports whether it is time to leave the rest to another lister.
func (r *run) late(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < r.opts.Reserve
}

func (r *run) add(ctx context.Context, o object.Listed, cut *plan.Cut) error {
	s := &r.stretch
	if o.Key <= s.seen {
		return disorder(s.seen, o.Key)
	}
	r.metrics.listed.Add(1)
	v := r.opts.Filter.Select(o.Object, o.Archived)
	if v == plan.Take {
		return r.pack(ctx, o.Object, cut, 0)
	}
	r.metrics.skipped[v].Add(1)
	s.skip(o.Object, v)
	return r.closed(ctx, r.packer.Skip(s.add))
}

// pack packs an object of which the first units are published already, as many
// as units says.
func (r *run) pack(ctx context.Context, o unit.Object, cut *plan.Cut, units int) error {
	s, n := &r.stretch, 0
	err := r.packer.Add(o, cut, func(u *unit.Unit) error {
		if u.Range == nil {
			if u.Objects[len(u.Objects)-1].Key != o.Key {
				s.settle() // o closed the unit before it
			}
			return s.add(u)
		}
		if n++; n <= units {
			return nil
		}
		if err := s.add(u); err != nil || !s.full() {
			return err
		}
		// The ranges of one object may be more than memory should hold.
		if err := r.publish(ctx, place{object: &o, units: n}.String()); err != nil {
			return err
		}
		if r.late(ctx) {
			return ErrPaused
		}
		return nil
	})
	s.take(o)
	return r.closed(ctx, err)
}

// closed settles what is in no open unit any more, after an object was packed.
func (r *run) closed(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	s := &r.stretch
	if !r.packer.Open() {
		s.settle()
	}
	if s.full() {
		return r.publish(ctx, s.end())
	}
	return nil
}

// finish publishes what is left and sets the end marker. Every unit is sent by
// then: only the marker says how many there are.
//
// Even with nothing left it publishes a page if an earlier lister may have entered
// one in its place: the units of that one are open and have to be counted.
func (r *run) finish(ctx context.Context) error {
	if err := r.packer.Flush(r.stretch.add); err != nil {
		return err
	}
	r.stretch.settle()
	for !r.stretch.empty() || !r.alone {
		if err := r.publish(ctx, r.stretch.end()); err != nil {
			return err
		}
		if err := r.hold(ctx); err != nil {
			return err
		}
	}
	if err := retry(ctx, undecided, func() error { return r.planner.Finish(ctx, r.lease) }); err != nil {
		return fmt.Errorf("set end marker: %w", err)
	}
	return nil
}

// disorder is the error for a store that does not continue after the key it was
// given: a listing of such a store proves nothing.
func disorder(after, key string) error {
	return failure.Errorf(failure.Job, failure.Config,
		"list after %q: got %q: the store does not list in order of keys, so no listing of it can be proved whole", after, key)
}
