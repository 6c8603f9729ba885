package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// join makes a job of its drivers. It opens the outputs if d has none.
func join(ctx context.Context, c Config, p Pipeline, o Options, loc location, d *drivers) (*Job, error) {
	planning, err := c.planning(p, loc)
	if err != nil {
		return nil, err
	}
	digests := planning.digests()
	o.state = d.state
	if o.begun, err = d.state.check(ctx, c.Job.Name, digests); err != nil {
		return nil, err
	}
	out, reading, err := openReading(ctx, &c, p, planning, loc, o, d)
	if err != nil {
		return nil, err
	}
	j := &Job{
		name: c.Job.Name, opt: o, held: c.Feed.UnitsHeld, wake: make(chan struct{}, 1),
		ledger: d.ledger, state: d.state, feed: d.feed, waits: waiting{feed: d.sender}, sinks: out.opened,
		finalizer: finalizer.New(d.ledger), digests: digests, pipeline: c.pipelineDigest(),
	}
	if o.Limit > 0 {
		j.limit = new(atomic.Int64)
		j.limit.Store(o.Limit)
	}
	reading.Source, reading.Limit = d.bucket, j.limit
	j.wire(&c, d, reading, planning.options)
	return j, nil
}

// wire builds the protocols over the drivers.
func (j *Job) wire(c *Config, d *drivers, reading pipe.Config, listing lister.Options) {
	r := j.opt.Metrics
	pp := pipe.New(reading)
	j.records, j.read = pp.Records(), pp.BytesRead()
	j.reader = reader.New(d.ledger, pp, reader.Options{
		ReadDigest: j.digests.Read, Level: slog.LevelDebug, Pipeline: j.pipeline, Log: j.opt.Log,
		Resume: j.resume, Waits: j.waits.add,
		Settled: j.settled, Halted: func(context.Context, *unit.Unit, ledger.Halt) { j.notify() }, Finished: j.finished, GaveUp: j.progress.gaveUp,
		Latency: r.Histogram(metric.E2ELatency, labels(c, "pipeline", "run")...),
	})
	j.progress.meter(r, c)
	listing.Kept, listing.Registry, listing.Labels = j.progress.kept, r, labels(c, "source", "s3")
	j.lister = lister.New(d.bucket, d.ledger, &j.waits, listing)
}

// openReading opens the outputs and returns the configuration of the pipe,
// except for the source.
func openReading(ctx context.Context, c *Config, p Pipeline, pl planning, loc location, o Options, d *drivers) (out outputs, _ pipe.Config, err error) {
	if _, err := newChain(c, p, nil); err != nil {
		return out, pipe.Config{}, err
	}
	framer := pl.framing.framer
	if err := c.enoughMemory(framer(), p); err != nil {
		return out, pipe.Config{}, err
	}
	if out, err = openOutputs(ctx, c, p, loc, o, d); err != nil {
		return out, pipe.Config{}, err
	}
	rows, err := newChain(c, p, encoders(out.opened))
	if err != nil {
		return out, pipe.Config{}, errors.Join(err, closeSinks(out.opened))
	}
	return out, pipe.Config{
		Framer: framer, Chain: rows, Force: forced(c.Source.S3), Sinks: out.sinks, Rejects: out.rejects,
		Budget: budget.New(int64(c.Pipeline.Memory)), Threads: c.Pipeline.Threads,
		Registry: o.Metrics, Labels: labels(c, "", ""),
	}, nil
}

// enoughMemory refuses a memory bound under which some unit could not be read.
func (c *Config) enoughMemory(f frame.Framer, p Pipeline) error {
	limits := c.limits(p)
	need := pipe.Floor(f, limits...)
	if need <= int64(c.Pipeline.Memory) {
		return nil
	}
	mend := "raise it"
	if slices.ContainsFunc(limits, func(l sink.Limits) bool { return l.Joined() > 1 }) {
		mend = "a sink holds the rows of as many segments as it joins: raise it, set fewer segments for the sink"
	}
	return fmt.Errorf("pipeline.memory: %s is less than the %s that one unit needs: %s, or lower the framing's max_record",
		c.Pipeline.Memory, config.Size((need+1<<20-1)>>20<<20), mend)
}

// outputs are the opened sinks, and what the pipe knows of them.
type outputs struct {
	opened  []openedSink
	sinks   []pipe.NamedSink
	rejects *pipe.Rejects
}

// openOutputs opens the sinks and the rejects: all of them or none.
func openOutputs(ctx context.Context, c *Config, p Pipeline, loc location, o Options, d *drivers) (out outputs, err error) {
	if c.Rejects != nil {
		if err := vetRejects(c, loc, o); err != nil {
			return out, err
		}
	}
	out.opened = []openedSink{{name: defaultSink, kind: d.sinkType, Sink: d.sink}}
	if d.sink == nil {
		if out.opened, err = openSinks(ctx, c, p, loc, o); err != nil {
			return out, err
		}
	}
	out.sinks = named(out.opened, c, o)
	if c.Rejects != nil {
		r, err := openRejects(ctx, c, loc, o)
		if err != nil {
			return out, errors.Join(err, closeSinks(out.opened))
		}
		out.opened, out.rejects = append(out.opened, r), c.rejects(r, o)
	}
	return out, nil
}
