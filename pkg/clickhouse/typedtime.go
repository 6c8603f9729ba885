package clickhouse

import (
	"time"
	"unsafe"
)

// timeAppender is of time.Time.
func timeAppender(c coder) appender {
	switch c := c.(type) {
	case stamp:
		unit := pow10(9 - c.precision) // nanoseconds
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			t := (*time.Time)(p)
			nanos := uint64(t.Nanosecond())
			if nanos%unit != 0 {
				return dst, errSubDigit
			}
			dst, ok := c.append(dst, t.Unix(), nanos/unit)
			if !ok {
				return dst, errRange
			}
			return dst, nil
		}
	case date:
		return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
			t := (*time.Time)(p)
			if h, m, s := t.Clock(); h+m+s+t.Nanosecond() != 0 {
				return dst, errHasTime
			}
			y, m, d := t.Date()
			if y < 1900 || y > 2299 {
				return dst, errRange
			}
			return c.append(dst, daysOf(y, int(m), d))
		}
	}
	return nil
}

// durationAppender is of time.Duration.
func durationAppender(c clock) appender {
	unit := pow10(9 - c.precision)
	return func(dst []byte, p unsafe.Pointer) ([]byte, error) {
		v := *(*int64)(p)
		negative := v < 0
		nanos := uint64(v)
		if negative {
			nanos = -nanos
		}
		if nanos%unit != 0 {
			return dst, errSubDigit
		}
		return c.append(dst, nanos/unit, negative)
	}
}
