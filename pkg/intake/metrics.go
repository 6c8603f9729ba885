package intake

import (
	"slices"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/metric"
)

// metrics are resolved once. What is sent is counted by the feed.
type metrics struct {
	events  *metric.Value
	objects *metric.Value
	units   *metric.Value
	ignored map[failure.Reason]*metric.Value
}

func newMetrics(r *metric.Registry, labels []metric.Label) metrics {
	m := metrics{
		events:  r.Counter(metric.IntakeEvents, labels...),
		objects: r.Counter(metric.IntakeObjects, labels...),
		units:   r.Counter(metric.IntakeUnits, labels...),
		ignored: map[failure.Reason]*metric.Value{},
	}
	for _, v := range []failure.Reason{
		failure.UnparsableEvent, failure.Test, failure.NotCreated, failure.OtherBucket, failure.OutsidePrefix, failure.Excluded,
		failure.Directory, failure.Empty, failure.Repeated, failure.Overwritten, failure.BeforeCutoff,
	} {
		reason := metric.Label{Name: metric.LabelReason, Value: string(v)}
		m.ignored[v] = r.Counter(metric.IntakeEventsIgnored, append(slices.Clone(labels), reason)...)
	}
	return m
}
