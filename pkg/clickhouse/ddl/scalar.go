package ddl

import (
	"math/big"
	"regexp"
	"strings"
	"time"
)

// integers are the whole numbers that were seen.
type integers struct {
	n        int
	min, max *big.Int
}

// add takes in a number as JSON has it, and reports whether it is whole as it is
// written.
func (i *integers) add(text string) bool {
	if strings.ContainsAny(text, ".eE") {
		return false
	}
	x, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return false
	}
	if i.n == 0 || x.Cmp(i.min) < 0 {
		i.min = x
	}
	if i.n == 0 || x.Cmp(i.max) > 0 {
		i.max = x
	}
	i.n++
	return true
}

// column is the type that holds them, with room: twice what was seen fits too,
// where there is such a type. It has 32 bits at least, since numbers that count
// up begin small.
func (i *integers) column() string {
	signed := i.min.Sign() < 0
	for _, room := range []uint{1, 0} {
		for _, bits := range []uint{32, 64, 128, 256} {
			name, magnitude := map[bool]string{true: "Int", false: "UInt"}[signed], bits
			if signed {
				magnitude--
			}
			top := new(big.Int).Lsh(big.NewInt(1), magnitude-room)
			if i.max.Cmp(top) < 0 && new(big.Int).Neg(i.min).Cmp(top) <= 0 {
				return name + big.NewInt(int64(bits)).String()
			}
		}
	}
	return "Float64"
}

// exact reports whether a Float64 holds each of them as it is.
func (i *integers) exact() bool {
	if i.n == 0 {
		return true
	}
	top := new(big.Int).Lsh(big.NewInt(1), 53)
	return i.max.Cmp(top) <= 0 && new(big.Int).Neg(i.min).Cmp(top) <= 0
}

// Of a column that repeats itself.
const (
	mostDistinct = 1000 // values, of a sample
	repeated     = 4    // times each, on average
)

// texts are the strings that were seen.
type texts struct {
	n        int
	distinct map[string]struct{}
	shape    shape
	longest  int // bytes
	digits   int // of fractions of seconds, the most
	from, to time.Time
}

// shape is what all strings of a place look like.
type shape int

const (
	unseen   shape = iota
	free           // nothing in particular
	id             // a UUID
	day            // 2006-01-02
	moment         // a moment with its zone
	zoneless       // 2006-01-02 15:04:05, taken for UTC
)

func (t *texts) add(s string) {
	if t.distinct == nil {
		t.distinct = map[string]struct{}{}
	}
	if len(t.distinct) <= mostDistinct {
		t.distinct[s] = struct{}{}
	}
	t.n++
	t.longest = max(t.longest, len(s))
	if t.shape == free {
		return
	}
	is, at, digits := shapeOf(s)
	if t.shape != unseen && is != t.shape {
		t.shape = free
		return
	}
	t.shape = is
	t.digits = max(t.digits, digits)
	if t.from.IsZero() || at.Before(t.from) {
		t.from = at
	}
	if at.After(t.to) {
		t.to = at
	}
}

var (
	uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	timeText = regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d:\d\d(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?)?$`)
)

// shapeOf is what s looks like; of a time also when, and the digits of its
// fraction.
func shapeOf(s string) (is shape, at time.Time, digits int) {
	if uuidText.MatchString(s) {
		return id, at, 0
	}
	m := timeText.FindStringSubmatch(s)
	if m == nil {
		return free, at, 0
	}
	var layout string
	switch between, zone := m[1], m[3]; {
	case between == "":
		is, layout = day, time.DateOnly
	case between == "T" && zone != "":
		is, layout = moment, time.RFC3339
	case zone == "":
		is, layout = zoneless, "2006-01-02"+between+"15:04:05"
	default:
		return free, at, 0
	}
	at, err := time.Parse(layout, s)
	if err != nil {
		return free, at, 0 // of a month 13, say
	}
	return is, at.UTC(), len(m[2])
}

// column is the type that holds them.
func (t *texts) column() string {
	year := func(from, to int) bool { return t.from.Year() >= from && t.to.Year() < to }
	switch {
	case t.shape == id:
		return "UUID"
	case t.shape == day && year(1970, 2149):
		return "Date"
	case t.shape == day && year(1900, 2300):
		return "Date32"
	case t.shape != moment && t.shape != zoneless:
	case t.digits == 0 && year(1970, 2106):
		return "DateTime('UTC')"
	case t.digits <= 8 && year(1900, 2299):
		return "DateTime64(" + string(rune('0'+roundUp(t.digits))) + ", 'UTC')"
	case t.digits <= 9 && year(1900, 2262):
		return "DateTime64(9, 'UTC')"
	}
	return "String"
}

// roundUp is the usual number of digits, thousandths or millionths, that holds n.
func roundUp(n int) int {
	switch {
	case n == 0:
		return 0
	case n <= 3:
		return 3
	case n <= 6:
		return 6
	}
	return n
}

// repeats reports whether the strings are few and come again.
func (t *texts) repeats() bool {
	return len(t.distinct) <= mostDistinct && t.n >= 2*repeated && len(t.distinct)*repeated <= t.n
}

func (i *integers) merge(o *integers) {
	switch {
	case o.n == 0:
	case i.n == 0:
		*i = *o
	default:
		i.n += o.n
		if o.min.Cmp(i.min) < 0 {
			i.min = o.min
		}
		if o.max.Cmp(i.max) > 0 {
			i.max = o.max
		}
	}
}

func (t *texts) merge(o *texts) {
	if o.n == 0 {
		return
	}
	if t.n == 0 {
		t.shape, t.from, t.to = o.shape, o.from, o.to
		t.distinct = map[string]struct{}{}
	}
	t.n += o.n
	if t.shape != o.shape {
		t.shape = free
	}
	t.longest, t.digits = max(t.longest, o.longest), max(t.digits, o.digits)
	if o.from.Before(t.from) {
		t.from = o.from
	}
	if o.to.After(t.to) {
		t.to = o.to
	}
	for s := range o.distinct { // in no order: it is counted only
		if len(t.distinct) > mostDistinct {
			break
		}
		t.distinct[s] = struct{}{}
	}
}
