package app

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/unit"
)

// progressed counts what a job has done, for the display and the metrics, never
// for a verdict.
type progressed struct {
	objects, failed, bytes atomic.Int64

	registry  *metric.Registry
	config    *Config
	completed *metric.Value

	mu  sync.Mutex
	cut map[string]int64 // bytes done of the objects that are cut; guarded by mu
}

func (p *progressed) meter(r *metric.Registry, c *Config) {
	p.registry, p.config, p.cut = r, c, map[string]int64{}
	p.completed = r.Counter(metric.S3ObjectsCompleted, labels(c, "source", "s3")...)
	// Every series is there from the start, with 0: an alarm on a series that does not
	// exist never rings.
	r.Counter(metric.S3ObjectsOverwritten, labels(c, "source", "s3")...) // stays 0: only announced objects are overwritten
	for _, reason := range unitReasons {
		p.failures(reason)
	}
	for _, reason := range haltReasons {
		p.halts(reason)
	}
}

// The reasons that a job may meet.
var (
	unitReasons = []failure.Reason{
		failure.NotFound, failure.ETagDrift, failure.Undecodable, failure.TooLarge, failure.Archived, failure.InvalidKey,
		failure.RetriesExhausted, failure.SinkRejected, failure.Deadline, failure.Operator, failure.Crashed, failure.Missing,
		failure.UnsupportedDescriptor,
	}
	haltReasons = []failure.Reason{failure.Denied, failure.Config, failure.Schema, failure.Fingerprint, failure.SinkDown}
)

func (p *progressed) failures(r failure.Reason) *metric.Value {
	return p.registry.Counter(metric.S3ObjectsFailed, append(labels(p.config, "source", "s3"), because(r))...)
}

func (p *progressed) halts(r failure.Reason) *metric.Value {
	return p.registry.Gauge(metric.JobHalted, append(labels(p.config, "pipeline", "run"), because(r))...)
}

func because(r failure.Reason) metric.Label {
	return metric.Label{Name: metric.LabelReason, Value: string(r)}
}

func (p *progressed) finished(u *unit.Unit) {
	n := int64(len(u.Objects))
	if u.Range != nil && !p.whole(u) {
		n = 0
	}
	p.objects.Add(n)
	p.completed.Add(n)
	p.bytes.Add(u.Size())
}

// kept counts a unit that an earlier run has read.
func (p *progressed) kept(u *unit.Unit) {
	if u.Range == nil || p.whole(u) {
		p.objects.Add(int64(len(u.Objects)))
	}
	p.bytes.Add(u.Size())
}

// goesOn counts everything that was listed as done, except for the units that
// open yields.
func (p *progressed) goesOn(listed ledger.Inventory, open func(yield func(*unit.Unit)) error) error {
	objects, bytes := listed.Objects, listed.Bytes
	err := open(func(u *unit.Unit) {
		bytes -= u.Size()
		if u.Range == nil {
			objects -= int64(len(u.Objects))
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		o := &u.Objects[0]
		if _, ok := p.cut[o.Key]; !ok {
			p.cut[o.Key] = o.Size
			objects--
		}
		p.cut[o.Key] -= u.Size()
	})
	p.objects.Add(objects)
	p.bytes.Add(bytes)
	return err
}

// whole reports whether u is the last of the ranges that its object is cut into.
func (p *progressed) whole(u *unit.Unit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &u.Objects[0]
	p.cut[o.Key] += u.Size()
	if p.cut[o.Key] != o.Size {
		return false
	}
	delete(p.cut, o.Key)
	return true
}

// gaveUp counts a unit that was given up. An object that is cut fails once, and
// is never done.
func (p *progressed) gaveUp(u *unit.Unit, c ledger.Cause) {
	bad := int64(len(c.Objects))
	if u.Range != nil && !p.spoiled(u) {
		bad = 0
	}
	good := int64(len(u.Objects) - len(c.Objects))
	p.objects.Add(good)
	p.completed.Add(good)
	p.failed.Add(bad)
	p.bytes.Add(u.Size())
	p.failures(c.Reason).Add(bad)
}

// spoiled keeps the object of the range u from ever being whole, and reports
// whether this range is the first to do so.
func (p *progressed) spoiled(u *unit.Unit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &u.Objects[0]
	if p.cut[o.Key] < 0 {
		return false
	}
	p.cut[o.Key] = math.MinInt64
	return true
}

// labels are what every series of a component carries. Without a component they
// are for pipe, which adds its own.
func labels(c *Config, component, kind string) []metric.Label {
	l := []metric.Label{{Name: metric.LabelPipeline, Value: c.Pipeline.Name}}
	if component == "" {
		return l
	}
	return append(l, metric.Label{Name: metric.LabelComponent, Value: component},
		metric.Label{Name: metric.LabelComponentType, Value: kind})
}
