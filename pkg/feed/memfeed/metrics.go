package memfeed

import "github.com/spate-go/spate/pkg/metric"

type meters struct {
	published, received, acknowledged, failed, dead *metric.Value
}

func newMeters(o Options) meters {
	r := o.Metrics // may be nil
	return meters{
		published:    r.Counter(metric.FeedUnitsPublished, o.Labels...),
		received:     r.Counter(metric.FeedUnitsReceived, o.Labels...),
		acknowledged: r.Counter(metric.FeedUnitsAcknowledged, o.Labels...),
		failed:       r.Counter(metric.FeedUnitsFailed, o.Labels...),
		dead:         r.Gauge(metric.FeedDeadLetterUnits, o.Labels...),
	}
}
