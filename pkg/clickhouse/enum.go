package clickhouse

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/jsontext"
)

// enum is Enum8 or Enum16, in the order of the numbers.
type enum struct {
	refuses
	width  int
	values []enumValue
	byName map[string]int16
}

type enumValue struct {
	name   string
	number int16
}

func enumeration(n *node) (*Type, error) {
	c := enum{width: 1, byName: map[string]int16{}}
	next := 1
	for _, a := range n.args {
		if !a.quoted {
			return nil, errors.New("want names in quotes")
		}
		if a.number != "" {
			var err error
			if next, err = strconv.Atoi(a.number); err != nil {
				return nil, fmt.Errorf("%q is not a whole number", cut(a.number))
			}
		}
		if next < -1<<15 || next >= 1<<15 {
			return nil, fmt.Errorf("%d is out of range", next)
		}
		if _, twice := c.byName[a.text]; twice || c.has(int16(next)) {
			return nil, fmt.Errorf("%q or its number is given twice", cut(a.text))
		}
		if next < -1<<7 || next >= 1<<7 || n.name == "Enum16" {
			c.width = 2
		}
		c.byName[a.text] = int16(next)
		c.values = append(c.values, enumValue{a.text, int16(next)})
		next++
	}
	switch {
	case len(c.values) == 0:
		return nil, errors.New("it has no values")
	case n.name == "Enum8" && c.width == 2:
		return nil, errors.New("want numbers from -128 to 127")
	}
	slices.SortFunc(c.values, func(a, b enumValue) int { return cmp.Compare(a.number, b.number) })
	parts := make([]string, len(c.values))
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", `\0`)
	for i, v := range c.values {
		parts[i] = fmt.Sprintf("'%s' = %d", escape.Replace(v.name), v.number)
	}
	name := "Enum" + strconv.Itoa(8*c.width)
	return &Type{name: name, text: name + "(" + strings.Join(parts, ", ") + ")", coder: c, shape: fixed(c.width)}, nil
}

func (c *enum) has(number int16) bool {
	return slices.ContainsFunc(c.values, func(v enumValue) bool { return v.number == number })
}

var errNoName = errors.New("it is not one of the names")

func (c enum) text(dst, s []byte) ([]byte, error) {
	v, ok := c.byName[string(s)]
	if !ok {
		return dst, errNoName
	}
	return appendWord(dst, uint64(v), c.width), nil
}

func (c enum) number(dst, s []byte) ([]byte, error) {
	start := len(dst)
	dst, err := integer{width: c.width, signed: true}.number(dst, s)
	if err != nil {
		return dst, err
	}
	if !c.has(int16(readSigned(dst[start:], c.width))) {
		return dst, errors.New("it is not one of the numbers")
	}
	return dst, nil
}

func (c enum) zero(dst []byte) []byte { return appendWord(dst, uint64(c.values[0].number), c.width) }

func (c enum) render(dst, b []byte) (out, rest []byte) {
	number := int16(readSigned(b, c.width))
	for _, v := range c.values {
		if v.number == number {
			return jsontext.AppendQuoted(dst, v.name), b[c.width:]
		}
	}
	return strconv.AppendInt(dst, int64(number), 10), b[c.width:]
}
