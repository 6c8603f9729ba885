package live_test

import (
	"bytes"
	"iter"
)

// mix is a number of chance for each n.
func mix(seed, n uint64) uint64 {
	x := seed*0x9E3779B97F4A7C15 + n
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// lines are the rows of a block.
func lines(data []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range bytes.Lines(data) {
			if !yield(string(bytes.TrimSuffix(line, []byte("\n")))) {
				return
			}
		}
	}
}
