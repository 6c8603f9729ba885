package plan_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/spate-go/spate/pkg/plan"
)

func TestRangesTileAnObject(t *testing.T) {
	const seed = 4
	rng := rand.New(rand.NewPCG(seed, 0))
	cases := [][2]int64{{1, 1}, {10, 3}, {10, 10}, {10, 11}, {1 << 20, 1<<20 - 1}, {50 << 40, 64 << 20}, {1<<20 + 1, 1 << 20}}
	for range 500 {
		target := 1 + rng.Int64N(1<<30)
		cases = append(cases, [2]int64{1 + rng.Int64N(target*40), target})
	}
	for _, c := range cases {
		size, target := c[0], c[1]
		at, n := int64(0), 0
		for start, end := range plan.Ranges(size, target) {
			if start != at {
				t.Fatalf("%d by %d: range %d begins at %d, want %d", size, target, n, start, at)
			}
			if got := end - start; got > target || size > target && got < target/2 || got <= 0 {
				t.Fatalf("%d by %d: range %d has %d bytes", size, target, n, got)
			}
			at = end
			n++
		}
		if want := (size + target - 1) / target; at != size || int64(n) != want {
			t.Fatalf("%d by %d: %d ranges up to %d, want %d", size, target, n, at, want)
		}
	}
}

func TestBoundariesAreExactWhereTheProductOverflows(t *testing.T) {
	const size, target = 1<<62 + 12345, 1 << 41
	n := int64((size-1)/target + 1)
	i := int64(0)
	for _, end := range plan.Ranges(size, target) {
		i++
		want := new(big.Int).Mul(big.NewInt(i), big.NewInt(size))
		if want.Quo(want, big.NewInt(n)); !want.IsInt64() || end != want.Int64() {
			t.Fatalf("boundary %d is %d, want %s", i, end, want)
		}
		if i == 3000 {
			return
		}
	}
}

func TestNothingHasNoRanges(t *testing.T) {
	for start, end := range plan.Ranges(0, 1<<20) {
		t.Errorf("[%d, %d)", start, end)
	}
}
