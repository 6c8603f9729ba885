package app

import (
	"context"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
)

// Announced is the source of a stack's continuous job: its objects are
// announced by events.
type Announced struct {
	Job            string // the pipeline's name with -live
	Bucket, Prefix string

	listing *Listing
	bucket  intake.Bucket
}

// OpenAnnounced opens the bucket that c describes as a source of announced
// objects. It reads nothing.
func OpenAnnounced(ctx context.Context, c Config, p Pipeline) (*Announced, error) {
	l, err := OpenListing(ctx, c, p, control.Selection{})
	if err != nil {
		return nil, err
	}
	b, ok := l.bucket.(intake.Bucket)
	if !ok {
		return nil, fmt.Errorf("source: %T cannot look at single objects, as a continuous job must", l.bucket)
	}
	job := c.Pipeline.Name + "-live"
	if err := ledger.CheckName(job); err != nil {
		return nil, fmt.Errorf("pipeline.name: the continuous job is called after it: %w", err)
	}
	return &Announced{Job: job, Bucket: l.place.Bucket, Prefix: l.place.Prefix, listing: l, bucket: b}, nil
}

// Outside is Listing.Outside.
func (a *Announced) Outside(url string) error { return a.listing.Outside(url) }

// Start is what the job is opened with.
func (a *Announced) Start(token string, cutoff time.Time) ledger.Start {
	return ledger.Start{Token: token, Digests: a.listing.Digests, Cutoff: cutoff}
}

// Intake returns the job's intake, which enters units into l and sends them to
// f. Of o, what describes the source and the job is filled in.
func (a *Announced) Intake(l ledger.Intaker, f feed.Sender, o intake.Options) *intake.Intake {
	from := a.listing.options
	o.Job, o.Bucket, o.Filter, o.Options = a.Job, a.Bucket, from.Filter, from.Options
	o.Start = a.Start("", time.Time{})
	return intake.New(l, f, a.bucket, o)
}
