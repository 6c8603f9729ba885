package plan

import (
	"iter"
	"math/bits"
)

// Ranges yields the stretches [start, end) that tile size bytes: as few as fit
// into target bytes each, of equal length except for rounding, so each is
// longer than half the target when there are several. There are none for size
// 0.
func Ranges(size, target int64) iter.Seq2[int64, int64] {
	return func(yield func(start, end int64) bool) {
		if size <= 0 || target <= 0 {
			return
		}
		n := (size-1)/target + 1
		start := int64(0)
		for i := int64(1); i <= n; i++ {
			end := boundary(i, size, n)
			if !yield(start, end) {
				return
			}
			start = end
		}
	}
}

// boundary is floor(i*size/n) for 0 <= i <= n. The product takes 128 bits: a
// large object cut small overflows 64.
func boundary(i, size, n int64) int64 {
	hi, lo := bits.Mul64(uint64(i), uint64(size))
	q, _ := bits.Div64(hi, lo, uint64(n))
	return int64(q)
}
