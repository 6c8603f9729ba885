package frame

import (
	"bytes"

	"github.com/spate-go/spate/pkg/record"
)

// row frames the objects and arrays that come next, as long as their ends are
// quick to find, and returns how far that goes. It comes to what step, scan and
// take come to, and leaves to them all that is not as usual.
func (f *JSONFramer) row(dst []record.Frame, w *window, pos int) ([]record.Frame, int) {
	comma := f.state == separator
	if !comma && !(f.loose && f.state == document) {
		return dst, pos
	}
	for {
		at := w.space(pos)
		if comma && at < len(w.b) {
			if w.b[at] != ',' {
				return dst, pos
			}
			at = w.space(at + 1)
		}
		if at == len(w.b) || w.b[at] != '{' && w.b[at] != '[' {
			return dst, pos
		}
		end := w.pairs(w.b[at], at+1)
		if end == 0 {
			return dst, pos
		}
		dst = f.record(dst, at, end)
		pos = end
	}
}

// pair is a bracket that is open: what is behind it, and how many quotes before
// that are escaped.
type pair struct{ from, escaped int }

// maxPairs is how deep brackets nest in what pairs is for.
const maxPairs = 4

// pairs finds the end of an object or array from behind its first bracket on.
// 0 says that it is not in the buffer, or that it takes scan to find it; then
// w is as it was.
//
// It pairs all brackets of the kind, those in strings too, and counts the quotes
// inside each pair. Where their number is even, both brackets are in strings or
// both are not. As long as that holds of every pair, leaving out the brackets in
// strings leaves out whole pairs: the last pair to close is the value with them
// and without. It goes no further than the value's end: the bracket there is not
// in a string, nor is then the one that it closes.
//
// What costs is a search that ends at a find, for where it will end cannot be
// foretold. So opening brackets are searched for only up to the next closing one,
// where most often there is none.
func (w *window) pairs(open byte, i int) int {
	w.reach(i)
	b, escape, escaped := w.b, w.escape, 0
	var outer [maxPairs]pair
	depth, in := 0, pair{from: i}
	for {
		n := bytes.IndexByte(b[i:], open+2)
		if n < 0 {
			return 0
		}
		s := i + n
		for n := bytes.IndexByte(b[i:s], open); n >= 0; n = bytes.IndexByte(b[i:s], open) {
			if depth == maxPairs {
				return 0
			}
			if i += n; escape < i {
				escape, escaped = w.escapes(escape, escaped, i)
			}
			i++
			outer[depth] = in
			depth++
			in = pair{i, escaped}
		}
		if escape < s {
			escape, escaped = w.escapes(escape, escaped, s)
		}
		if (bytes.Count(b[in.from:s], quoteMark)-escaped+in.escaped)&1 == 1 {
			return 0
		}
		i = s + 1
		if depth == 0 {
			w.escape = escape
			return i
		}
		depth--
		in = outer[depth]
	}
}

// escapes goes on from an escape to the first at or behind at, and counts those
// of quotes.
func (w *window) escapes(escape, escaped, at int) (int, int) {
	for escape < at {
		if w.b[escape+1] == '"' {
			escaped++
		}
		escape = w.next('\\', escape+2)
	}
	return escape, escaped
}
