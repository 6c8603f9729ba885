package clickhouse

import (
	"cmp"
	"encoding/binary"
	"math/bits"
)

// wide is an unsigned integer of 256 bits, the lowest word first.
type wide [4]uint64

// mulAdd is w·m + a; false where that has more bits.
func (w wide) mulAdd(m, a uint64) (wide, bool) {
	for i := range w {
		hi, lo := bits.Mul64(w[i], m)
		sum, carry := bits.Add64(lo, a, 0)
		w[i], a = sum, hi+carry
	}
	return w, a == 0
}

// div is w/d and the remainder.
func (w wide) div(d uint64) (wide, uint64) {
	var rest uint64
	for i := len(w) - 1; i >= 0; i-- {
		w[i], rest = bits.Div64(rest, w[i], d)
	}
	return w, rest
}

func (w wide) compare(o wide) int {
	for i := len(w) - 1; i >= 0; i-- {
		if c := cmp.Compare(w[i], o[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (w wide) isZero() bool { return w == wide{} }

// negated is the two's complement.
func (w wide) negated() wide {
	carry := uint64(1)
	for i := range w {
		w[i], carry = bits.Add64(^w[i], 0, carry)
	}
	return w
}

// append appends the lowest width bytes.
func (w wide) append(dst []byte, width int) []byte {
	n := len(dst)
	for _, word := range w {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst[:n+width]
}

// readWide reads an integer of len(b) bytes, at most 32, and gives its
// magnitude and sign.
func readWide(b []byte, signed bool) (w wide, negative bool) {
	var full [32]byte
	copy(full[:], b)
	if negative = signed && b[len(b)-1] >= 0x80; negative {
		for i := len(b); i < len(full); i++ {
			full[i] = 0xFF
		}
	}
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(full[8*i:])
	}
	if negative {
		w = w.negated()
	}
	return w, negative
}

// appendDecimal appends the digits of w.
func (w wide) appendDecimal(dst []byte) []byte {
	var digits [80]byte
	i := len(digits)
	for {
		var d uint64
		w, d = w.div(10)
		i--
		digits[i] = '0' + byte(d)
		if w.isZero() {
			return append(dst, digits[i:]...)
		}
	}
}

// power is 10^n, n being at most 77.
func power(n int) wide {
	w := wide{1}
	for range n {
		w, _ = w.mulAdd(10, 0)
	}
	return w
}

// limit is the greatest magnitude of an integer of so many bytes.
func limit(width int, signed, negative bool) wide {
	var w wide
	for i := range width {
		w[i/8] |= 0xFF << (8 * (i % 8))
	}
	if !signed {
		return w
	}
	w[(width-1)/8] &^= 0x80 << (8 * ((width - 1) % 8))
	if negative {
		w, _ = w.mulAdd(1, 1)
	}
	return w
}
