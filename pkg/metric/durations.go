package metric

import (
	"sync/atomic"
	"time"
)

// bounds are the upper ends of the buckets of every histogram: from what a local
// disk takes to the budget of a sink's retries. They are part of the names'
// promise, since dashboards compute over them.
var bounds = []time.Duration{
	1 * time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, 60 * time.Second,
}

// Buckets is the number of bounds.
const Buckets = 15

// Bound is the inclusive upper end of bucket i.
func Bound(i int) time.Duration { return bounds[i] }

// Durations is a histogram. The zero value counts too, unregistered.
type Durations struct {
	counts [Buckets + 1]atomic.Int64 // the last: beyond every bound
	sum    atomic.Int64              // nanoseconds
}

// Observe adds d. A negative d, from a clock that was set back, counts as 0.
func (h *Durations) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < Buckets && d > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Distribution is a histogram at one moment.
type Distribution struct {
	Counts [Buckets]int64 // of durations up to each bound, cumulative
	Count  int64          // all
	Sum    time.Duration
}

// load accumulates the buckets, so that Count agrees with them even while
// others observe.
func (h *Durations) load() Distribution {
	d := Distribution{Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		d.Count += h.counts[i].Load()
		if i < Buckets {
			d.Counts[i] = d.Count
		}
	}
	return d
}
