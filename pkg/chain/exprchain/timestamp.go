package exprchain

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones for machines that have none of their own

	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// layouts are the names for layouts; those of unix count from 1970, with so
// many digits below the second.
func layouts() map[string]string {
	return map[string]string{
		"":         time.RFC3339,
		"rfc3339":  time.RFC3339,
		"rfc1123":  time.RFC1123,
		"rfc1123z": time.RFC1123Z,
		"rfc850":   time.RFC850,
		"ansic":    time.ANSIC,
		"clf":      "02/Jan/2006:15:04:05 -0700",
		"datetime": time.DateTime,
		"date":     time.DateOnly,
		"unix":     "0",
		"unix_ms":  "3",
		"unix_us":  "6",
		"unix_ns":  "9",
	}
}

// timestamp compiles the reading of a time, which is written as RFC 3339 in
// UTC, with as many digits of the second as were read.
func (p *plan) timestamp(c *Parse, at string, into *place) func(s *scope, raw []byte) error {
	zone, err := location(c.Zone)
	if err != nil {
		p.errs.add(at+".zone", err)
	}
	layout, known := layouts()[c.Layout]
	if known && strings.HasPrefix(c.Layout, "unix") {
		scale, _ := strconv.Atoi(layout)
		if c.Zone != "" {
			p.errs.addf(at+".zone", "has no effect: %s counts in UTC", c.Layout)
		}
		return func(s *scope, raw []byte) error {
			t, digits, err := unixTime(s.number(raw), scale)
			if err != nil {
				return fmt.Errorf("%s: %w", shown(raw), err)
			}
			return s.putTime(into, t, digits)
		}
	}
	if !known {
		layout = c.Layout
	}
	if err := checkLayout(layout); err != nil {
		p.errs.addf(at+".layout", "%q %w", c.Layout, err)
	}
	return func(s *scope, raw []byte) error {
		text, ok := s.text(raw)
		if !ok {
			return fmt.Errorf("want a string, got %s", kindOf(raw))
		}
		t, err := time.ParseInLocation(layout, string(text), zone)
		if err != nil {
			return fmt.Errorf("%s does not fit the layout %q", shown(text), layout)
		}
		if madeUp(t, layout) {
			return fmt.Errorf("%s: the zone %s has no known offset: name one that has it by zone", shown(text), t.Location())
		}
		return s.putTime(into, t, fraction(text, t))
	}
}

// location is a zone by name or offset, the same on every machine.
func location(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case name == "Local":
		return nil, errors.New("rows must not depend on the machine: name the zone")
	case name[0] == '+' || name[0] == '-':
		t, err := time.Parse("-07:00", name)
		if err != nil {
			return nil, fmt.Errorf("%q is not an offset like +02:00", name)
		}
		return t.Location(), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a zone like Europe/Berlin or +02:00", name)
	}
	return zone, nil
}

// checkLayout wants a layout that tells days from one another.
func checkLayout(layout string) error {
	sample := time.Date(2013, 11, 27, 18, 37, 49, 0, time.UTC)
	text := sample.Format(layout)
	if text == layout {
		return fmt.Errorf("is neither the name of a layout nor one: write how %s would look", time.DateTime)
	}
	t, err := time.ParseInLocation(layout, text, time.UTC)
	if err != nil {
		return fmt.Errorf("cannot be read back: %w", err)
	}
	if !slices.Equal([]int{t.Year(), t.YearDay()}, []int{2013, 331}) {
		return errors.New("does not have year, month and day")
	}
	return nil
}

// madeUp reports whether the zone of t is an abbreviation that nothing is known
// of, which Go takes for UTC.
func madeUp(t time.Time, layout string) bool {
	if !strings.Contains(layout, "MST") {
		return false
	}
	name, offset := t.Zone()
	return offset == 0 && t.Location().String() == name && name != "UTC" && name != "GMT" && name != ""
}

// fraction is the number of digits of the second that text has, t being what
// it means.
func fraction(text []byte, t time.Time) int {
	second := fmt.Sprintf("%02d", t.Second())
	for i := len(text) - 2; i >= 2; i-- {
		if text[i] != '.' && text[i] != ',' || string(text[i-2:i]) != second {
			continue
		}
		n := 0
		for n < 9 && i+1+n < len(text) && text[i+1+n]-'0' <= 9 {
			n++
		}
		if n > 0 {
			return n
		}
	}
	return 0
}

// number is the text of a number, or of a string that holds one.
func (s *scope) number(raw []byte) []byte {
	if text, ok := s.text(raw); ok {
		return text
	}
	return raw
}

// unixTime reads a count of 10^-scale seconds exactly and says how many digits
// below the second it had.
func unixTime(text []byte, scale int) (t time.Time, digits int, err error) {
	neg, whole, frac, ok := decimal(text, scale)
	if !ok {
		return t, 0, errors.New("want a number")
	}
	seconds, err := strconv.ParseInt("0"+whole, 10, 64)
	if err != nil {
		return t, 0, errors.New("it is out of range")
	}
	digits = min(len(frac), 9)
	nanos, _ := strconv.Atoi((frac + "000000000")[:9])
	if neg {
		seconds, nanos = -seconds, -nanos
	}
	return time.Unix(seconds, int64(nanos)), digits, nil
}

// decimal splits a number, divided by 10^shift, at its point.
func decimal(text []byte, shift int) (neg bool, whole, frac string, ok bool) {
	if !isNumber(text) || jsondecode.Check(text) != nil {
		return false, "", "", false
	}
	digits, neg := strings.CutPrefix(string(text), "-")
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		e, err := strconv.Atoi(digits[i+1:])
		if err != nil || e < -99 || e > 99 {
			return false, "", "", false
		}
		digits, shift = digits[:i], shift-e
	}
	whole, frac, _ = strings.Cut(digits, ".")
	if len(whole)+len(frac) > 99 {
		return false, "", "", false
	}
	if shift >= 0 {
		whole = strings.Repeat("0", max(0, shift-len(whole))) + whole
		return neg, whole[:len(whole)-shift], whole[len(whole)-shift:] + frac, true
	}
	frac += strings.Repeat("0", max(0, -shift-len(frac)))
	return neg, whole + frac[:-shift], frac[-shift:], true
}

// putTime writes t at into.
func (s *scope) putTime(into *place, t time.Time, digits int) error {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return errors.New("the year is not one of four digits")
	}
	value, err := s.build(func(dst []byte) ([]byte, error) {
		dst = t.AppendFormat(append(dst, '"'), "2006-01-02T15:04:05.000000000")
		dst = dst[:len(dst)-9+digits]
		if digits == 0 {
			dst = dst[:len(dst)-1]
		}
		return append(dst, 'Z', '"'), nil
	})
	if err != nil {
		return err
	}
	return s.put(into, value)
}
