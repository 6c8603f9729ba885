package clickhouse

import (
	"bytes"
	"errors"
	"fmt"
)

// tuple is Tuple: of a JSON array with a value for each element, or, where they
// have names, of an object. A member that is missing is the element's default.
type tuple struct {
	refuses
	of    []coder
	names []string // nil: none
}

func newTuple(t *Type) tuple {
	c := tuple{names: t.names}
	for _, a := range t.args {
		c.of = append(c.of, a.coder)
	}
	return c
}

var errElements = errors.New("want a value for each element of the tuple")

func (c tuple) array(dst, raw []byte) ([]byte, error) {
	w := walk(raw)
	for i, of := range c.of {
		e := w.element()
		if e == nil {
			return dst, errElements
		}
		var err error
		if dst, err = appendValue(of, dst, e); err != nil {
			return dst, fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	if w.element() != nil || w.bad {
		return dst, errElements
	}
	return dst, nil
}

func (c tuple) object(dst, raw []byte) ([]byte, error) {
	if c.names == nil {
		return dst, errIsObject
	}
	var few [16][]byte
	values := few[:0]
	for range c.of {
		values = append(values, nil)
	}
	w := walk(raw)
	for {
		name, value := w.member()
		if value == nil {
			break
		}
		i := c.index(name)
		if i < 0 {
			return dst, fmt.Errorf("the tuple has no element %q", cut(string(name)))
		}
		values[i] = value // of members called the same the last counts
	}
	if w.bad {
		return dst, errMalformed
	}
	for i, of := range c.of {
		if values[i] == nil {
			dst = of.zero(dst)
			continue
		}
		var err error
		if dst, err = appendValue(of, dst, values[i]); err != nil {
			return dst, fmt.Errorf("element %s: %w", c.names[i], err)
		}
	}
	return dst, nil
}

// index finds the element that the inside of a JSON string names.
func (c tuple) index(name []byte) int {
	for i, n := range c.names {
		if string(name) == n {
			return i
		}
	}
	if bytes.IndexByte(name, '\\') < 0 {
		return -1
	}
	var buf [64]byte
	meant := unescape(buf[:0], name)
	for i, n := range c.names {
		if string(meant) == n {
			return i
		}
	}
	return -1
}

func (c tuple) zero(dst []byte) []byte {
	for _, of := range c.of {
		dst = of.zero(dst)
	}
	return dst
}

func (c tuple) render(dst, b []byte) (out, rest []byte) {
	brackets := "[]"
	if c.names != nil {
		brackets = "{}"
	}
	for i, of := range c.of {
		sep := byte(',')
		if i == 0 {
			sep = brackets[0]
		}
		if dst = append(dst, sep); c.names != nil {
			dst = append(appendQuoted(dst, []byte(c.names[i])), ':')
		}
		dst, b = of.render(dst, b)
	}
	return append(dst, brackets[1]), b
}
