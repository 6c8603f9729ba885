package jsondecode

import (
	"bytes"
	"slices"
)

// keys finds keys that stand twice in one object. The stack holds the keys of
// the objects that are open.
type keys struct {
	scan  scanner
	stack []key
}

type key struct {
	name []byte // as meant
	at   int
}

// check wants a valid text.
func (k *keys) check(b []byte) error {
	k.scan.b = b
	k.stack = k.stack[:0]
	if _, at := k.value(k.scan.space(0)); at >= 0 {
		return undecodable("duplicate key", b, at)
	}
	return nil
}

// value returns the end of the value at i and the place of a duplicate in it,
// or -1.
func (k *keys) value(i int) (end, at int) {
	switch s := &k.scan; s.b[i] {
	case '{':
		return k.object(i + 1)
	case '[':
		for i = s.space(i + 1); s.b[i] != ']'; {
			if i, at = k.value(i); at >= 0 {
				return 0, at
			}
			if i = s.space(i); s.b[i] == ',' {
				i = s.space(i + 1)
			}
		}
		return i + 1, -1
	default:
		return s.value(i, nil, 0), -1
	}
}

func (k *keys) object(i int) (end, at int) {
	s, base := &k.scan, len(k.stack)
	for i = s.space(i); s.b[i] != '}'; {
		end := s.str(i + 1)
		name := s.b[i+1 : end-1]
		if !plain(name) {
			name = appendUnquoted(nil, name)
		}
		k.stack = append(k.stack, key{name, i})
		if i, at = k.value(s.space(s.space(end) + 1)); at >= 0 {
			return 0, at
		}
		if i = s.space(i); s.b[i] == ',' {
			i = s.space(i + 1)
		}
	}
	at = duplicate(k.stack[base:])
	k.stack = k.stack[:base]
	return i + 1, at
}

// duplicate returns the place of a key that was there before, or -1. Sorting
// keeps a record with a million keys from taking a million squared.
func duplicate(keys []key) int {
	slices.SortFunc(keys, func(a, b key) int {
		if c := bytes.Compare(a.name, b.name); c != 0 {
			return c
		}
		return a.at - b.at
	})
	for i := 1; i < len(keys); i++ {
		if bytes.Equal(keys[i-1].name, keys[i].name) {
			return keys[i].at
		}
	}
	return -1
}
