package frame

import (
	"bytes"

	"github.com/spate-go/spate/pkg/record"
)

// row is the fast path: it frames the objects and arrays that come next, as
// long as their ends are quick to find, and returns how far it came. The
// outcome is that of step, scan and take, to which it leaves everything
// unusual.
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

// pair is an open bracket: the offset after it, and how many escaped quotes
// come before that.
type pair struct{ from, escaped int }

// maxPairs is the deepest nesting that pairs handles.
const maxPairs = 4

// pairs finds the end of an object or array whose first bracket is before i. It
// returns 0, with w unchanged, if the end is not in the buffer or only scan can
// find it.
//
// It pairs all brackets of one kind, even those in strings, and counts the
// quotes inside each pair. An even number means that both brackets are in
// strings or neither is. While that holds for every pair, ignoring the brackets
// in strings ignores whole pairs: the last pair to close is the value with them
// and without. It never runs past the value's end: the bracket there is not in
// a string, nor, by the count, is the one that it closes.
//
// What costs is a search that finds something, because where it ends cannot be
// predicted. So opening brackets are searched for only up to the next closing
// one, where mostly there is none.
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

// escapes advances from an escape to the first one at or after at, and counts
// those of quotes.
func (w *window) escapes(escape, escaped, at int) (int, int) {
	for escape < at {
		if w.b[escape+1] == '"' {
			escaped++
		}
		escape = w.next('\\', escape+2)
	}
	return escape, escaped
}
