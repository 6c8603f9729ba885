package clickhouse

import (
	"errors"
	"strconv"
	"time"
)

// date is Date or Date32: days since 1970.
type date struct {
	refuses
	width int
}

var (
	errDate      = errors.New("it is not a date: want 2006-01-02")
	errHasTime   = errors.New("it has a time of day, which a date has no place for: use DateTime or cut it off")
	errHasOffset = errors.New("it is an instant, whose day depends on the zone: use DateTime, or cut it off after 2006-01-02")
	errDateKind  = errors.New("it is a number: a date is text, as 2006-01-02")
)

// Days that Date32 and DateTime64 reach from and to: 1900-01-01, 2299-12-31.
const (
	firstDay = -25_567
	lastDay  = 120_529
)

const day = 24 * 60 * 60 // in seconds

func (c date) text(dst, s []byte) ([]byte, error) {
	days, ok := readDate(s)
	if !ok {
		return dst, errDate
	}
	if len(s) > len("2006-01-02") {
		m, ok := readMoment(s)
		switch {
		case !ok:
			return dst, errDate
		case m.seconds != 0 || len(m.fraction) > 0:
			return dst, errHasTime
		case m.zoned:
			return dst, errHasOffset
		}
	}
	return c.append(dst, days)
}

func (c date) append(dst []byte, days int) ([]byte, error) {
	if c.width == 2 && days>>16 != 0 || c.width == 4 && (days < firstDay || days > lastDay) {
		return dst, errRange
	}
	return appendWord(dst, uint64(days), c.width), nil
}

func (date) number(dst, _ []byte) ([]byte, error) { return dst, errDateKind }

func (c date) zero(dst []byte) []byte { return appendWord(dst, 0, c.width) }

func (c date) render(dst, b []byte) (out, rest []byte) {
	days := int64(readWord(b, c.width))
	if c.width == 4 {
		days = readSigned(b, c.width)
	}
	return time.Unix(days*day, 0).UTC().AppendFormat(dst, `"2006-01-02"`), b[c.width:]
}

// readDate reads the days since 1970 of the date that s begins with.
func readDate(s []byte) (days int, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	y, m, d := two(s)*100+two(s[2:]), two(s[5:]), two(s[8:])
	if y < 0 || two(s[2:]) < 0 || m < 1 || m > 12 || d < 1 || d > monthDays(y, m) {
		return 0, false
	}
	return daysOf(y, m, d), true
}

// two reads two digits, or is well below 0.
func two(s []byte) int {
	a, b := s[0]-'0', s[1]-'0'
	if a > 9 || b > 9 {
		return -1 << 20
	}
	return int(a)*10 + int(b)
}

func monthDays(y, m int) int {
	switch {
	case m == 2 && y%4 == 0 && (y%100 != 0 || y%400 == 0):
		return 29
	case m == 2:
		return 28
	case m == 4 || m == 6 || m == 9 || m == 11:
		return 30
	}
	return 31
}

// daysOf is the number of days from 1970-01-01 to a date from the year 0 on.
// Years begin in March, so that the odd day is their last.
func daysOf(y, m, d int) int {
	if m < 3 {
		y, m = y-1, m+12
	}
	const toEpoch = 719_469 // from 0000-02-29, so to say
	return 365*y + (y+400)/4 - 100 - (y+400)/100 + 4 + (y+400)/400 - 1 + (153*(m-3)+2)/5 + d - toEpoch
}

// moment is a date and a time of day as they are written.
type moment struct {
	days, seconds int    // since 1970, since midnight
	fraction      []byte // digits of the second's, without zeros at the end
	zoned         bool   // it says how far it is from UTC:
	offset        int    // seconds
}

// readMoment reads "2006-01-02", "2006-01-02 15:04:05", both with decimals, and
// RFC 3339.
func readMoment(s []byte) (m moment, ok bool) {
	if m.days, ok = readDate(s); !ok || len(s) == 10 {
		return m, ok
	}
	if len(s) < 19 || s[10]|0x20 != 't' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return m, false
	}
	hour, minute, second := two(s[11:]), two(s[14:]), two(s[17:])
	if uint(hour) > 23 || uint(minute) > 59 || uint(second) > 59 {
		return m, false
	}
	m.seconds = hour*3600 + minute*60 + second
	if s = s[19:]; len(s) > 0 && s[0] == '.' {
		n := digits(s[1:])
		if n == 0 {
			return m, false
		}
		m.fraction, s = trimZeros(s[1:1+n]), s[1+n:]
	}
	switch {
	case len(s) == 0:
		return m, true
	case len(s) == 1 && s[0]|0x20 == 'z':
		m.zoned = true
		return m, true
	case len(s) == 6 && (s[0] == '+' || s[0] == '-') && s[3] == ':':
		hour, minute = two(s[1:]), two(s[4:])
		if m.offset = hour*3600 + minute*60; s[0] == '-' {
			m.offset = -m.offset
		}
		m.zoned = true
		return m, uint(hour) <= 23 && uint(minute) <= 59
	}
	return m, false
}

func trimZeros(s []byte) []byte {
	for len(s) > 0 && s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	return s
}

// appendFraction appends n·10^-precision, without zeros at the end; nothing
// where n is 0.
func appendFraction(dst []byte, n uint64, precision int) []byte {
	if n == 0 {
		return dst
	}
	start := len(dst)
	dst = strconv.AppendUint(dst, n+pow10(precision), 10)
	dst[start] = '.'
	return dst[:start+len(trimZeros(dst[start:]))]
}
