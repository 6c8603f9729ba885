package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/unit"
)

// Reading is a pipeline as a reader on a stack runs it: its units come from a feed,
// and each names its bucket.
type Reading struct {
	*reader.Reader
	sinks []openedSink
}

// OpenReading opens the sinks that c and p describe, and a reader of units over
// l. Of o, what describes the pipeline is filled in. It reads and writes
// nothing.
func OpenReading(ctx context.Context, c Config, p Pipeline, l ledger.Worker, o reader.Options) (*Reading, error) {
	if err := c.check(plain); err != nil {
		return nil, err
	}
	if err := c.lasts(); err != nil {
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
	options := Options{Log: o.Log}.withDefaults()
	out, reading, err := openReading(ctx, &c, p, planning, loc, options, &drivers{})
	if err != nil {
		return nil, err
	}
	o.ReadDigest, o.Pipeline = planning.read, c.pipelineDigest()
	from := &buckets{config: reading, source: c.Source.S3, given: p.Source}
	if o.Announced != nil {
		o.Stat = from.stat
	}
	return &Reading{reader.New(l, from, o), out.opened}, nil
}

// lasts refuses sinks that end with the process, or that each process has to
// itself: what they acked would be done in the ledger, and nowhere to be found.
func (c *Config) lasts() error {
	all := c.sections()
	if c.Rejects != nil {
		own, err := c.Rejects.driver()
		if err != nil {
			return fmt.Errorf("rejects.url: %w", err)
		}
		if own.File != nil {
			return errors.New("rejects.url: a function's files end with it: write to S3, or run the pipeline in one process")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch s := all[name]; {
		case s.File != nil:
			return fmt.Errorf("%s: a function's files end with it: write to S3, or run the pipeline in one process", sinkPath(name))
		case s.Stdout != nil:
			return fmt.Errorf("%s: a function's output is its log: write to S3, or run the pipeline in one process", sinkPath(name))
		}
	}
	return nil
}

// Close closes the sinks. No unit may be in work any more.
func (r *Reading) Close() error { return closeSinks(r.sinks) }

// buckets reads units of any bucket, through one pipe per bucket. The pipes
// share memory and sinks.
type buckets struct {
	config pipe.Config
	source *S3Config
	given  object.Opener // replaces every bucket; nil: none

	mu   sync.Mutex
	open map[string]*bucket // guarded by mu
}

// bucket is a bucket with its pipe.
type bucket struct {
	*pipe.Pipe
	source object.Opener
}

// ReadUnit implements [reader.Pipe].
func (b *buckets) ReadUnit(ctx context.Context, r pipe.Reading, known []unit.Fault, found func(context.Context, unit.Fault) error) (pipe.Result, error) {
	p, err := b.of(ctx, r.Unit.Bucket)
	if err != nil {
		return pipe.Result{}, err
	}
	return p.ReadUnit(ctx, r, known, found)
}

// ReadMember implements [reader.Pipe].
func (b *buckets) ReadMember(ctx context.Context, r pipe.Reading, f unit.Fault) (pipe.Result, error) {
	p, err := b.of(ctx, r.Unit.Bucket)
	if err != nil {
		return pipe.Result{}, err
	}
	return p.ReadMember(ctx, r, f)
}

// stat looks up the current version of an object.
func (b *buckets) stat(ctx context.Context, name, key string) (unit.Object, error) {
	p, err := b.of(ctx, name)
	if err != nil {
		return unit.Object{}, err
	}
	s, ok := p.source.(object.Stater)
	if !ok {
		return unit.Object{}, fmt.Errorf("look at %q: %T cannot look at single objects, as a continuous job must", key, p.source)
	}
	return s.Stat(ctx, key)
}

// of returns the bucket of that name, and opens it the first time.
func (b *buckets) of(ctx context.Context, name string) (*bucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.open[name]; ok {
		return p, nil
	}
	c := b.config
	c.Source = b.given
	if c.Source == nil {
		s, err := openSource(ctx, b.source, location{Place: s3url.Place{Bucket: name}})
		if err != nil {
			return nil, err
		}
		c.Source = s
	}
	if b.open == nil {
		b.open = map[string]*bucket{}
	}
	b.open[name] = &bucket{pipe.New(c), c.Source}
	return b.open[name], nil
}
