package clickhouse

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// integer is of at most 64 bits.
type integer struct {
	refuses
	width  int
	signed bool
}

func (c integer) text(dst, s []byte) ([]byte, error) { return c.number(dst, s) }

func (c integer) number(dst, s []byte) ([]byte, error) {
	v, negative, ok := small(s)
	if !ok {
		w, neg, err := scaled(s, 0)
		if err != nil {
			return dst, whole(err)
		}
		if w[1]|w[2]|w[3] != 0 {
			return dst, errRange
		}
		v, negative = w[0], neg
	}
	return c.append(dst, v, negative)
}

// whole words errors of scaled for integers.
func whole(err error) error {
	if errors.Is(err, errDigits) {
		return errFraction
	}
	return err
}

// append appends ±v.
func (c integer) append(dst []byte, v uint64, negative bool) ([]byte, error) {
	bits := 8 * c.width
	switch {
	case !c.signed && negative:
		return dst, errSigned
	case !c.signed && v>>(bits-1)>>1 != 0,
		c.signed && !negative && v>>(bits-1) != 0,
		negative && (v-1)>>(bits-1) != 0:
		return dst, errRange
	}
	if negative {
		v = -v
	}
	return appendWord(dst, v, c.width), nil
}

// appendWord appends the lowest width bytes of v.
func appendWord(dst []byte, v uint64, width int) []byte {
	n := len(dst) + width
	return binary.LittleEndian.AppendUint64(dst, v)[:n]
}

// readWord reads width bytes of an unsigned integer.
func readWord(b []byte, width int) uint64 {
	var full [8]byte
	copy(full[:], b[:width])
	return binary.LittleEndian.Uint64(full[:])
}

// readSigned reads width bytes of a signed integer.
func readSigned(b []byte, width int) int64 {
	shift := 64 - 8*width
	return int64(readWord(b, width)<<shift) >> shift
}

func (c integer) boolean(dst []byte, v bool) ([]byte, error) {
	if v {
		return appendWord(dst, 1, c.width), nil
	}
	return c.zero(dst), nil
}

func (c integer) zero(dst []byte) []byte { return appendWord(dst, 0, c.width) }

func (c integer) render(dst, b []byte) (out, rest []byte) {
	if c.signed {
		return strconv.AppendInt(dst, readSigned(b, c.width), 10), b[c.width:]
	}
	return strconv.AppendUint(dst, readWord(b, c.width), 10), b[c.width:]
}

// bigInteger is of 128 or 256 bits.
type bigInteger struct {
	refuses
	width  int
	signed bool
}

func (c bigInteger) text(dst, s []byte) ([]byte, error) { return c.number(dst, s) }

func (c bigInteger) number(dst, s []byte) ([]byte, error) {
	w, negative, err := scaled(s, 0)
	if err != nil {
		return dst, whole(err)
	}
	return c.append(dst, w, negative)
}

func (c bigInteger) append(dst []byte, w wide, negative bool) ([]byte, error) {
	switch {
	case negative && !c.signed:
		return dst, errSigned
	case w.compare(limit(c.width, c.signed, negative)) > 0:
		return dst, errRange
	case negative:
		w = w.negated()
	}
	return w.append(dst, c.width), nil
}

func (c bigInteger) boolean(dst []byte, v bool) ([]byte, error) {
	if v {
		return wide{1}.append(dst, c.width), nil
	}
	return c.zero(dst), nil
}

func (c bigInteger) zero(dst []byte) []byte { return wide{}.append(dst, c.width) }

func (c bigInteger) render(dst, b []byte) (out, rest []byte) {
	w, negative := readWide(b[:c.width], c.signed)
	if negative {
		dst = append(dst, '-')
	}
	return w.appendDecimal(dst), b[c.width:]
}
