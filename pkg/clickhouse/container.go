package clickhouse

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/jsontext"
)

// array is Array: of a JSON array.
type array struct {
	refuses
	of coder
}

// counted inserts the number of values in front of them, once it is known, and
// moves them to make room for it.
func counted(dst []byte, start int, n int) []byte {
	if n < 0x80 {
		dst[start] = byte(n)
		return dst
	}
	var head [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(head[:], uint64(n))
	dst = append(dst, head[:size-1]...)
	copy(dst[start+size:], dst[start+1:len(dst)-size+1])
	copy(dst[start:], head[:size])
	return dst
}

func (c array) array(dst, raw []byte) ([]byte, error) {
	start, n := len(dst), 0
	dst = append(dst, 0)
	w := jsontext.Walk(raw)
	for e := w.Element(); e != nil; e = w.Element() {
		var err error
		if dst, err = appendValue(c.of, dst, e); err != nil {
			return dst, fmt.Errorf("element %d: %w", n, err)
		}
		n++
	}
	if w.Bad() {
		return dst, errMalformed
	}
	return counted(dst, start, n), nil
}

func (array) zero(dst []byte) []byte { return append(dst, 0) }

func (c array) render(dst, b []byte) (out, rest []byte) {
	n, i := uvarint(b, 0)
	b = b[i:]
	dst = append(dst, '[')
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst, b = c.of.render(dst, b)
	}
	return append(dst, ']'), b
}

// dictionary is Map: of a JSON object, all of whose members it keeps, in their
// order.
type dictionary struct {
	refuses
	key, value coder
}

func (c dictionary) object(dst, raw []byte) ([]byte, error) {
	start, n := len(dst), 0
	dst = append(dst, 0)
	w := jsontext.Walk(raw)
	for {
		key, value := w.Member()
		if value == nil {
			break
		}
		name := key[1 : len(key)-1]
		var err error
		if dst, err = appendName(c.key, dst, name); err != nil {
			return dst, fmt.Errorf("key %q: %w", cut(string(name)), err)
		}
		if dst, err = appendValue(c.value, dst, value); err != nil {
			return dst, fmt.Errorf("value of %q: %w", cut(string(name)), err)
		}
		n++
	}
	if w.Bad() {
		return dst, errMalformed
	}
	return counted(dst, start, n), nil
}

// appendName appends a value of the inside of a JSON string.
func appendName(c coder, dst, name []byte) ([]byte, error) {
	for _, b := range name {
		if b == '\\' {
			return appendEscaped(c, dst, name)
		}
	}
	return c.text(dst, name)
}

func (dictionary) zero(dst []byte) []byte { return append(dst, 0) }

func (c dictionary) render(dst, b []byte) (out, rest []byte) {
	n, i := uvarint(b, 0)
	b = b[i:]
	dst = append(dst, '{')
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		if dst, b = c.key.render(dst, b); dst[start] != '"' {
			dst = append(slices.Insert(dst, start, '"'), '"')
		}
		dst, b = c.value.render(append(dst, ':'), b)
	}
	return append(dst, '}'), b
}
