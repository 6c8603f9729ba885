// Package lister plans bounded jobs: it lists a prefix once, packs what it
// finds into units, enters them in the ledger and sends them.
//
// It reads no object, except the first bytes of one that it would cut, and it
// starts and ends no job: Start comes before it and the proof after it.
//
// The law: a unit is in the ledger before it is in the feed (INV-7), every
// object that the filter takes is in exactly one unit or in ranges that tile it,
// every other one is counted (INV-5), and the end marker is set only after the
// last send. Memory holds one page of the listing and what became of it.
//
// A page of the ledger is a stretch of the listing that ends where a unit ends,
// so a page of the listing leaves its open unit to the next one's stretch. As
// packing is pure and starts afresh after each unit, the same listing gives the
// same stretches: a lister that is started again repeats them, and the ledger
// counts them once.
package lister

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// Options tune a Lister. The zero value lists everything and cuts nothing.
type Options struct {
	Bucket     string // as descriptors name it
	Filter     plan.Filter
	StartAfter string // list the keys after this one; "" means all
	Target     int64  // bytes of a unit; 0 means plan.DefaultTarget
	// Cut says how objects over the target are cut; nil: they are not.
	Cut *plan.Cut
	// Head is how many bytes of such an object Cuttable sees; 0 means
	// codec.HeadBytes.
	Head int64
	// Cuttable judges the first bytes of an object that would be cut. It may be
	// called concurrently. nil: what is plain by content may be cut.
	Cuttable func(head []byte) bool
	// Kept is told of every listed unit that an earlier run has done. nil: nobody
	// is told.
	Kept     func(u *unit.Unit)
	Registry *metric.Registry // nil counts into nothing
	Labels   []metric.Label
}

// Lister plans jobs over one prefix.
type Lister struct {
	bucket  object.Bucket
	planner ledger.Planner
	sender  feed.Sender
	opts    Options
	metrics metrics
}

// New returns a lister of b that plans into p and sends to s.
func New(b object.Bucket, p ledger.Planner, s feed.Sender, o Options) *Lister {
	o.Head = cmp.Or(o.Head, codec.HeadBytes)
	if o.Cuttable == nil {
		o.Cuttable = plain
	}
	return &Lister{bucket: b, planner: p, sender: s, opts: o, metrics: newMetrics(o.Registry, o.Labels)}
}

// Run lists the whole prefix for the job's run in m and sets its end marker. It
// may be run again after an error or a crash, from the beginning: what is in the
// ledger is counted once, and what is not done is sent again.
//
// The error is failure.Job when no lister of the job could fare better, such as
// when the listing is denied: the caller halts the job.
func (l *Lister) Run(ctx context.Context, job string, m ledger.Meta) error {
	r := &run{Lister: l, job: job, number: m.Run, stretch: startAt(l.opts.StartAfter)}
	r.packer = plan.NewPacker(plan.Options{
		Job:    job,
		Run:    m.Run,
		Bucket: l.opts.Bucket,
		Target: l.opts.Target,
		Origin: unit.FromList,
	})
	if err := r.list(ctx); err != nil {
		return fmt.Errorf("list for job %s: %w", job, err)
	}
	// Every unit is sent by now. Only the end marker may say how many there are.
	err := retry(ctx, undecided, func() error { return l.planner.Finish(ctx, job, m.Run) })
	if err != nil {
		return fmt.Errorf("set end marker of job %s: %w", job, err)
	}
	return nil
}

// run is one pass over the prefix.
type run struct {
	*Lister
	job     string
	number  int
	packer  *plan.Packer
	stretch stretch
}

func (r *run) list(ctx context.Context) error {
	after, more := r.opts.StartAfter, true
	for more {
		var page object.Page
		err := retry(ctx, transient, func() (err error) {
			page, err = r.bucket.List(ctx, after)
			return err
		})
		if err != nil {
			return err
		}
		if page.More && page.Last <= after {
			return disorder(after, page.Last)
		}
		if err := r.page(ctx, page); err != nil {
			return err
		}
		after, more = page.Last, page.More
	}
	return r.end(ctx)
}

// page packs a page of the listing and publishes the units that it closed.
func (r *run) page(ctx context.Context, page object.Page) error {
	cuts, err := r.cuts(ctx, page.Objects)
	if err != nil {
		return err
	}
	for i, o := range page.Objects {
		if err := r.add(ctx, o, cuts[i]); err != nil {
			return err
		}
	}
	if !r.packer.Open() {
		r.stretch.settle()
	}
	return r.publish(ctx, false)
}

func (r *run) add(ctx context.Context, o object.Listed, cut *plan.Cut) error {
	s := &r.stretch
	if o.Key <= s.seen {
		return disorder(s.seen, o.Key)
	}
	r.metrics.listed.Add(1)
	if v := r.opts.Filter.Select(o.Object, o.Archived); v != plan.Take {
		r.metrics.skipped[v].Add(1)
		s.skip(o.Object, v)
		return nil
	}
	err := r.packer.Add(o.Object, cut, func(u *unit.Unit) error {
		if u.Objects[len(u.Objects)-1].Key != o.Key {
			s.settle() // o closed the unit before it
		}
		s.units = append(s.units, u)
		// The ranges of one object may be more than memory should hold.
		if u.Range != nil && s.full() {
			return r.publish(ctx, true)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.take(o.Object)
	if !r.packer.Open() {
		s.settle()
	}
	if s.full() {
		return r.publish(ctx, false)
	}
	return nil
}

// disorder is what a store does that goes on elsewhere than after the key it was
// given: a listing of it proves nothing.
func disorder(after, key string) error {
	return failure.Errorf(failure.Job, failure.Config,
		"list after %q: got %q: the store does not list in order of keys, so no listing of it can be proved whole", after, key)
}

// end publishes what is still open.
func (r *run) end(ctx context.Context) error {
	err := r.packer.Flush(func(u *unit.Unit) error {
		r.stretch.units = append(r.stretch.units, u)
		return nil
	})
	if err != nil {
		return err
	}
	r.stretch.settle()
	return r.publish(ctx, false)
}
