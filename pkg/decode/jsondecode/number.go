package jsondecode

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
)

// Number is a JSON number as written, of any size.
type Number string

// MarshalJSON gives the number as written.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// Compare orders two numbers as written exactly, whatever their size: no
// digit is cut. (Exponents beyond 4·10^18 count as that.)
func Compare(a, b Number) int { return compareNumbers([]byte(a), []byte(b)) }

func compareNumbers(a, b []byte) int {
	x, y := parseDecimal(a), parseDecimal(b)
	if c := cmp.Compare(x.sign, y.sign); c != 0 || x.sign == 0 {
		return c
	}
	c := cmp.Compare(x.point, y.point)
	if c == 0 {
		c = x.compareDigits(&y)
	}
	return c * x.sign
}

// decimal is sign · 0.d₁d₂… · 10^point, where d₁ is not 0.
type decimal struct {
	sign  int
	point int64
	// whole and frac are the digits before and after the point as written, from
	// d₁ on.
	whole, frac []byte
}

func parseDecimal(b []byte) decimal {
	d := decimal{sign: 1}
	if b[0] == '-' {
		d.sign, b = -1, b[1:]
	}
	var exp int64
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		exp = exponent(string(b[i+1:]))
		b = b[:i]
	}
	d.whole, d.frac, _ = bytes.Cut(b, []byte{'.'})
	d.whole = bytes.TrimLeft(d.whole, "0")
	d.point = int64(len(d.whole))
	if len(d.whole) == 0 {
		trimmed := bytes.TrimLeft(d.frac, "0")
		d.point = -int64(len(d.frac) - len(trimmed))
		d.frac = trimmed
	}
	d.frac = bytes.TrimRight(d.frac, "0")
	if len(d.whole)+len(d.frac) == 0 {
		return decimal{}
	}
	d.point += exp
	return d
}

// exponent reads an exponent, or a bound beyond any that a record could write
// out in digits: there only order matters, and equal texts stay equal.
func exponent(s string) int64 {
	const bound = math.MaxInt64 / 2
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		if s[0] == '-' {
			return -bound
		}
		return bound
	}
	return min(max(n, -bound), bound)
}

func (d *decimal) digit(i int) byte {
	switch n := len(d.whole); {
	case i < n:
		return d.whole[i]
	case i-n < len(d.frac):
		return d.frac[i-n]
	}
	return '0'
}

func (d *decimal) compareDigits(o *decimal) int {
	n := max(len(d.whole)+len(d.frac), len(o.whole)+len(o.frac))
	for i := range n {
		if c := cmp.Compare(d.digit(i), o.digit(i)); c != 0 {
			return c
		}
	}
	return 0
}

func zero(raw []byte) bool { return parseDecimal(raw).sign == 0 }

// CompareInt compares a JSON number as written to n.
func CompareInt(raw []byte, n int) int {
	if v, ok := Int(raw); ok {
		return cmp.Compare(v, n)
	}
	var buf [20]byte
	return compareNumbers(raw, strconv.AppendInt(buf[:0], int64(n), 10))
}

// CompareFloat compares a JSON number as written to f, which is finite and
// stands for the shortest decimal that it is read from.
func CompareFloat(raw []byte, f float64) int {
	var buf [32]byte
	return compareNumbers(raw, strconv.AppendFloat(buf[:0], f, 'g', -1, 64))
}
