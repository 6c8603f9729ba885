package memfeed

import "github.com/spate-go/spate/pkg/metric"

// Names of the metrics.
const (
	metricPublished    = "spate_feed_units_published_total"
	metricReceived     = "spate_feed_units_received_total"
	metricAcknowledged = "spate_feed_units_acknowledged_total"
	metricFailed       = "spate_feed_units_failed_total"
	metricDead         = "spate_feed_dead_letter_units"
)

type meters struct {
	published, received, acknowledged, failed, dead *metric.Value
}

func newMeters(o Options) meters {
	r := o.Metrics
	if r == nil {
		r = &metric.Registry{} // counts that nobody gathers
	}
	return meters{
		published:    r.Counter(metricPublished, o.Labels...),
		received:     r.Counter(metricReceived, o.Labels...),
		acknowledged: r.Counter(metricAcknowledged, o.Labels...),
		failed:       r.Counter(metricFailed, o.Labels...),
		dead:         r.Gauge(metricDead, o.Labels...),
	}
}
