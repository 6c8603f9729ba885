package frame

import "bytes"

// quoteMark is what bytes.Count wants.
var quoteMark = []byte{'"'}

// window is a buffer in which values are looked for, from front to back. It may end
// anywhere in a value: that is why this is not jsontext's work.
type window struct {
	b []byte
	// escape is the first unescaped backslash at or after the current position;
	// len(b): there is none. It is kept from value to value, since most buffers
	// hold few.
	escape int
}

// next is the place of the first c from i on, or len(b).
func (w *window) next(c byte, i int) int {
	if i < len(w.b) {
		if n := bytes.IndexByte(w.b[i:], c); n >= 0 {
			return i + n
		}
	}
	return len(w.b)
}

// reach advances to i, which must not be escaped.
func (w *window) reach(i int) {
	if w.escape < i {
		w.escape = w.next('\\', i)
	}
}

// quotes counts the unescaped quotes in [i, j).
func (w *window) quotes(i, j int) int {
	if i == j {
		return 0
	}
	n := bytes.Count(w.b[i:j], quoteMark)
	for w.escape < j {
		e := w.escape + 1
		if e < j && w.b[e] == '"' {
			n--
		}
		w.escape = w.next('\\', e+1)
	}
	return n
}

// settled is how much of the buffer was scanned, given that all of it from i on
// was: a backslash at its end is not, since what it escapes is still to come.
func (w *window) settled(i int) int {
	if n := len(w.b); n > i && w.b[n-1] == '\\' {
		run := len(w.b[i:]) - len(bytes.TrimRight(w.b[i:], `\`))
		return n - run&1
	}
	return len(w.b)
}

// value is a JSON value whose beginning was seen.
type value struct {
	// kind is the first byte of an object, array or string, scalarKind of
	// anything else, and 0 where there is no value.
	kind   byte
	quoted bool // the current position is inside a nested string
	depth  int  // of brackets of the kind
}

const scalarKind = 'a'

// valueOf is the value whose first byte is c.
func valueOf(c byte) value {
	switch c {
	case '{', '[':
		return value{kind: c, depth: 1}
	case '"':
		return value{kind: c}
	}
	return value{kind: scalarKind}
}

// scan looks for the end of the value from i on and returns it, or how far the
// buffer was looked through.
//
// It looks only for what the end requires: of an object the braces outside
// strings, of an array the brackets, of a string the quote without a backslash
// before it. So a fault inside a value stays inside it, for the decoder to
// find.
func (v *value) scan(w *window, i int) (end int, done bool) {
	switch v.kind {
	case '{', '[':
		return v.nested(w, i)
	case '"':
		return w.str(i)
	}
	return w.scalar(i)
}

// nested scans an object or array. Between two brackets only quotes are
// counted: an even number leaves the string state unchanged.
func (v *value) nested(w *window, i int) (int, bool) {
	open, shut := v.kind, v.kind+2 // as ASCII has them
	w.reach(i)
	o, s := w.next(open, i), w.next(shut, i)
	from := i
	for {
		at := min(o, s)
		if w.quotes(i, at)&1 == 1 {
			v.quoted = !v.quoted
		}
		if at == len(w.b) {
			return w.settled(from), false
		}
		if i = at + 1; v.quoted {
			// A string may be full of brackets: skip to its end.
			end, done := w.str(i)
			if !done {
				return end, false
			}
			i, v.quoted = end, false
			if o < i {
				o = w.next(open, i)
			}
			if s < i {
				s = w.next(shut, i)
			}
			continue
		}
		if at == o {
			v.depth++
			o = w.next(open, i)
			continue
		}
		if v.depth--; v.depth == 0 {
			return i, true
		}
		s = w.next(shut, i)
	}
}

// str looks for the end of a string from i on, where nothing is escaped.
func (w *window) str(i int) (end int, done bool) {
	w.reach(i)
	from := i
	for {
		q := w.next('"', i)
		for w.escape+1 < q {
			w.escape = w.next('\\', w.escape+2)
		}
		if q == len(w.b) {
			return w.settled(from), false
		}
		if i = q + 1; w.escape != q-1 {
			return i, true
		}
		w.escape = w.next('\\', i)
	}
}

func (w *window) scalar(i int) (end int, done bool) {
	for ; i < len(w.b); i++ {
		switch w.b[i] {
		case ' ', '\t', '\n', '\r', ',', ':', '"', '[', ']', '{', '}':
			return i, true
		}
	}
	return i, false
}

// space is the first place from i on that is not white space.
func (w *window) space(i int) int {
	for i < len(w.b) && (w.b[i] == ' ' || w.b[i] == '\n' || w.b[i] == '\r' || w.b[i] == '\t') {
		i++
	}
	return i
}

// isWord reports whether b, which is not a string, array or object, can be a
// value by itself: a word that JSON knows, or what a number is made of.
func isWord(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return b[0] == '-' || b[0]-'0' <= 9
}
