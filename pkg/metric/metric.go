// Package metric is the one registry behind every exporter: counters, gauges and
// histograms of durations, resolved when a pipeline is built and never per
// record.
package metric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind of a series.
type Kind int

// The kinds.
const (
	KindCounter Kind = iota
	KindGauge
	KindHistogram
)

// Label is a name and a value.
type Label struct{ Name, Value string }

// Value is one series' number. The zero value counts too, unregistered, so that
// no caller needs to know whether metrics are on.
type Value struct{ n atomic.Int64 }

// Add adds n.
func (v *Value) Add(n int64) { v.n.Add(n) }

// Set replaces the number of a gauge.
func (v *Value) Set(n int64) { v.n.Store(n) }

// Load returns the number.
func (v *Value) Load() int64 { return v.n.Load() }

// Registry holds series. Its zero value is ready. A nil one holds none: each of
// its series is one of the caller's own, which nobody gathers.
type Registry struct {
	mu     sync.Mutex
	series map[string]*series // guarded by mu
}

type series struct {
	Sample
	value     Value
	durations *Durations // of a histogram only
}

// Sample is a series and its number at one moment.
type Sample struct {
	Name      string
	Kind      Kind
	Labels    []Label       // by name
	Value     int64         // of a counter or gauge
	Durations *Distribution // of a histogram; nil otherwise
}

// Counter returns the counter of that name and labels, the same one each time.
func (r *Registry) Counter(name string, labels ...Label) *Value {
	return &r.find(name, KindCounter, labels).value
}

// Gauge returns the gauge of that name and labels, the same one each time.
func (r *Registry) Gauge(name string, labels ...Label) *Value {
	return &r.find(name, KindGauge, labels).value
}

// Histogram returns the histogram of that name and labels, the same one each
// time.
func (r *Registry) Histogram(name string, labels ...Label) *Durations {
	return r.find(name, KindHistogram, labels).durations
}

// find panics when the name has another kind: that is a fault of the program, and
// no exporter could show both.
func (r *Registry) find(name string, k Kind, labels []Label) *series {
	if r == nil {
		r = new(Registry)
	}
	labels = slices.Clone(labels)
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	var id strings.Builder
	id.WriteString(name)
	for _, l := range labels {
		id.WriteString("\x00" + l.Name + "\x00" + l.Value)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.series == nil {
		r.series = map[string]*series{}
	}
	s, ok := r.series[id.String()]
	if !ok {
		s = &series{Sample: Sample{Name: name, Kind: k, Labels: labels}}
		if k == KindHistogram {
			s.durations = new(Durations)
		}
		r.series[id.String()] = s
	}
	if s.Kind != k {
		panic(fmt.Sprintf("metric: %s is registered as another kind", name))
	}
	return s
}

// Gather returns every series, ordered by name and labels.
func (r *Registry) Gather() []Sample {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Sample, 0, len(r.series))
	for _, s := range r.series {
		sample := s.Sample
		sample.Value = s.value.Load()
		if s.durations != nil {
			d := s.durations.load()
			sample.Durations = &d
		}
		out = append(out, sample)
	}
	slices.SortFunc(out, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.CompareFunc(a.Labels, b.Labels, func(a, b Label) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
		}))
	})
	return out
}
