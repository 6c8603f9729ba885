// Package lister plans bounded jobs: it lists a prefix once, packs what it
// finds into units, enters them in the ledger and sends them.
//
// It reads no object, except the first bytes of one that it would cut, and it
// neither starts nor ends a job: Start comes before it and the proof after it.
//
// The law: a unit is in the ledger before it is in the feed (INV-7); every object
// that the filter takes is in exactly one unit, or in ranges that tile it; every
// other object is counted (INV-5); and the end marker is set only after the last
// send. Memory holds two pages of the listing and the units made of one.
//
// A page of the ledger is a stretch of the listing that ends where a unit ends, so
// the unit that is open at the end of a page of the listing belongs to the next
// stretch. Because packing is pure and starts afresh after each unit, a lister that
// continues after another's last page makes the same units as one that listed all.
package lister

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// ErrPaused is what Run returns when its time was up before the listing ended.
// The ledger knows where the run stands, and the next lister continues there.
var ErrPaused = errors.New("time is up before the listing ended")

// Options tune a Lister. The zero value lists everything and cuts nothing.
type Options struct {
	Bucket      string // as descriptors name it
	Filter      plan.Filter
	StartAfter  string // list the keys after this one; "" means all
	cut.Options        // how large a unit is, in bytes, and which larger objects are cut
	// Reserve is how long before its context's deadline a lister stops, between
	// two pages; 0 means 15 s.
	Reserve time.Duration
	// Kept is called for every unit in this lister's pages that is done already, as
	// one that an earlier run has read. nil: it is not.
	Kept     func(u *unit.Unit)
	Registry *metric.Registry // nil counts into nothing
	Labels   []metric.Label
}

// Lister plans jobs over one prefix.
type Lister struct {
	bucket  object.Bucket
	planner ledger.Planner
	sender  feed.Sender
	judge   *cut.Judge
	opts    Options
	metrics metrics
}

// New returns a lister of b that plans into p and sends to s.
func New(b object.Bucket, p ledger.Planner, s feed.Sender, o Options) *Lister {
	o.Reserve = cmp.Or(o.Reserve, 15*time.Second)
	return &Lister{bucket: b, planner: p, sender: s, judge: cut.New(b, o.Options), opts: o, metrics: newMetrics(o.Registry, o.Labels)}
}

// Run continues the listing of run m of the job from where the ledger says that
// it stands, and sets its end marker. Any number of listers may do so, one
// after the other or, when one was thought dead, at once: the ledger lets one
// of them go on, and what is not done is sent again rather than not at all.
//
// ErrPaused, ledger.ErrLeased and ledger.ErrState are no faults: time is up,
// another lister has the run, or it is not to be listed any more. An error
// marked failure.Job is one that no lister of the job could get past, such as a
// listing that is denied: the caller halts the job.
func (l *Lister) Run(ctx context.Context, job string, m ledger.Meta) error {
	r := &run{Lister: l, lease: ledger.Lease{Job: job, Run: m.Run, Holder: rand.Text()}}
	if err := r.list(ctx); err != nil {
		return fmt.Errorf("list for job %s: %w", job, err)
	}
	return nil
}
