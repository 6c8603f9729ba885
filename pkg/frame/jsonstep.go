package frame

import (
	"bytes"

	"github.com/spate-go/spate/pkg/jsontext"
)

// step consumes c, which is at pos: it moves to the state after c, or starts
// the value that c begins.
func (f *JSONFramer) step(c byte, pos int) error {
	switch f.state {
	case document:
		return f.open(c, pos)
	case element, another:
		switch {
		case c == ']' && f.state == element:
			f.shutArray()
		case isMark(c):
			return f.want("a value", pos)
		default:
			f.read(c, asRecord, separator)
		}
		return nil
	case separator:
		switch c {
		case ',':
			f.state = another
		case ']':
			f.shutArray()
		default:
			return f.want("a comma or ]", pos)
		}
		return nil
	default:
		return f.inObject(c, pos)
	}
}

func (f *JSONFramer) read(c byte, u use, then state) {
	f.value, f.use, f.then = valueOf(c), u, then
}

// open begins a document.
func (f *JSONFramer) open(c byte, pos int) error {
	switch {
	case f.loose && isMark(c):
		return f.want("a value", pos)
	case f.loose:
		f.read(c, asRecord, document)
	case len(f.path) > 0 && c == '{':
		f.state, f.level, f.found = member, 0, false
	case len(f.path) > 0:
		return f.want("an object with an array at "+f.trail(), pos)
	case c == '[':
		f.state = element
	default:
		return f.want("an array", pos)
	}
	return nil
}

// shutArray ends the array whose elements are records.
func (f *JSONFramer) shutArray() {
	f.state = document
	if len(f.path) > 0 {
		f.state = memberEnd
	}
}

// inObject is step inside an object that the path leads into.
func (f *JSONFramer) inObject(c byte, pos int) error {
	switch f.state {
	case member, key:
		if c == '"' {
			f.read(c, asKey, colon)
			return nil
		}
		if c == '}' && f.state == member {
			return f.shutObject(pos)
		}
		return f.want("a key in quotes", pos)
	case colon, pathColon:
		if c != ':' {
			return f.want("a colon", pos)
		}
		f.state++
		return nil
	case skipped:
		if isMark(c) {
			return f.want("a value", pos)
		}
		f.read(c, asNothing, memberEnd)
		return nil
	case pathValue:
		return f.follow(c, pos)
	}
	switch c {
	case ',':
		f.state = key
	case '}':
		return f.shutObject(pos)
	default:
		return f.want("a comma or }", pos)
	}
	return nil
}

// follow descends along the path into a value that begins with c.
func (f *JSONFramer) follow(c byte, pos int) error {
	last := f.level == len(f.path)-1
	switch {
	case c == 'n':
		f.read(c, asNull, memberEnd)
	case c == '[' && last:
		f.state, f.found = element, true
	case c == '{' && !last:
		f.state = member
		f.level++
	default:
		return f.want("an array at "+f.trail(), pos)
	}
	return nil
}

// shutObject ends an object that the path led into.
func (f *JSONFramer) shutObject(pos int) error {
	if f.level > 0 {
		f.level--
		f.state = memberEnd
		return nil
	}
	if !f.found {
		return f.want("an array at "+f.trail()+" before the end of the object", pos)
	}
	f.state = document
	return nil
}

// isMark reports whether c is punctuation that cannot begin a value.
func isMark(c byte) bool { return c == ',' || c == ':' || c == ']' || c == '}' }

// sameKey reports whether a key as written, without its quotes, means want.
func sameKey(written, want []byte) bool {
	if bytes.IndexByte(written, '\\') < 0 {
		return bytes.Equal(written, want)
	}
	meant, ok := jsontext.AppendUnescaped(nil, written)
	return ok && bytes.Equal(meant, want)
}
