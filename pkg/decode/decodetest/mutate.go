package decodetest

import "math/rand/v2"

// Mutate changes a text in one to three places: it cuts, puts one of the fragments
// in or in the place of something, or changes a byte.
func Mutate(r *rand.Rand, text string, fragments []string) []byte {
	b := []byte(text)
	for range 1 + r.IntN(3) {
		i, f := r.IntN(len(b)+1), fragments[r.IntN(len(fragments))]
		j := min(len(b), i+r.IntN(9))
		switch r.IntN(4) {
		case 0: // cut
			b = append(b[:i:i], b[j:]...)
		case 1: // insert
			b = append(b[:i:i], append([]byte(f), b[i:]...)...)
		case 2: // replace
			b = append(b[:i:i], append([]byte(f), b[j:]...)...)
		case 3: // a byte
			if i < len(b) {
				b[i] = byte(r.IntN(256))
			}
		}
	}
	return b
}
