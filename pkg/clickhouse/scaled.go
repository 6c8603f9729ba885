package clickhouse

import (
	"bytes"
	"errors"
)

var (
	errNoNumber = errors.New("it is not a number")
	errFraction = errors.New("it is not a whole number")
	errDigits   = errors.New("it has more decimals than the type")
	errSigned   = errors.New("it is negative")
)

// scaled is s·10^scale, a number as JSON has them (leading zeros may stand),
// which must be whole: errDigits says that it is not, errRange that it has
// more than 256 bits.
func scaled(s []byte, scale int) (w wide, negative bool, err error) {
	if v, neg, ok := small(s); ok && (scale == 0 || v == 0) {
		return wide{v}, neg, nil
	}
	n, ok := readNumber(s)
	if !ok {
		return w, false, errNoNumber
	}
	for _, part := range [][]byte{n.whole, n.fraction} {
		for _, c := range part {
			if w, ok = w.mulAdd(10, uint64(c-'0')); !ok {
				return w, false, errRange
			}
		}
	}
	if w.isZero() {
		return w, false, nil
	}
	// The bounds keep a hostile exponent from being walked.
	switch shift := scale - len(n.fraction) + n.exponent; {
	case shift > 80:
		return w, false, errRange
	case shift < -80:
		return w, false, errDigits
	case shift < 0:
		for ; shift < 0; shift++ {
			var rest uint64
			if w, rest = w.div(10); rest != 0 {
				return w, false, errDigits
			}
		}
	default:
		for ; shift > 0; shift-- {
			if w, ok = w.mulAdd(10, 0); !ok {
				return w, false, errRange
			}
		}
	}
	return w, n.negative, nil
}

// small reads an integer of at most 19 digits.
func small(s []byte) (v uint64, negative, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		s, negative = s[1:], true
	}
	if len(s) == 0 || len(s) > 19 {
		return 0, false, false
	}
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, negative && v != 0, true
}

// number is a number's text: whole.fraction·10^exponent, without zeros that
// mean nothing.
type number struct {
	negative        bool
	whole, fraction []byte
	exponent        int
}

func readNumber(s []byte) (n number, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		s, n.negative = s[1:], true
	}
	end := digits(s)
	n.whole, s = s[:end], s[end:]
	if len(n.whole) == 0 {
		return n, false
	}
	if len(s) > 0 && s[0] == '.' {
		end = digits(s[1:])
		n.fraction, s = s[1:1+end], s[1+end:]
		if end == 0 {
			return n, false
		}
	}
	if len(s) > 0 && s[0]|0x20 == 'e' {
		if n.exponent, ok = readExponent(s[1:]); !ok {
			return n, false
		}
	} else if len(s) > 0 {
		return n, false
	}
	n.whole = bytes.TrimLeft(n.whole, "0")
	if n.fraction = bytes.TrimRight(n.fraction, "0"); len(n.fraction) == 0 {
		kept := bytes.TrimRight(n.whole, "0")
		n.exponent += len(n.whole) - len(kept)
		n.whole = kept
	}
	return n, true
}

// digits is how many s begins with.
func digits(s []byte) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

// readExponent reads an exponent; one that is beyond all types is cut.
func readExponent(s []byte) (e int, ok bool) {
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		s, negative = s[1:], s[0] == '-'
	}
	if len(s) == 0 || digits(s) != len(s) {
		return 0, false
	}
	for _, c := range s {
		e = min(e*10+int(c-'0'), 1<<40)
	}
	if negative {
		e = -e
	}
	return e, true
}
