package clickhouse

import (
	"bytes"
	"errors"

	"github.com/spate-go/spate/pkg/jsontext"
)

// coder encodes values of a type. What it appended before an error is cut off
// by its caller.
type coder interface {
	// text appends the value that a JSON string means, which is also how Go
	// strings and the keys of maps are read.
	text(dst, s []byte) ([]byte, error)
	// number appends the value of a JSON number as written.
	number(dst, s []byte) ([]byte, error)
	boolean(dst []byte, v bool) ([]byte, error)
	null(dst []byte) ([]byte, error)
	// array and object are given valid JSON.
	array(dst, raw []byte) ([]byte, error)
	object(dst, raw []byte) ([]byte, error)
	// zero appends the type's default.
	zero(dst []byte) []byte
	// render appends the JSON of the value that b begins with, which is
	// complete, and returns the rest of b.
	render(dst, b []byte) (out, rest []byte)
}

var (
	errIsText    = errors.New("it is text")
	errIsNumber  = errors.New("it is a number")
	errIsBool    = errors.New("it is true or false")
	errIsNull    = errors.New("it is null, and the column is not Nullable")
	errIsArray   = errors.New("it is an array")
	errIsObject  = errors.New("it is an object")
	errMalformed = errors.New("it is not JSON")
	errRange     = errors.New("it is out of range")
)

// refuses is embedded by a coder for the kinds of values that it does not
// accept.
type refuses struct{}

func (refuses) text(dst, _ []byte) ([]byte, error)         { return dst, errIsText }
func (refuses) number(dst, _ []byte) ([]byte, error)       { return dst, errIsNumber }
func (refuses) boolean(dst []byte, _ bool) ([]byte, error) { return dst, errIsBool }
func (refuses) null(dst []byte) ([]byte, error)            { return dst, errIsNull }
func (refuses) array(dst, _ []byte) ([]byte, error)        { return dst, errIsArray }
func (refuses) object(dst, _ []byte) ([]byte, error)       { return dst, errIsObject }

// gap is kept between the end of the rows and a text that was unescaped after
// it: more than any coder appends before it has read its text.
const gap = 64

// appendValue appends the value of raw, which is valid JSON with no space
// around it. Invalid JSON gives an error or some value.
func appendValue(c coder, dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return dst, errMalformed
	}
	switch raw[0] {
	case '"':
		if len(raw) < 2 {
			return dst, errMalformed
		}
		s := raw[1 : len(raw)-1]
		if bytes.IndexByte(s, '\\') < 0 {
			return c.text(dst, s)
		}
		return appendEscaped(c, dst, s)
	case 'n':
		return c.null(dst)
	case 't', 'f':
		return c.boolean(dst, raw[0] == 't')
	case '[':
		return c.array(dst, raw)
	case '{':
		return c.object(dst, raw)
	}
	return c.number(dst, raw)
}

// appendEscaped appends a text with escapes. It is unescaped after dst, where
// there is memory already.
func appendEscaped(c coder, dst, s []byte) ([]byte, error) {
	n := len(dst)
	var pad [gap]byte
	scratch, ok := jsontext.AppendUnescaped(append(dst, pad[:]...), s)
	if !ok {
		return dst, errMalformed
	}
	return c.text(scratch[:n], scratch[n+gap:])
}
