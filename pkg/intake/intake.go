// Package intake turns announcements of objects into units of a continuous job:
// it decodes notifications, leaves out what the job does not want, packs what
// came in together, enters it in the ledger and sends it.
//
// It reads no object, except the first bytes of one that it would cut, and asks
// for the sizes of those that were announced without. It is no lister: what is
// not announced it does not find. Nor does it send what is due again later, which
// is for the schedule.
//
// The law: every version of an object that is announced, by key and ETag, goes
// into exactly one unit, however often and in whatever order its events come and
// whatever fails meanwhile; again only when it was overwritten before it was read
// and is current once more. A unit is in the ledger, with the claims on its
// objects, before it is in the feed, and in the feed before the messages that
// announced it are acked (INV-7). What is read of no event is counted by its
// reason (INV-5), and what cannot be understood goes to dead letters of its own,
// with a reason, and keeps nothing else waiting.
package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
)

// Bucket is what an intake looks at.
type Bucket interface {
	object.Opener
	object.Stater
}

// Options tune an Intake. Job and Bucket are required; with no more it takes
// everything and cuts nothing.
type Options struct {
	Job         string
	Bucket      string // as events and descriptors name it
	Filter      plan.Filter
	cut.Options // the bytes of a unit, and which objects over that are cut
	// Start is what the job is opened with where nobody did before. Its Token is
	// not used: an intake begins no run after one that ended.
	Start ledger.Start
	// Refuse puts a body that cannot be understood into the intake's own dead
	// letters, and returns nil once they hold it. It may be called concurrently.
	// nil: such a message fails, so that its queue gives it up in the end.
	Refuse   func(ctx context.Context, body []byte, r failure.Reason, detail string) error
	Log      *slog.Logger     // nil: nothing is logged
	Registry *metric.Registry // nil counts into nothing
	Labels   []metric.Label
}

// Intake enters the units of one continuous job. Its methods may be called
// concurrently, and any number of intakes may be at one job.
type Intake struct {
	ledger  ledger.Intaker
	sender  feed.Sender
	bucket  Bucket
	judge   *cut.Judge
	opts    Options
	metrics metrics

	mu     sync.Mutex
	meta   ledger.Meta // guarded by mu, as all below
	read   time.Time   // when meta was; zero: never
	opened bool        // the job was there once
}

// New returns an intake of the objects in b that enters into l and sends to f.
func New(l ledger.Intaker, f feed.Sender, b Bucket, o Options) *Intake {
	o.Start.Token = ""
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Intake{
		ledger: l, sender: f, bucket: b, opts: o,
		judge:   cut.New(b, o.Options),
		metrics: newMetrics(o.Registry, o.Labels),
	}
}
