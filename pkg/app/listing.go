package app

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// Listing is the source of a job, as a lister on a stack lists it.
type Listing struct {
	// Digests are the fingerprint of the job.
	Digests ledger.Digests

	planning
	bucket object.Bucket
	place  s3url.Place
}

// OpenListing opens the bucket that c and s describe as a source to list. It
// lists nothing.
func OpenListing(ctx context.Context, c Config, p Pipeline, s control.Selection) (*Listing, error) {
	c.selects(s)
	l, err := openListing(ctx, c, p)
	if err != nil {
		return nil, err
	}
	if l.place.Bucket == "" {
		return nil, fmt.Errorf("source.s3.url: %q is a directory, and a stack reads from buckets: give s3://bucket/prefix/", c.Source.S3.URL)
	}
	l.startAfter(s.StartAfter)
	return l, nil
}

// openListing opens the source that c describes, which may be a directory.
func openListing(ctx context.Context, c Config, p Pipeline) (*Listing, error) {
	if err := c.check(plain); err != nil {
		return nil, err
	}
	c.defaults()
	loc, err := parseURL(c.Source.S3.URL)
	if err != nil {
		return nil, err
	}
	planning, err := c.planning(p, loc)
	if err != nil {
		return nil, err
	}
	l := &Listing{Digests: planning.digests(), planning: planning, bucket: p.Source, place: loc.Place}
	if l.bucket == nil {
		l.bucket, err = openSource(ctx, c.Source.S3, loc)
	}
	return l, err
}

// selects puts s in the place of what the file says. It changes a copy of the
// section.
func (c *Config) selects(s control.Selection) {
	if c.Source.S3 == nil {
		return // said by check
	}
	source := *c.Source.S3
	if s.URL != "" {
		source.URL = s.URL
	}
	if len(s.Include) > 0 {
		source.Include = s.Include
	}
	if len(s.Exclude) > 0 {
		source.Exclude = s.Exclude
	}
	if b := source.Modified.Before; !s.Before.IsZero() && (b.IsZero() || s.Before.Before(b.Time)) {
		source.Modified.Before = config.Time{Time: s.Before}
	}
	c.Source.S3 = &source
}

// planning is everything that decides which units a job has and where its
// records begin.
type planning struct {
	listing plan.Listing
	options lister.Options
	framing framing
	read    string // digest
}

func (c *Config) planning(p Pipeline, l location) (planning, error) {
	src := c.Source.S3
	filter, err := filterOf(src, l)
	if err != nil {
		return planning{}, err
	}
	framing := c.framing(p).only(forced(src))
	return planning{
		listing: plan.Listing{
			URL: src.URL, Include: src.Include, Exclude: src.Exclude, Archived: src.Archived,
			After: filter.After, Before: filter.Before, Target: int64(src.Target), Cut: framing.cut,
		},
		options: c.listing(l, filter, framing),
		framing: framing,
		read:    readDigest(c, p),
	}, nil
}

func (l *Listing) startAfter(key string) {
	l.listing.StartAfter, l.options.StartAfter = key, key
	l.Digests = l.digests()
}

func (p *planning) digests() ledger.Digests {
	return ledger.Digests{Plan: plan.PlanDigest(p.listing), Read: p.read}
}

// Outside refuses a place, of the form s3://bucket/prefix/, whose objects the
// source would list: what a job writes must not be read by the next one
// (INV-8).
func (l *Listing) Outside(url string) error {
	to, err := s3url.ParseDir(url)
	if err != nil {
		return err
	}
	return s3sink.Outside(to, l.place)
}

// Lister returns a lister of the source that plans into planner and sends to f.
func (l *Listing) Lister(planner ledger.Planner, f feed.Sender) *lister.Lister {
	return lister.New(l.bucket, planner, f, l.options)
}
