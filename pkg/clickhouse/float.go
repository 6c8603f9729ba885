package clickhouse

import (
	"encoding/binary"
	"math"
	"strconv"
)

// float is the nearest one to a number.
type float struct {
	refuses
	width int
}

func (c float) append(dst []byte, f float64) []byte {
	if c.width == 4 {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

func (c float) number(dst, s []byte) ([]byte, error) {
	if f, ok := exact(s); ok && c.width == 8 {
		return c.append(dst, f), nil
	}
	n, ok := readNumber(s)
	if !ok {
		return dst, errNoNumber
	}
	f, err := strconv.ParseFloat(string(s), 8*c.width)
	if err != nil || f == 0 && len(n.whole)+len(n.fraction) > 0 {
		return dst, errRange
	}
	return c.append(dst, f), nil
}

// exact reads a number of few digits: a whole one, or one below 2^53 divided by a
// power of ten that is a float too, which rounds once.
func exact(s []byte) (float64, bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 16 || s[0]-'0' > 9 || s[len(s)-1] == '.' {
		return 0, false
	}
	var v uint64
	point := len(s) - 1
	for i, c := range s {
		if c-'0' <= 9 {
			v = v*10 + uint64(c-'0')
		} else if c == '.' && point == len(s)-1 {
			point = i
		} else {
			return 0, false
		}
	}
	f := float64(v)
	if decimals := len(s) - 1 - point; decimals > 0 {
		f /= float64(pow10(decimals))
	}
	if negative {
		f = -f
	}
	return f, true
}

// text takes what JSON has no number for as well.
func (c float) text(dst, s []byte) ([]byte, error) {
	switch string(s) {
	case "nan", "NaN":
		return c.append(dst, math.Float64frombits(0x7FF8<<48)), nil
	case "inf", "+inf", "Infinity", "+Infinity":
		return c.append(dst, math.Inf(1)), nil
	case "-inf", "-Infinity":
		return c.append(dst, math.Inf(-1)), nil
	}
	return c.number(dst, s)
}

func (c float) zero(dst []byte) []byte { return c.append(dst, 0) }

func (c float) render(dst, b []byte) (out, rest []byte) {
	var f float64
	if c.width == 4 {
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	} else {
		f = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	switch {
	case math.IsNaN(f):
		dst = append(dst, `"nan"`...)
	case math.IsInf(f, 1):
		dst = append(dst, `"inf"`...)
	case math.IsInf(f, -1):
		dst = append(dst, `"-inf"`...)
	default:
		dst = strconv.AppendFloat(dst, f, 'g', -1, 8*c.width)
	}
	return dst, b[c.width:]
}
