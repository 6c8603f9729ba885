package reject

import (
	"errors"
	"iter"
)

var errNoObject = errors.New("it is not one JSON object")

// scan finds the members of an object. Values are looked into only as far as
// their end needs.
type scan struct {
	b []byte
	i int
}

// member is a member of the object: its key as written, without quotes, and its
// value.
type member struct {
	key, value []byte
	at         int // of the value
}

// text is the inside of a value that is a string.
func (m *member) text() ([]byte, bool) {
	if m.value[0] != '"' {
		return nil, false
	}
	return m.value[1 : len(m.value)-1], true
}

// members yields the members of the object that b is. It ends with the first
// error.
func (s *scan) members() iter.Seq2[member, error] {
	return func(yield func(member, error) bool) {
		if !s.is('{') {
			yield(member{}, errNoObject)
			return
		}
		for first := true; ; first = false {
			if s.is('}') && first {
				break
			}
			m, ok := s.member()
			if !ok {
				yield(member{}, errNoObject)
				return
			}
			if !yield(m, nil) {
				return
			}
			if s.is('}') {
				break
			}
			if !s.is(',') {
				yield(member{}, errNoObject)
				return
			}
		}
		if s.space(); s.i < len(s.b) {
			yield(member{}, errNoObject)
		}
	}
}

func (s *scan) member() (m member, ok bool) {
	s.space()
	key := s.i
	if key == len(s.b) || s.b[key] != '"' || !s.str() {
		return m, false
	}
	m.key = s.b[key+1 : s.i-1]
	if !s.is(':') {
		return m, false
	}
	s.space()
	m.at = s.i
	if !s.value() {
		return m, false
	}
	m.value = s.b[m.at:s.i]
	return m, true
}

func (s *scan) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// is takes c if it is next, white space aside.
func (s *scan) is(c byte) bool {
	if s.space(); s.i == len(s.b) || s.b[s.i] != c {
		return false
	}
	s.i++
	return true
}

// str takes the string at i, whose opening quote is there.
func (s *scan) str() bool {
	for s.i++; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '"':
			s.i++
			return true
		case '\\':
			s.i++
		}
	}
	return false
}

// value takes a value: of a compound one all up to the bracket that closes it.
func (s *scan) value() bool {
	for depth := 0; s.i < len(s.b); {
		switch s.b[s.i] {
		case '"':
			if !s.str() {
				return false
			}
		case '{', '[':
			depth++
			s.i++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return false
			}
			s.i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return false
			}
			s.i++
			continue
		default:
			for s.i < len(s.b) && !ends(s.b[s.i]) {
				s.i++
			}
		}
		if depth == 0 {
			return true
		}
	}
	return false
}

// ends reports whether c ends a number or a word.
func ends(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']':
		return true
	}
	return false
}
