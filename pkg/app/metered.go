package app

import (
	"context"
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// metered is s with retries and metrics: of each attempt, and of each block
// from its first attempt to its last.
func metered(s sink.Sink, r *metric.Registry, l []metric.Label) sink.Sink {
	retries := r.Counter(metric.SinkRetries, l...)
	attempts := &timed{Sink: s, took: r.Histogram(metric.SinkWriteDuration, l...), failed: new(metric.Value)}
	return &timed{
		Sink:   sink.Retry(attempts, sink.RetryOptions{OnRetry: func(error) { retries.Add(1) }}),
		took:   r.Histogram(metric.SinkFlushDuration, l...),
		failed: r.Counter(metric.SinkErrors, l...),
	}
}

// timed measures writes and counts those that fail. A commit is of a series,
// not of a block: only its errors count.
type timed struct {
	sink.Sink
	took   *metric.Durations
	failed *metric.Value
}

func (t *timed) Write(ctx context.Context, b *sink.Block) error {
	began := time.Now()
	err := t.Sink.Write(ctx, b)
	t.took.Observe(time.Since(began))
	if _, ok := errors.AsType[*sink.Rejected](err); ok && !failure.Marked(err) {
		return err // of its rows: the block was written
	}
	return t.count(ctx, err)
}

func (t *timed) Commit(ctx context.Context, u unit.ID, series int) error {
	return t.count(ctx, t.Sink.Commit(ctx, u, series))
}

// count counts err, unless a stop caused it: that is no fault of the sink.
func (t *timed) count(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		t.failed.Add(1)
	}
	return err
}
