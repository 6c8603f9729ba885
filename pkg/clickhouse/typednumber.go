package clickhouse

import (
	"math"
	"math/big"
	"reflect"
	"strconv"
	"unsafe"
)

// numberAppender is of the integers and floats of Go, nil for other kinds.
func numberAppender(g reflect.Type, c coder) appender {
	switch c.(type) {
	case array, dictionary, tuple, document, uuid, ipv4, ipv6, date, boolean:
		return nil
	}
	switch g.Kind() {
	case reflect.Float32, reflect.Float64:
		return floatAppender(g, c)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return signedAppender(int(g.Size()), c)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return unsignedAppender(int(g.Size()), c)
	}
	return nil
}

func floatAppender(g reflect.Type, c coder) appender {
	f, ok := c.(float)
	if !ok {
		return nil
	}
	if g.Kind() == reflect.Float32 {
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return f.append(dst, float64(*(*float32)(p))), nil }
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		v := *(*float64)(p)
		if n := float32(v); f.width == 4 && (math.IsInf(float64(n), 0) != math.IsInf(v, 0) || n == 0 && v != 0) {
			return dst, errRange
		}
		return f.append(dst, v), nil
	}
}

// copies appends width bytes as they are: the machine's order is the format's,
// or they are put into it.
func copies(width int) appender {
	switch width {
	case 1:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return append(dst, *(*byte)(p)), nil }
	case 2:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			return appendWord(dst, uint64(*(*uint16)(p)), 2), nil
		}
	case 4:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			return appendWord(dst, uint64(*(*uint32)(p)), 4), nil
		}
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) { return appendWord(dst, *(*uint64)(p), 8), nil }
}

func signedAppender(width int, c coder) appender {
	i, ok := c.(integer)
	if ok && i.signed && i.width == width {
		return copies(width)
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		v := loadSigned(p, width)
		if !ok {
			return appendInt(c, dst, v)
		}
		if v < 0 {
			return i.append(dst, -uint64(v), true)
		}
		return i.append(dst, uint64(v), false)
	}
}

func unsignedAppender(width int, c coder) appender {
	i, ok := c.(integer)
	if ok && !i.signed && i.width == width {
		return copies(width)
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		v := loadUnsigned(p, width)
		if !ok {
			return appendUint(c, dst, v)
		}
		return i.append(dst, v, false)
	}
}

func loadUnsigned(p unsafe.Pointer, width int) uint64 {
	switch width {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func loadSigned(p unsafe.Pointer, width int) int64 {
	shift := 64 - 8*width
	return int64(loadUnsigned(p, width)<<shift) >> shift
}

// appendInt and appendUint append an integer as a coder reads numbers. Its
// digits are written after dst, where there is memory already.
func appendInt(c coder, dst []byte, v int64) ([]byte, error) {
	n := len(dst)
	var pad [gap]byte
	scratch := strconv.AppendInt(append(dst, pad[:]...), v, 10)
	return c.number(scratch[:n], scratch[n+gap:])
}

func appendUint(c coder, dst []byte, v uint64) ([]byte, error) {
	n := len(dst)
	var pad [gap]byte
	scratch := strconv.AppendUint(append(dst, pad[:]...), v, 10)
	return c.number(scratch[:n], scratch[n+gap:])
}

// bigAppender is of big.Int and of pointers to it.
func bigAppender(c coder, pointer bool) appender {
	var put func(dst []byte, w wide, negative bool) ([]byte, error)
	switch c := c.(type) {
	case bigInteger:
		put = c.append
	case integer:
		put = func(dst []byte, w wide, negative bool) ([]byte, error) {
			if w[1]|w[2]|w[3] != 0 {
				return dst, errRange
			}
			return c.append(dst, w[0], negative)
		}
	default:
		return nil
	}
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		if pointer {
			if p = *(*unsafe.Pointer)(p); p == nil {
				return dst, errIsNull
			}
		}
		v := (*big.Int)(p)
		if v.BitLen() > 256 {
			return dst, errRange
		}
		var w wide
		for i, word := range v.Bits() {
			at := i * strconv.IntSize
			w[at/64] |= uint64(word) << (at % 64)
		}
		return put(dst, w, v.Sign() < 0)
	}
}
