package config

import (
	"strconv"
	"strings"
	"time"
)

// maxDays is what a time.Duration holds.
const maxDays = 106751

// parseDuration reads a duration such as 500ms, 2m, 1h30m or 7d. A number without
// a unit is refused, except 0.
func parseDuration(s string) (time.Duration, error) {
	const not = wrong("is not a duration: write 500ms, 2m, 1h30m or 7d")
	if strings.HasPrefix(s, "-") {
		return 0, wrong("is a negative duration")
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n != 0 {
		return 0, wrong("has no unit: write 30s, 500ms, 2m, 1h or 7d")
	}
	var days time.Duration
	if number, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n >= maxDays {
			return 0, not
		}
		days, s = time.Duration(n)*24*time.Hour, rest
		if s == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || days+d < 0 {
		return 0, not
	}
	return days + d, nil
}

// Time is a moment, written as RFC 3339 or as a date, which is its first moment
// in UTC. Empty is the zero Time.
type Time struct{ time.Time }

// UnmarshalText reads a time.
func (t *Time) UnmarshalText(text []byte) (err error) {
	*t, err = parseTime(string(text))
	return err
}

func parseTime(s string) (Time, error) {
	if s == "" {
		return Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return Time{t}, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if _, err := time.Parse(layout, s); err == nil {
			return Time{}, wrong("has no time zone: write 2026-01-31T18:00:00Z or 2026-01-31T18:00:00+02:00")
		}
	}
	return Time{}, wrong("is not a time: write 2026-01-31 or 2026-01-31T18:00:00Z")
}
