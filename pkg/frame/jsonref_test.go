package frame_test

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/spate-go/spate/pkg/frame/frametest"
)

// jsonReference reads all of an input by recursion, one byte after the other.
func jsonReference(loose bool, path ...string) func([]byte, int) frametest.Outcome {
	return func(input []byte, limit int) frametest.Outcome {
		r := &reading{b: bytes.TrimPrefix(input, []byte("\ufeff")), limit: limit, loose: loose}
		ok := true
		for r.space(); ok && r.i < len(r.b); r.space() {
			switch {
			case loose:
				ok = r.value(true)
			case len(path) == 0:
				ok = r.array()
			default:
				var found bool
				found, ok = r.document(path)
				ok = ok && found
			}
		}
		return frametest.Outcome{Records: r.records, Faulty: !ok}
	}
}

type reading struct {
	b       []byte
	i       int
	limit   int
	loose   bool
	records [][]byte
}

func (r *reading) space() {
	for r.i < len(r.b) && bytes.IndexByte([]byte(" \t\r\n"), r.b[r.i]) >= 0 {
		r.i++
	}
}

func (r *reading) is(c byte) bool {
	r.space()
	if r.i < len(r.b) && r.b[r.i] == c {
		r.i++
		return true
	}
	return false
}

// value reads a value, as a record or not.
func (r *reading) value(wanted bool) bool {
	r.space()
	start, end := r.i, r.end()
	if end < 0 {
		return false
	}
	r.i = end
	if !wanted {
		return true
	}
	v := r.b[start:end]
	if len(v) > r.limit {
		r.records = append(r.records, nil)
		return true
	}
	if c := v[0]; r.loose && !bytes.ContainsRune([]byte("{[\"-0123456789"), rune(c)) && !slices.Contains([]string{"true", "false", "null"}, string(v)) {
		return false
	}
	r.records = append(r.records, slices.Concat([]byte{}, v))
	return true
}

// end is where the value at hand ends, or -1.
func (r *reading) end() int {
	if r.i == len(r.b) {
		return -1
	}
	quoted, depth, open := false, 0, r.b[r.i]
	if open != '{' && open != '[' && open != '"' {
		n := bytes.IndexAny(r.b[r.i:], " \t\r\n,:\"[]{}")
		switch {
		case n == 0 || n < 0 && !r.loose:
			return -1
		case n < 0:
			return len(r.b)
		}
		return r.i + n
	}
	for i := r.i; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '\\':
			if i+1 < len(r.b) && (r.b[i+1] == '"' || r.b[i+1] == '\\') {
				i++
			}
			continue
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == open:
			depth++
		case c == open+2:
			depth--
		}
		if open == '"' && !quoted || open != '"' && depth == 0 && !quoted {
			return i + 1
		}
	}
	return -1
}

func (r *reading) array() bool {
	if !r.is('[') {
		return false
	}
	if r.is(']') {
		return true
	}
	for {
		if !r.value(true) {
			return false
		}
		if r.is(']') {
			return true
		}
		if !r.is(',') {
			return false
		}
	}
}

// document reads an object that path leads into.
func (r *reading) document(path []string) (found, ok bool) {
	if !r.is('{') {
		return false, false
	}
	if r.is('}') {
		return false, true
	}
	for {
		f, ok := r.member(path)
		found = found || f
		if !ok || r.is('}') {
			return found, ok
		}
		if !r.is(',') {
			return found, false
		}
	}
}

func (r *reading) member(path []string) (found, ok bool) {
	r.space()
	start := r.i
	if r.i == len(r.b) || r.b[r.i] != '"' || !r.value(false) {
		return false, false
	}
	raw := r.b[start:r.i]
	var key string
	if !bytes.ContainsRune(raw, '\\') {
		key = string(raw[1 : len(raw)-1])
	} else if json.Unmarshal(raw, &key) != nil {
		key = ""
	}
	if !r.is(':') {
		return false, false
	}
	r.space()
	switch {
	case key != path[0]:
		return false, r.value(false)
	case r.i < len(r.b) && r.b[r.i] == 'n':
		start := r.i
		ok := r.value(false)
		return ok && string(r.b[start:r.i]) == "null", ok && string(r.b[start:r.i]) == "null"
	case len(path) == 1:
		return true, r.array()
	}
	return r.document(path[1:])
}
