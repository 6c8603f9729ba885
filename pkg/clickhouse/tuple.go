package clickhouse

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/spate-go/spate/pkg/jsontext"
)

// tuple is Tuple: of a JSON array with a value for each element, or, where they
// have names, of an object. A member that is missing is the element's default.
type tuple struct {
	refuses
	of     []coder
	names  []string       // nil: none
	places map[string]int // of the names
}

func newTuple(t *Type) tuple {
	c := tuple{names: t.names, places: make(map[string]int, len(t.names))}
	for i, name := range slices.Backward(t.names) { // of two called the same the first
		c.places[name] = i
	}
	for _, a := range t.args {
		c.of = append(c.of, a.coder)
	}
	return c
}

var errElements = errors.New("want a value for each element of the tuple")

func (c tuple) array(dst, raw []byte) ([]byte, error) {
	w := jsontext.Walk(raw)
	for i, of := range c.of {
		e := w.Element()
		if e == nil {
			return dst, errElements
		}
		var err error
		if dst, err = appendValue(of, dst, e); err != nil {
			return dst, fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	if w.Element() != nil || w.Bad() {
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
	w := jsontext.Walk(raw)
	for next := 0; ; next++ {
		key, value := w.Member()
		if value == nil {
			break
		}
		name := key[1 : len(key)-1]
		if next = c.index(next, name); next < 0 {
			return dst, fmt.Errorf("the tuple has no element %q", cut(string(name)))
		}
		values[next] = value // of members called the same the last counts
	}
	if w.Bad() {
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

// index finds the element that the inside of a JSON string names, or is -1. Most
// objects have their members in the order of the elements: it looks at next first.
func (c tuple) index(next int, name []byte) int {
	if next < len(c.names) && string(name) == c.names[next] {
		return next
	}
	if i, ok := c.places[string(name)]; ok {
		return i
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		var buf [64]byte
		meant, valid := jsontext.AppendUnescaped(buf[:0], name)
		if i, ok := c.places[string(meant)]; ok && valid {
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
			dst = append(jsontext.AppendQuoted(dst, c.names[i]), ':')
		}
		dst, b = of.render(dst, b)
	}
	return append(dst, brackets[1]), b
}
