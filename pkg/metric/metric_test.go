package metric_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/metric"
)

func label(name, value string) metric.Label { return metric.Label{Name: name, Value: value} }

func TestASeriesIsOneHoweverItIsAskedFor(t *testing.T) {
	var r metric.Registry
	a := r.Counter("n", label("x", "1"), label("y", "2"))
	b := r.Counter("n", label("y", "2"), label("x", "1"))
	if a != b {
		t.Error("the order of labels makes another series")
	}
	for name, other := range map[string]*metric.Value{
		"another name":          r.Counter("m", label("x", "1"), label("y", "2")),
		"another value":         r.Counter("n", label("x", "1"), label("y", "3")),
		"another label":         r.Counter("n", label("x", "1"), label("z", "2")),
		"fewer labels":          r.Counter("n", label("x", "1")),
		"no labels":             r.Counter("n"),
		"values that run over":  r.Counter("n", label("x", "1y"), label("", "2")),
		"a name that runs over": r.Counter("nx", label("1", "y"), label("2", "")),
	} {
		if other == a {
			t.Errorf("%s is the same series", name)
		}
	}
}

func TestAskingLeavesTheCallersLabelsAlone(t *testing.T) {
	var r metric.Registry
	labels := []metric.Label{label("z", "1"), label("a", "2")}
	r.Counter("n", labels...)
	if labels[0].Name != "z" {
		t.Error("the labels were sorted in place")
	}
	labels[0].Value = "changed"
	if got := r.Gather()[0].Labels; !slices.Equal(got, []metric.Label{label("a", "2"), label("z", "1")}) {
		t.Errorf("the series changed with the caller's slice: %v", got)
	}
}

func TestGather(t *testing.T) {
	t.Run("gives every series with its kind, labels and number", func(t *testing.T) {
		var r metric.Registry
		r.Counter("c", label("b", "2"), label("a", "1")).Add(3)
		r.Gauge("g").Set(-7)
		want := []metric.Sample{
			{Name: "c", Kind: metric.KindCounter, Labels: []metric.Label{label("a", "1"), label("b", "2")}, Value: 3},
			{Name: "g", Kind: metric.KindGauge, Value: -7},
		}
		if d := cmp.Diff(want, r.Gather()); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
	t.Run("is ordered by name and labels, whatever the order of registration", func(t *testing.T) {
		want := []metric.Sample{
			{Name: "a"}, {Name: "a", Labels: []metric.Label{label("x", "1")}},
			{Name: "a", Labels: []metric.Label{label("x", "1"), label("y", "1")}},
			{Name: "a", Labels: []metric.Label{label("x", "2")}},
			{Name: "a", Labels: []metric.Label{label("y", "0")}},
			{Name: "ab"}, {Name: "b", Labels: []metric.Label{label("a", "0")}},
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		for range 50 {
			var r metric.Registry
			for _, i := range rng.Perm(len(want)) {
				r.Counter(want[i].Name, want[i].Labels...)
			}
			if d := cmp.Diff(want, r.Gather(), cmp.Transformer("nil", func(l []metric.Label) []metric.Label {
				return append([]metric.Label{}, l...)
			})); d != "" {
				t.Fatalf("-want +got:\n%s", d)
			}
		}
	})
	t.Run("is a copy: it does not change with the series", func(t *testing.T) {
		var r metric.Registry
		v := r.Counter("n")
		v.Add(1)
		got := r.Gather()
		v.Add(1)
		if got[0].Value != 1 || r.Gather()[0].Value != 2 {
			t.Errorf("got %d, then %d", got[0].Value, r.Gather()[0].Value)
		}
	})
	t.Run("of an empty registry is empty", func(t *testing.T) {
		var r metric.Registry
		if got := r.Gather(); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
}

func TestAValueCountsWithoutARegistry(t *testing.T) {
	var v metric.Value
	v.Add(2)
	v.Add(-5)
	if v.Load() != -3 {
		t.Errorf("got %d", v.Load())
	}
	v.Set(8)
	if v.Load() != 8 {
		t.Errorf("got %d", v.Load())
	}
}

func TestNothingIsLostUnderConcurrentUse(t *testing.T) {
	const workers, rounds = 8, 500
	var r metric.Registry
	var wg sync.WaitGroup
	var hot metric.Value
	defer func() {
		if want := int64(workers * 100 * rounds); hot.Load() != want {
			t.Errorf("the value is %d, want %d", hot.Load(), want)
		}
	}()
	for w := range workers {
		wg.Go(func() {
			for range 100 * rounds {
				hot.Add(1)
			}
			for i := range rounds {
				r.Counter("shared").Add(1)
				r.Counter("own", label("worker", string(rune('a'+w)))).Add(2)
				if i%50 == 0 {
					r.Gather()
				}
			}
		})
	}
	wg.Wait()
	got := r.Gather()
	if len(got) != workers+1 {
		t.Fatalf("%d series", len(got))
	}
	for _, s := range got {
		want := int64(2 * rounds)
		if s.Name == "shared" {
			want = workers * rounds
		}
		if s.Value != want {
			t.Errorf("%s %v is %d, want %d", s.Name, s.Labels, s.Value, want)
		}
	}
}

func TestANilRegistryCountsForItsCallerAlone(t *testing.T) {
	var r *metric.Registry
	for _, v := range []*metric.Value{r.Counter("c", label("a", "1")), r.Gauge("g")} {
		v.Add(2)
		if v.Load() != 2 {
			t.Errorf("got %d", v.Load())
		}
	}
	r.Histogram("h_seconds").Observe(1)
	if got := r.Gather(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
