package clickhouse

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// decimal is a whole number of 10^-scale, below 10^precision.
type decimal struct {
	refuses
	width, scale int
	limit        wide // 10^precision
}

// decimalType makes Decimal(p, s), Decimal(p) and Decimal32(s) to Decimal256(s).
func decimalType(n *node) (*Type, error) {
	precision, scale, err := n.digits()
	if err != nil {
		return nil, err
	}
	if precision < 1 || precision > 76 || scale < 0 || scale > precision {
		return nil, errors.New("want a precision of 1 to 76 and a scale from 0 to that")
	}
	width := 4
	for _, p := range []int{9, 18, 38} {
		if precision > p {
			width *= 2
		}
	}
	return &Type{
		name: "Decimal", text: fmt.Sprintf("Decimal(%d, %d)", precision, scale), shape: fixed(width),
		coder: decimal{width: width, scale: scale, limit: power(precision)},
	}, nil
}

// digits reads the precision and the scale of a Decimal.
func (n *node) digits() (precision, scale int, err error) {
	if p, ok := map[string]int{"Decimal32": 9, "Decimal64": 18, "Decimal128": 38, "Decimal256": 76}[n.name]; ok {
		args, err := n.numbers(1)
		if err != nil {
			return 0, 0, err
		}
		return p, args[0], nil
	}
	if n.name != "Decimal" {
		return 0, 0, errors.New("it is not known")
	}
	args, err := n.numbers(max(1, min(len(n.args), 2)))
	if err != nil {
		return 0, 0, err
	}
	return args[0], append(args, 0)[1], nil
}

func (c decimal) text(dst, s []byte) ([]byte, error) { return c.number(dst, s) }

func (c decimal) number(dst, s []byte) ([]byte, error) {
	w, negative, err := scaled(s, c.scale)
	if err != nil {
		return dst, err
	}
	if w.compare(c.limit) >= 0 {
		return dst, errRange
	}
	if negative {
		w = w.negated()
	}
	return w.append(dst, c.width), nil
}

func (c decimal) zero(dst []byte) []byte { return wide{}.append(dst, c.width) }

func (c decimal) render(dst, b []byte) (out, rest []byte) {
	w, negative := readWide(b[:c.width], true)
	return appendScaled(dst, w, negative, c.scale), b[c.width:]
}

// appendScaled appends ±w·10^-scale as a number, without zeros at the end of
// its fraction.
func appendScaled(dst []byte, w wide, negative bool, scale int) []byte {
	if negative {
		dst = append(dst, '-')
	}
	var buf [80]byte
	s := w.appendDecimal(buf[:0])
	if n := scale + 1 - len(s); n > 0 {
		s = append(bytes.Repeat([]byte{'0'}, n), s...)
	}
	dst = append(dst, s[:len(s)-scale]...)
	if fraction := bytes.TrimRight(s[len(s)-scale:], "0"); len(fraction) > 0 {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst
}

// pow10 is 10^n, n being at most 19.
func pow10(n int) uint64 {
	v := uint64(1)
	for range n {
		v *= 10
	}
	return v
}

// boolean is Bool.
type boolean struct{ refuses }

var errNoBool = errors.New("want true or false")

func (boolean) text(dst, _ []byte) ([]byte, error) { return dst, errIsText }

func (boolean) number(dst, s []byte) ([]byte, error) {
	if v, _, ok := small(s); ok && v <= 1 && s[0] != '-' {
		return append(dst, byte(v)), nil
	}
	return dst, errNoBool
}

func (boolean) boolean(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func (boolean) zero(dst []byte) []byte { return append(dst, 0) }

func (boolean) render(dst, b []byte) (out, rest []byte) {
	return strconv.AppendBool(dst, b[0] != 0), b[1:]
}
