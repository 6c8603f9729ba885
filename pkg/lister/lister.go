// Package lister plans bounded jobs: it lists a prefix once, packs what it
// finds into units, enters them in the ledger and sends them.
//
// It reads no object, except the first bytes of one that it would cut, and it
// starts and ends no job: Start comes before it and the proof after it.
//
// The law: a unit is in the ledger before it is in the feed (INV-7), every
// object that the filter takes is in exactly one unit or in ranges that tile it,
// every other one is counted (INV-5), and the end marker is set only after the
// last send. Memory holds two pages of the listing and what became of one.
//
// A page of the ledger is a stretch of the listing that ends where a unit ends,
// so a page of the listing leaves its open unit to the next one's stretch. As
// packing is pure and starts afresh after each unit, a lister that goes on after
// another's last page makes the same units as one that listed all.
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

// ErrPaused is what Run gives when its time was up before the listing ended. Where
// the run stands is in the ledger, and the next lister goes on there.
var ErrPaused = errors.New("time is up before the listing ended")

// Options tune a Lister. The zero value lists everything and cuts nothing.
type Options struct {
	Bucket      string // as descriptors name it
	Filter      plan.Filter
	StartAfter  string // list the keys after this one; "" means all
	cut.Options        // the bytes of a unit, and which objects over that are cut
	// Reserve is how long before its context's deadline a lister stops, between
	// two pages; 0 means 15 s.
	Reserve time.Duration
	// Kept is told of every unit in the pages of this lister that is done already,
	// as an earlier run's may be. nil: nobody is told.
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

// Run goes on with the listing of the job's run in m, from where the ledger says
// that it stands, and sets its end marker. Any number of listers may be at it, one
// after the other or, when one was thought dead, at once: the ledger lets one of
// them go on, and what is not done is sent again rather than not at all.
//
// ErrPaused, ledger.ErrLeased and ledger.ErrState are no faults: time is up,
// another lister has the run, or it is not to be listed any more. failure.Job is
// an error that no lister of the job could get past, such as a listing that is
// denied: the caller halts the job.
func (l *Lister) Run(ctx context.Context, job string, m ledger.Meta) error {
	r := &run{Lister: l, lease: ledger.Lease{Job: job, Run: m.Run, Holder: rand.Text()}}
	if err := r.list(ctx); err != nil {
		return fmt.Errorf("list for job %s: %w", job, err)
	}
	return nil
}
