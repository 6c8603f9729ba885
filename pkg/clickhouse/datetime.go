package clickhouse

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// stamp is DateTime, of seconds, or DateTime64, of 10^-precision seconds, since
// 1970.
type stamp struct {
	refuses
	width, precision int
	zone             *zone
}

var (
	errStamp    = errors.New("it is not a time: want 2006-01-02 15:04:05, or RFC 3339 (a T between, an offset at the end), or seconds since 1970")
	errSubDigit = errors.New("it has more decimals of a second than the type")
	errFar      = errors.New("it is out of range: numbers are seconds since 1970, not milliseconds")
)

// dateTime makes DateTime and DateTime(zone).
func (b builder) dateTime(n *node) (*Type, error) {
	z, named, err := b.zoneOf(n.args)
	if err != nil {
		return nil, err
	}
	t := &Type{name: "DateTime", text: "DateTime", zones: named == "", coder: stamp{width: 4, zone: z}, shape: fixed(4)}
	if named != "" {
		t.text += "('" + named + "')"
	}
	return t, nil
}

// dateTime64 makes DateTime64, DateTime64(precision) and DateTime64(precision, zone).
func (b builder) dateTime64(n *node) (*Type, error) {
	precision, args, err := n.precision()
	if err != nil {
		return nil, err
	}
	z, named, err := b.zoneOf(args)
	if err != nil {
		return nil, err
	}
	t := &Type{zones: named == "", coder: stamp{width: 8, precision: precision, zone: z}, shape: fixed(8)}
	t.text = fmt.Sprintf("DateTime64(%d", precision)
	if named != "" {
		t.text += ", '" + named + "'"
	}
	t.text += ")"
	return t, nil
}

// precision reads the number of decimals, 3 if there is none, and returns the
// arguments after it.
func (n *node) precision() (int, []argument, error) {
	if !n.list {
		return 3, nil, nil
	}
	if len(n.args) == 0 || len(n.args[0].number) != 1 || n.args[0].quoted || n.args[0].number > "9" || n.args[0].number < "0" {
		return 0, nil, errors.New("want a precision of 0 to 9")
	}
	return int(n.args[0].number[0] - '0'), n.args[1:], nil
}

// text appends the instant that s is, or that it is in the zone.
func (c stamp) text(dst, s []byte) ([]byte, error) {
	m, ok := readMoment(s)
	if !ok {
		return dst, errStamp
	}
	if len(m.fraction) > c.precision {
		return dst, errSubDigit
	}
	seconds := int64(m.days)*day + int64(m.seconds)
	if m.zoned {
		seconds -= int64(m.offset)
	} else if c.zone.far(seconds) {
		return dst, errRange
	} else {
		var err error
		if seconds, err = c.zone.instant(seconds); err != nil {
			return dst, err
		}
	}
	var sub uint64
	for _, d := range m.fraction {
		sub = sub*10 + uint64(d-'0')
	}
	dst, ok = c.append(dst, seconds, sub*pow10(c.precision-len(m.fraction)))
	if !ok {
		return dst, errRange
	}
	return dst, nil
}

// number takes seconds.
func (c stamp) number(dst, s []byte) ([]byte, error) {
	w, negative, err := scaled(s, c.precision)
	switch {
	case errors.Is(err, errDigits):
		return dst, errSubDigit
	case err != nil:
		return dst, err
	case w[1]|w[2]|w[3] != 0 || w[0] > math.MaxInt64:
		return dst, errFar
	}
	seconds, sub := int64(w[0]/pow10(c.precision)), w[0]%pow10(c.precision)
	if negative {
		seconds, sub = floor(seconds, sub, c.precision)
	}
	dst, ok := c.append(dst, seconds, sub)
	if !ok {
		return dst, errFar
	}
	return dst, nil
}

// floor is -(seconds + sub) with a fraction that is not negative.
func floor(seconds int64, sub uint64, precision int) (int64, uint64) {
	if sub == 0 {
		return -seconds, 0
	}
	return -seconds - 1, pow10(precision) - sub
}

// append appends an instant; false where it is out of range.
func (c stamp) append(dst []byte, seconds int64, sub uint64) ([]byte, bool) {
	if c.width == 4 {
		return appendWord(dst, uint64(seconds), 4), seconds>>32 == 0
	}
	if c.zone.far(seconds) || c.zone.far(seconds+c.zone.offset(seconds)) {
		return dst, false
	}
	ticks := seconds * int64(pow10(c.precision))
	if ticks/int64(pow10(c.precision)) != seconds || ticks > math.MaxInt64-int64(sub) {
		return dst, false
	}
	return appendWord(dst, uint64(ticks+int64(sub)), 8), true
}

func (c stamp) zero(dst []byte) []byte { return appendWord(dst, 0, c.width) }

// render writes times in UTC: what a zone's clock shows may be twice.
func (c stamp) render(dst, b []byte) (out, rest []byte) {
	seconds, sub := int64(readWord(b, 4)), uint64(0)
	if c.width == 8 {
		ticks, unit := readSigned(b, 8), int64(pow10(c.precision))
		if seconds = ticks / unit; ticks%unit < 0 {
			seconds--
		}
		sub = uint64(ticks - seconds*unit)
	}
	dst = time.Unix(seconds, 0).UTC().AppendFormat(dst, `"2006-01-02T15:04:05`)
	return append(appendFraction(dst, sub, c.precision), `Z"`...), b[c.width:]
}

// zoneOf reads the zone that a type names, or takes the builder's.
func (b builder) zoneOf(args []argument) (z *zone, named string, err error) {
	switch {
	case len(args) == 0:
		return newZone(b.zone), "", nil
	case len(args) > 1 || !args[0].quoted || args[0].number != "":
		return nil, "", errors.New("want one zone in quotes")
	}
	named = args[0].text
	at, err := time.LoadLocation(named)
	if err != nil || named == "" || named == "Local" {
		return nil, "", fmt.Errorf("zone %q is not known", cut(named))
	}
	return newZone(at), named, nil
}
