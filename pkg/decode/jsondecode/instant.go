package jsondecode

import "time"

// instant reads a time of RFC 3339 in UTC, in the one form that nearly all of
// them have: "2006-01-02T15:04:05.999Z", without a fraction or with up to nine
// digits of it. Other forms are the library's.
func instant(raw []byte) (time.Time, bool) {
	const form = `"0000-00-00T00:00:00Z"`
	n := len(raw)
	if n < len(form) || n > len(form)+10 || n == len(form)+1 || raw[0] != '"' || raw[n-2] != 'Z' || raw[n-1] != '"' {
		return time.Time{}, false
	}
	for i := 1; i < len(form)-2; i++ {
		if c := raw[i]; form[i] == '0' && c-'0' > 9 || form[i] != '0' && c != form[i] {
			return time.Time{}, false
		}
	}
	year, month, day := two(raw[1:])*100+two(raw[3:]), two(raw[6:]), two(raw[9:])
	hour, minute, second := two(raw[12:]), two(raw[15:]), two(raw[18:])
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

// two reads two digits.
func two(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
