package clickhouse

import (
	"errors"
	"fmt"
	"strconv"
)

// clock is Time or Time64: up to 1000 hours either way, in 10^-precision
// seconds.
type clock struct {
	refuses
	width, precision int
}

var errClock = errors.New("it is not a time: want 15:04:05, from -999:59:59 to 999:59:59, or seconds")

func time64(n *node) (*Type, error) {
	precision, rest, err := n.precision()
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errors.New("want a precision alone")
	}
	return &Type{text: fmt.Sprintf("Time64(%d)", precision), coder: clock{width: 8, precision: precision}, shape: fixed(8)}, nil
}

func (c clock) text(dst, s []byte) ([]byte, error) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	n := digits(s)
	if n == 0 || n > 3 || len(s) < n+6 || s[n] != ':' || s[n+3] != ':' {
		return dst, errClock
	}
	hours, _, _ := small(s[:n])
	minutes, seconds := two(s[n+1:]), two(s[n+4:])
	if uint(minutes) > 59 || uint(seconds) > 59 {
		return dst, errClock
	}
	var fraction []byte
	if s = s[n+6:]; len(s) > 0 {
		if s[0] != '.' || len(s) == 1 || digits(s[1:]) != len(s)-1 {
			return dst, errClock
		}
		if fraction = trimZeros(s[1:]); len(fraction) > c.precision {
			return dst, errSubDigit
		}
	}
	ticks := hours*3600 + uint64(minutes*60+seconds)
	for i := range c.precision {
		ticks *= 10
		if i < len(fraction) {
			ticks += uint64(fraction[i] - '0')
		}
	}
	return c.append(dst, ticks, negative)
}

func (c clock) number(dst, s []byte) ([]byte, error) {
	w, negative, err := scaled(s, c.precision)
	switch {
	case errors.Is(err, errDigits):
		return dst, errSubDigit
	case err != nil:
		return dst, err
	case w[1]|w[2]|w[3] != 0:
		return dst, errRange
	}
	return c.append(dst, w[0], negative)
}

func (c clock) append(dst []byte, ticks uint64, negative bool) ([]byte, error) {
	if ticks >= 1000*3600*pow10(c.precision) {
		return dst, errRange
	}
	if negative {
		ticks = -ticks
	}
	return appendWord(dst, ticks, c.width), nil
}

func (c clock) zero(dst []byte) []byte { return appendWord(dst, 0, c.width) }

func (c clock) render(dst, b []byte) (out, rest []byte) {
	dst = append(dst, '"')
	v := readSigned(b, c.width)
	ticks := uint64(v)
	if v < 0 {
		dst, ticks = append(dst, '-'), -ticks
	}
	seconds := ticks / pow10(c.precision)
	for i, part := range []uint64{seconds / 3600, seconds / 60 % 60, seconds % 60} {
		if i > 0 {
			dst = append(dst, ':')
		}
		if part < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendUint(dst, part, 10)
	}
	dst = appendFraction(dst, ticks%pow10(c.precision), c.precision)
	return append(dst, '"'), b[c.width:]
}
