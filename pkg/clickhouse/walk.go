package clickhouse

import "bytes"

// walker goes through the elements of a JSON array, or the members of an
// object. The text is valid, or the walk ends with bad set; it never reads
// beyond it.
type walker struct {
	b   []byte
	i   int
	bad bool
}

func walk(raw []byte) walker { return walker{b: raw, i: 1} }

// space skips what stands between tokens and is the byte behind it, 0 at the end.
func (w *walker) space() byte {
	for ; w.i < len(w.b); w.i++ {
		if c := w.b[w.i]; c > ' ' {
			return c
		}
	}
	return 0
}

// element is the next one of an array, nil behind the last.
func (w *walker) element() []byte {
	switch w.space() {
	case ']':
		return nil
	case ',':
		w.i++
	}
	return w.value()
}

// member is the next one of an object, its name without quotes; nil behind the
// last.
func (w *walker) member() (name, value []byte) {
	switch w.space() {
	case '}':
		return nil, nil
	case ',':
		w.i++
		w.space()
	}
	if name = w.value(); len(name) < 2 || name[0] != '"' || w.space() != ':' {
		w.bad = true
		return nil, nil
	}
	w.i++
	return name[1 : len(name)-1], w.value()
}

// value is the value that comes next, nil where there is none.
func (w *walker) value() []byte {
	w.space()
	start := w.i
	switch end := skipValue(w.b, start); {
	case end <= start:
		w.bad = true
		return nil
	default:
		w.i = end
		return w.b[start:end:end]
	}
}

// skipValue returns the end of the JSON value at i, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
	default:
		for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ':' {
			i++
		}
		return i
	}
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i+1); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipString returns the place behind the quote that closes the string whose
// first byte is at i, or -1.
func skipString(b []byte, i int) int {
	for i < len(b) {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for k := i + n - 1; k >= i && b[k] == '\\'; k-- {
			escapes++
		}
		if i += n + 1; escapes%2 == 0 {
			return i
		}
	}
	return -1
}
