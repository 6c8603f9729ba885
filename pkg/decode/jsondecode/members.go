package jsondecode

import (
	"bytes"
	"errors"
)

// ErrNoObject says that a path leads through a value that is no object.
var ErrNoObject = errors.New("it is no object")

// Member is a member of an object.
type Member struct {
	Key   []byte // as written, quotes included
	Value []byte // as written
}

// Is reports whether m's key means name.
func (m *Member) Is(name string) bool { return keyIs(m.Key[1:len(m.Key)-1], name) }

func keyIs(raw []byte, name string) bool {
	if !plain(raw) {
		raw = appendUnquoted(nil, raw)
	}
	return string(raw) == name
}

// AppendMembers appends the members of an object, which must be valid, in
// their order. They are views of raw.
func AppendMembers(dst []Member, raw []byte) []Member {
	w := walk(raw)
	for w.next() {
		dst = append(dst, Member{raw[w.key:w.keyEnd:w.keyEnd], raw[w.value:w.end:w.end]})
	}
	return dst
}

// AppendElements appends the elements of an array, which must be valid.
func AppendElements(dst [][]byte, raw []byte) [][]byte {
	s := scanner{b: raw}
	for i := s.space(s.space(0) + 1); raw[i] != ']'; {
		end := s.skip(i)
		dst = append(dst, raw[i:end:end])
		if i = s.space(end); raw[i] == ',' {
			i = s.space(i + 1)
		}
	}
	return dst
}

// Lookup is the value of the member that p leads to from a valid value, as
// written, or nil where there is none. Of members called the same it is the
// last.
func Lookup(raw []byte, p Path) []byte {
	for _, key := range p {
		if !isObject(raw) {
			return nil
		}
		var found []byte
		for w := walk(raw); w.next(); {
			if w.is(key) {
				found = raw[w.value:w.end:w.end]
			}
		}
		if raw = found; raw == nil {
			return nil
		}
	}
	return raw
}

// AppendWithout appends the valid value raw without the member that p, which
// is not empty, leads to. Of the objects on the way the space between tokens
// goes; all other values stay as they are written.
func AppendWithout(dst, raw []byte, p Path) []byte {
	if Lookup(raw, p) == nil {
		return append(dst, raw...)
	}
	dst = append(dst, '{')
	for w := walk(raw); w.next(); {
		if !w.is(p[0]) {
			dst = w.appendValue(w.appendKey(dst))
		} else if len(p) > 1 {
			dst = AppendWithout(w.appendKey(dst), raw[w.value:w.end], p[1:])
		}
	}
	return append(dst, '}')
}

// AppendWith appends raw, a valid object, with value as the member that p
// leads to: in the place of the one that is there, else behind the others.
// Objects that are missing on the way, or null, are made. It fails with
// ErrNoObject where p leads through another value.
func AppendWith(dst, raw []byte, p Path, value []byte) ([]byte, error) {
	if !isObject(raw) {
		return dst, ErrNoObject
	}
	old, done := Lookup(raw, p[:1]), false
	dst = append(dst, '{')
	for w := walk(raw); w.next(); {
		if !w.is(p[0]) {
			dst = w.appendValue(w.appendKey(dst))
			continue
		}
		if done { // a second one of that name
			continue
		}
		done = true
		var err error
		if dst, err = appendMade(w.appendKey(dst), old, p[1:], value); err != nil {
			return dst, err
		}
	}
	if !done {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendMade(append(AppendQuoted(dst, p[0]), ':'), nil, p[1:], value); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendMade appends the value at a key: value itself at the path's end, or
// what is there with it inside.
func appendMade(dst, old []byte, p Path, value []byte) ([]byte, error) {
	if len(p) == 0 {
		return append(dst, value...), nil
	}
	if old == nil || old[0] == 'n' {
		old = []byte("{}")
	}
	return AppendWith(dst, old, p, value)
}

// isObject reports whether a valid value is an object.
func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// walker goes through the members of a valid object. The offsets are of the
// member at hand.
type walker struct {
	s           scanner
	i           int // of what comes next
	key, keyEnd int
	value, end  int
}

func walk(raw []byte) walker {
	w := walker{s: scanner{b: raw}}
	w.i = w.s.space(w.s.space(0) + 1)
	return w
}

func (w *walker) next() bool {
	s := &w.s
	if s.b[w.i] == '}' {
		return false
	}
	w.key, w.keyEnd = w.i, s.str(w.i+1)
	w.value = s.space(s.space(w.keyEnd) + 1)
	w.end = s.skip(w.value)
	if w.i = s.space(w.end); s.b[w.i] == ',' {
		w.i = s.space(w.i + 1)
	}
	return true
}

func (w *walker) is(name string) bool { return keyIs(w.s.b[w.key+1:w.keyEnd-1], name) }

// appendKey appends the key with its colon, and a comma before where one is due.
func (w *walker) appendKey(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(dst, w.s.b[w.key:w.keyEnd]...), ':')
}

func (w *walker) appendValue(dst []byte) []byte { return append(dst, w.s.b[w.value:w.end]...) }

// skip returns the end of the value at i of a valid text.
func (s *scanner) skip(i int) int {
	b := s.b
	switch b[i] {
	case '"':
		return s.str(i + 1)
	case '{', '[':
	default: // a number or a word ends where something else begins
		for i++; i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']'; {
			i++
		}
		return i
	}
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = s.str(i + 1)
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
}

// Plain reports whether m's key is written as it is meant.
func (m *Member) Plain() bool { return plain(m.Key[1 : len(m.Key)-1]) }

// Name is what m's key means: a view of it, or of scratch, which holds it then.
func (m *Member) Name(scratch *[]byte) []byte {
	if m.Plain() {
		return m.Key[1 : len(m.Key)-1]
	}
	*scratch = AppendText((*scratch)[:0], m.Key)
	return *scratch
}
