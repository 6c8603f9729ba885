package price_test

import (
	"math"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/price"
)

// near wants got within a part of want.
func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*math.Abs(want) {
		t.Errorf("%s: got %g, want %g", what, got, want)
	}
}

// units are n alike.
func units(n int, bytes, gets int64) price.Work {
	var w price.Work
	for range n {
		w.Add(bytes, gets)
	}
	w.Listed = int64(n)
	return w
}

func TestAMessageIsHeldEachMinute(t *testing.T) {
	for gets, want := range map[int64]int64{17_000: 31, 18_000: 41, 36_000: 51} { // 57, 61 and 122 s a unit
		if got := price.Of(units(10, 0, gets), price.Function{}).Usage.QueueRequests; got != want {
			t.Errorf("%d GETs a unit: %d queue requests, want %d", gets, got, want)
		}
	}
}

// A job that took what its plan said costs what its plan said.
func TestAnActualIsPricedAsThePlanWas(t *testing.T) {
	for _, c := range []struct {
		says                       string
		units, objects, eachObject int
	}{
		{"large ones", 200, 1, 64 << 20},
		{"neither large nor small", 200, 5, 12 << 20},
		{"small ones", 300, 64, 10_000},
		{"longer than a minute each", 20, 1, 12_000 << 20},
		{"nothing", 0, 0, 0},
	} {
		t.Run(c.says, func(t *testing.T) {
			bytes, gets := int64(c.objects)*int64(c.eachObject), int64(c.objects)*price.Gets(int64(c.eachObject))
			w := units(c.units, bytes, gets)
			w.Listed = int64(c.units * c.objects)
			for _, memory := range []int{0, 3008} {
				plan := price.Of(w, price.Function{MemoryMB: memory})
				got := price.Actual{
					MemoryTime: int64(plan.Usage.GBSeconds * 1024 * 1000),
					Units:      w.Units, Objects: w.Listed, Bytes: w.Bytes, Listed: w.Listed,
				}.Usage()
				near(t, "GB-seconds", got.GBSeconds, plan.Usage.GBSeconds, 1e-6)
				got.GBSeconds = plan.Usage.GBSeconds
				if memory != 0 { // a function's memory is not known
					got.QueueRequests = plan.Usage.QueueRequests
				}
				if got != plan.Usage {
					t.Errorf("%d MB: actual %+v, planned %+v", memory, got, plan.Usage)
				}
			}
		})
	}
}

func TestRequestsAreThoseOfAllServices(t *testing.T) {
	u := price.Usage{GBSeconds: 0.5, Invocations: 1, QueueRequests: 10, WriteUnits: 100, ReadUnits: 1000, Gets: 10_000, Lists: 100_000}
	if got := u.Requests(); got != 111_111 {
		t.Errorf("%d", got)
	}
}

// Worked out by hand from the constants, not from the code.
func TestATerabyteOfUnitsOf64MiB(t *testing.T) {
	e := price.Of(units(14_902, 64<<20, 8), price.Function{MemoryMB: 1769, Concurrency: 1000})
	// A unit: 0.1 s, 64/75 s of network, 8 GETs of 27 ms in eight.
	busy := 14_902 * (0.1 + 64.0/75 + 0.027)
	near(t, "GB-seconds", e.Usage.GBSeconds, busy*1769/1024, 1e-9)
	near(t, "compute", e.Dollars.Compute, 0.3365, 0.01)
	// 200 s until 1,000 run, with 5·199 + 5·199²/2 = 99,998 s of work done: never
	// reached. 5t + 2.5t² = 14,601 → t = 75.4 s.
	if e.Duration != 76*time.Second || e.Concurrency != 1000 {
		t.Errorf("took %v at %d", e.Duration, e.Concurrency)
	}
	if u := e.Usage; u.Invocations != 14_902 || u.QueueRequests != 46_197 || u.WriteUnits != 4*14_902 || u.ReadUnits != 2*14_902 || u.Gets != 8*14_902 || u.Lists != 15 {
		t.Errorf("usage %+v", u)
	}
	near(t, "requests", e.Dollars.Requests, (14_902*0.2+46_197*0.5+4*14_902*0.625+2*14_902*0.125+8*14_902*0.4+15*5)/1e6, 1e-9)
	near(t, "total", e.Dollars.Total, e.Dollars.Compute+e.Dollars.Requests, 1e-12)
}

func TestTime(t *testing.T) {
	for _, c := range []struct {
		says string
		w    price.Work
		f    price.Function
		want time.Duration
	}{
		{"nothing takes no time", price.Work{}, price.Function{}, 0},
		{"five at once begin at once", units(500, 75<<20, 0), price.Function{Concurrency: 5}, 110 * time.Second},
		{"one after another", units(10, 75<<20, 0), price.Function{Concurrency: 1}, 11 * time.Second},
		{"no more at once than there are units", units(2, 750<<20, 0), price.Function{}, 11 * time.Second},
		// 1 s to ten, 7.5 s of work done by then, (1100-7.5)/10.
		{"after the ramp as many as there may be", units(1000, 75<<20, 0), price.Function{Concurrency: 10}, 111 * time.Second},
		// 5t + 2.5t² = 1100 → 20 s, at 105 at once.
		{"within the ramp", units(1000, 75<<20, 0), price.Function{}, 20 * time.Second},
		{"the longest unit is not shared", func() price.Work {
			w := units(1, 7500<<20, 0)
			w.Add(1, 1)
			return w
		}(), price.Function{}, 101 * time.Second},
		{"a listing is one page after another", price.Work{Listed: 10_000_000}, price.Function{}, 1500 * time.Second},
		{"little memory is little of a CPU", units(1, 100e6, 0), price.Function{MemoryMB: 177}, 11 * time.Second},
		{"much memory is no more network", units(1, 750<<20, 0), price.Function{MemoryMB: 10_240}, 11 * time.Second},
		{"small objects wait for their first byte", units(1, 0, 8000), price.Function{}, 28 * time.Second},
		{"the longest of many is longest by bytes, then by GETs", func() price.Work {
			w := units(1, 0, 8000)
			w.Add(0, 1)
			return w
		}(), price.Function{}, 28 * time.Second},
		{"what SQS does not give is not counted on", units(1_000_000, 75<<20, 0), price.Function{Concurrency: 5000}, 1005 * time.Second},
	} {
		t.Run(c.says, func(t *testing.T) {
			if got := price.Of(c.w, c.f).Duration; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestNoMoreRunAtOnceThanThereAreUnits(t *testing.T) {
	for n, want := range map[int]int{0: 0, 2: 2, 2000: 1000} {
		if got := price.Of(units(n, 1, 1), price.Function{}).Concurrency; got != want {
			t.Errorf("%d units: %d at once, want %d", n, got, want)
		}
	}
}

func TestMoreIsNeverSlowerNorLessCheaper(t *testing.T) {
	w := units(3000, 64<<20, 8)
	last := price.Of(w, price.Function{Concurrency: 1})
	for c := 2; c < 1300; c++ {
		e := price.Of(w, price.Function{Concurrency: c})
		if e.Duration > last.Duration || e.Dollars != last.Dollars {
			t.Fatalf("at %d: %v for $%g; with one less %v for $%g", c, e.Duration, e.Dollars.Total, last.Duration, last.Dollars.Total)
		}
		last = e
	}
	for n := range 200 {
		if a, b := price.Of(units(n, 1<<20, 1), price.Function{}), price.Of(units(n+1, 1<<20, 1), price.Function{}); a.Duration > b.Duration || a.Dollars.Total >= b.Dollars.Total {
			t.Fatalf("%d units %v $%g, one more %v $%g", n, a.Duration, a.Dollars.Total, b.Duration, b.Dollars.Total)
		}
	}
}

func TestEveryUsageHasItsPrice(t *testing.T) {
	for what, c := range map[string]struct {
		u    price.Usage
		want float64
	}{
		"lambda":   {price.Usage{GBSeconds: 1e6, Invocations: 1e6}, 13.3334 + 0.2},
		"sqs":      {price.Usage{QueueRequests: 1e6}, 0.5},
		"dynamodb": {price.Usage{WriteUnits: 1e6, ReadUnits: 1e6}, 0.625 + 0.125},
		"s3":       {price.Usage{Gets: 1e6, Lists: 1e6}, 5.4},
	} {
		near(t, what, price.Cost(c.u).Total, c.want, 1e-9)
	}
}
