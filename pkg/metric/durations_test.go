package metric_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/metric"
)

func TestABucketHoldsItsBoundAndNothingLonger(t *testing.T) {
	for i := range metric.Buckets {
		var r metric.Registry
		h := r.Histogram("h_seconds")
		h.Observe(metric.Bound(i))
		h.Observe(metric.Bound(i) + 1)
		d := r.Gather()[0].Durations
		for b, n := range d.Counts {
			want := int64(0)
			if b == i {
				want = 1
			} else if b > i {
				want = 2
			}
			if n != want {
				t.Errorf("of %v and 1 ns more, %d are at most %v, want %d", metric.Bound(i), n, metric.Bound(b), want)
			}
		}
		if d.Count != 2 || d.Sum != 2*metric.Bound(i)+1 {
			t.Errorf("%d of %v together", d.Count, d.Sum)
		}
	}
}

func TestTheBoundsAreThoseOfTheContract(t *testing.T) {
	var got []string
	for i := range metric.Buckets {
		got = append(got, metric.Bound(i).String())
	}
	want := []string{"1ms", "2.5ms", "5ms", "10ms", "25ms", "50ms", "100ms", "250ms", "500ms", "1s", "2.5s", "5s", "10s", "30s", "1m0s"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAHistogramIsOneSeriesLikeAnyOther(t *testing.T) {
	var r metric.Registry
	h := r.Histogram("h_seconds", label("a", "1"), label("b", "2"))
	if h != r.Histogram("h_seconds", label("b", "2"), label("a", "1")) {
		t.Error("the order of labels makes another series")
	}
	h.Observe(-time.Second) // a clock was set back
	got := r.Gather()
	if len(got) != 1 || got[0].Kind != metric.KindHistogram || got[0].Durations.Sum != 0 || got[0].Durations.Counts[0] != 1 {
		t.Errorf("got %+v", got)
	}
	h.Observe(time.Second)
	if got[0].Durations.Count != 1 {
		t.Error("what was gathered changes with the series")
	}
}

func TestANameOfTwoKindsIsAFaultOfTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("both kinds were taken")
		}
	}()
	var r metric.Registry
	r.Counter("n")
	r.Histogram("n")
}

func TestNoObservationIsLostUnderConcurrentUse(t *testing.T) {
	var h metric.Durations
	var r metric.Registry
	shared := r.Histogram("h_seconds")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				h.Observe(time.Duration(i) * time.Millisecond)
				shared.Observe(time.Duration(i) * time.Millisecond)
				if d := r.Gather()[0].Durations; d.Counts[metric.Buckets-1] > d.Count {
					t.Error("more in the buckets than in all")
				}
			}
		})
	}
	wg.Wait()
	if d := r.Gather()[0].Durations; d.Count != 4000 || d.Sum != 4*499500*time.Millisecond {
		t.Errorf("%d of %v", d.Count, d.Sum)
	}
}
