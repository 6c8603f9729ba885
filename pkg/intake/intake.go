// Package intake turns announcements of objects into units of a continuous job:
// it decodes notifications, leaves out what the job does not want, packs what
// came in together, enters it in the ledger and sends it.
//
// It reads no object, except the first bytes of one that it would cut, and looks up
// the sizes of those that were announced without one. It does not list: what is not
// announced it does not find. Nor does it send what is due again later; the
// schedule does.
//
// The law: every announced version of an object, by key and ETag, goes into
// exactly one unit, however often and in whatever order its events come and
// whatever fails meanwhile. It goes into another one only if it was overwritten
// before it was read and has become current again. A unit is in the ledger, with
// the claims on its objects, before it is in the feed, and in the feed before the
// messages that announced it are acked (INV-7). An event of which nothing is read
// is counted by its reason (INV-5). What cannot be understood goes to the intake's
// own dead letters, with a reason, and keeps nothing else waiting.
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

// Bucket is what an intake needs of the bucket whose objects are announced.
type Bucket interface {
	object.Opener
	object.Stater
}

// Options tune an Intake. Job and Bucket are required; with nothing else it
// takes every object and cuts none.
type Options struct {
	Job         string
	Bucket      string // as events and descriptors name it
	Filter      plan.Filter
	cut.Options // how large a unit is, in bytes, and which larger objects are cut
	// Start is what the job is opened with if nobody has opened it. Its Token is
	// not used: an intake begins no run after one that ended.
	Start ledger.Start
	// Refuse puts a body that cannot be understood into the intake's own dead
	// letters, and returns nil once they hold it. It may be called
	// concurrently. nil: such a message fails, and in the end its queue gives
	// it up.
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
	read   time.Time   // when meta was read; zero: never
	opened bool        // this process has seen the job
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
