package jsondecode

import (
	"bytes"
	"errors"

	"github.com/spate-go/spate/pkg/jsontext"
)

// ErrNoObject says that a path leads through a value that is not an object.
var ErrNoObject = errors.New("it is not an object")

// Member is a member of an object.
type Member struct {
	Key   []byte // as written, quotes included
	Value []byte // as written
}

// Is reports whether m's key means name.
func (m *Member) Is(name string) bool {
	raw := m.Key[1 : len(m.Key)-1]
	if !plain(raw) {
		raw = appendUnquoted(nil, raw)
	}
	return string(raw) == name
}

// AppendMembers appends the members of an object, which must be valid, in
// their order. They are views of raw.
func AppendMembers(dst []Member, raw []byte) []Member {
	w := jsontext.Walk(raw)
	for key, value := w.Member(); value != nil; key, value = w.Member() {
		dst = append(dst, Member{key, value})
	}
	return dst
}

// AppendElements appends the elements of an array, which must be valid.
func AppendElements(dst [][]byte, raw []byte) [][]byte {
	w := jsontext.Walk(raw)
	for e := w.Element(); e != nil; e = w.Element() {
		dst = append(dst, e)
	}
	return dst
}

// Lookup is the value of the member that p leads to from a valid value, as
// written, or nil where there is none. Of members called the same it is the
// last.
func Lookup(raw []byte, p Path) []byte {
	for _, key := range p {
		var found []byte
		for w := walk(raw); w.next(); {
			if w.Is(key) {
				found = w.Value
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
		if !w.Is(p[0]) {
			dst = w.appendValue(w.appendKey(dst))
		} else if len(p) > 1 {
			dst = AppendWithout(w.appendKey(dst), w.Value, p[1:])
		}
	}
	return append(dst, '}')
}

// AppendWith appends raw, a valid object, with value as the member that p leads
// to: in place of the one that is there, else after the others. Objects that
// are missing on the way, or null, are made. It fails with ErrNoObject where p
// leads through another value.
func AppendWith(dst, raw []byte, p Path, value []byte) ([]byte, error) {
	if !isObject(raw) {
		return dst, ErrNoObject
	}
	old, done := Lookup(raw, p[:1]), false
	dst = append(dst, '{')
	for w := walk(raw); w.next(); {
		if !w.Is(p[0]) {
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
		if dst, err = appendMade(append(jsontext.AppendQuoted(dst, p[0]), ':'), nil, p[1:], value); err != nil {
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

// walker goes through the members of a valid object, and has the one at hand.
type walker struct {
	Member
	object jsontext.Walker
}

func walk(raw []byte) walker { return walker{object: jsontext.Walk(raw)} }

func (w *walker) next() bool {
	w.Key, w.Value = w.object.Member()
	return w.Value != nil
}

// appendKey appends the key with its colon, and a comma before where one is due.
func (w *walker) appendKey(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(dst, w.Key...), ':')
}

func (w *walker) appendValue(dst []byte) []byte { return append(dst, w.Value...) }

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
