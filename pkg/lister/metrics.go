package lister

import (
	"slices"

	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/plan"
)

// metrics are resolved once. What is sent is counted by the feed.
type metrics struct {
	listed  *metric.Value
	skipped map[plan.Verdict]*metric.Value
}

func newMetrics(r *metric.Registry, labels []metric.Label) metrics {
	m := metrics{
		listed:  r.Counter(metric.S3ObjectsListed, labels...),
		skipped: map[plan.Verdict]*metric.Value{},
	}
	for _, v := range []plan.Verdict{plan.Directory, plan.Excluded, plan.Empty, plan.Archived} {
		reason := metric.Label{Name: metric.LabelReason, Value: string(v)}
		m.skipped[v] = r.Counter(metric.S3ObjectsSkipped, append(slices.Clone(labels), reason)...)
	}
	return m
}
