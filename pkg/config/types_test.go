package config_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/config"
)

// read reads text as the value of a field of type T.
func read[T any](t *testing.T, text string) (T, error) {
	t.Helper()
	doc, err := config.Parse("f.yaml", []byte("a: ${V}"), func(string) (string, bool) { return text, true })
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		A T `yaml:"a"`
	}
	err = doc.Decode(&s)
	return s.A, err
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]config.Size{
		"0": 0, "1048576": 1 << 20, "7B": 7, "64MiB": 64 << 20, "10MB": 10_000_000, "1GiB": 1 << 30, "2gb": 2_000_000_000,
		"1.5KiB": 1536, "0.5 MiB": 1 << 19, "3TiB": 3 << 40, "3TB": 3_000_000_000_000, "1kB": 1000, "1KB": 1000, "1kib": 1024,
		"9223372036854775807": math.MaxInt64, "8388607TiB": 8388607 << 40,
	} {
		if got, err := read[config.Size](t, text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "not a size", "MiB": "not a size", "-1": "not a size", "+1": "not a size", "1e9": "not a size", "0x10": "not a size",
		"1/3": "not a size", "1.2.3": "not a size", "1,000": "not a size", "64 M iB": "not a size", "64PiB": "not a size", "1MiBs": "not a size",
		"64M": "MiB (powers of 1024) or MB", "5g": "GiB (powers of 1024) or GB",
		"1.0001KiB": "whole number of bytes", "0.5": "whole number of bytes",
		"8EiB": "not a size", "8388608TiB": "largest", "9223372036854775808": "largest", strings.Repeat("9", 40): "not a size",
	} {
		if got, err := read[config.Size](t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestASizePrintsWhatReadsBackAsItself(t *testing.T) {
	for s, want := range map[config.Size]string{
		0: "0B", 1: "1B", 1023: "1023B", 1024: "1KiB", 1536: "1536B", 64 << 20: "64MiB", 10_000_000: "10000000B",
		1 << 30: "1GiB", 5 << 40: "5TiB", 1025 << 20: "1025MiB", math.MaxInt64: "9223372036854775807B",
	} {
		back, err := read[config.Size](t, s.String())
		if s.String() != want || err != nil || back != s {
			t.Errorf("%d prints %q, read back as %d (%v)", int64(s), s, back, err)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "2m": 2 * time.Minute, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour,
		"1d12h": 36 * time.Hour, "1.5s": 1500 * time.Millisecond, "0s": 0, "106750d": 106750 * 24 * time.Hour,
	} {
		if got, err := read[time.Duration](t, text); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"30": "no unit", "1.5": "no unit", "-1s": "negative", "-5": "negative", "": "not a duration", "2 min": "not a duration",
		"2M": "not a duration", "d": "not a duration", "1.5d": "not a duration", "1d-2h": "not a duration", "999999999h": "not a duration",
		"106751d": "not a duration", "106750d48h": "not a duration", "1d1d": "not a duration", "99999999999999d": "not a duration",
	} {
		if got, err := read[time.Duration](t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Time{
		"":                          {},
		"2026-01-31":                time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T18:00:00Z":      time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC),
		"2026-01-31T18:00:00.5Z":    time.Date(2026, 1, 31, 18, 0, 0, 5e8, time.UTC),
		"2026-01-31T18:00:00+02:00": time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC),
	} {
		if got, err := read[config.Time](t, text); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"2026-01-31 18:00:00": "no time zone", "2026-01-31T18:00:00": "no time zone",
		"31.1.2026": "not a time", "2026-02-30": "not a time", "now": "not a time", "0": "not a time",
	} {
		if got, err := read[config.Time](t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v; want an error with %q", text, got, err, want)
		}
	}
}
