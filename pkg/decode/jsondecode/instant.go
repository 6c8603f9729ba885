package jsondecode

import (
	"encoding/binary"
	"time"
)

// instant reads a time of RFC 3339 in UTC, in the one form that nearly all of
// them have: "2006-01-02T15:04:05.999Z", without a fraction or with up to nine
// digits of it. Other forms are the library's.
func instant(raw []byte) (time.Time, bool) {
	const form = `"0000-00-00T00:00:00Z"`
	n := len(raw)
	if n < len(form) || n > len(form)+10 || n == len(form)+1 || raw[0] != '"' || raw[n-2] != 'Z' || raw[n-1] != '"' {
		return time.Time{}, false
	}
	date, ok1 := pairs(raw[1:], 0xff0000ff00000000, '-'<<56|'-'<<32)
	end, ok2 := pairs(raw[4:], 0xff0000ff0000ff00, 'T'<<56|'-'<<32|'-'<<8)
	clock, ok3 := pairs(raw[12:], 0x0000ff0000ff0000, ':'<<40|':'<<16)
	if !ok1 || !ok2 || !ok3 {
		return time.Time{}, false
	}
	year, month, day := int(byte(date))*100+int(byte(date>>16)), int(byte(date>>40)), int(byte(end>>40))
	hour, minute, second := int(byte(clock)), int(byte(clock>>24)), int(byte(clock>>48))
	if month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false // the last days of months are the library's too
	}
	nanos := 0
	if n > len(form) {
		if raw[20] != '.' {
			return time.Time{}, false
		}
		unit := 1_000_000_000
		for _, c := range raw[21 : n-2] {
			if c-'0' > 9 {
				return time.Time{}, false
			}
			unit /= 10
			nanos += int(c-'0') * unit
		}
	}
	seconds := int64(days(year, month, day))*86_400 + int64(hour*3600+minute*60+second)
	return time.Unix(seconds, int64(nanos)).UTC(), true
}

// days is how many there are from 1970-01-01 to a date from the year 0 on. Years
// begin in March here, so that the odd day is their last; the 400 keep them
// positive.
func days(y, m, d int) int {
	if m < 3 {
		y, m = y-1, m+12
	}
	y += 400
	return 365*y + y/4 - y/100 + y/400 + (153*m-457)/5 + d - 1 - 719_468 - 146_097
}

// pairs reads 8 bytes: marks where mask is set, else digits. Byte i of numbers is
// what digits i and i+1 make.
func pairs(s []byte, mask, marks uint64) (numbers uint64, ok bool) {
	x := binary.LittleEndian.Uint64(s)
	d := (x ^ ones*'0') &^ mask
	return d*10 + d>>8, x&mask == marks && noDigits(d^ones*'0') == 0
}
