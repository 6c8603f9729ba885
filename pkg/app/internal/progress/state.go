package progress

import (
	"math"
	"time"
)

// smoothing is how far back the shown rate looks: long enough for objects that
// finish in bursts, short enough to follow a store that slows down.
const smoothing = 30 * time.Second

// longest is the longest time left that is worth showing.
const longest = 30 * 24 * time.Hour

// state is the last snapshot and what follows from those before it.
type state struct {
	Snapshot
	begun, at   time.Time
	seen        time.Time // since when the job is looked at, and what was done by then
	seenBytes   int64
	bytes, span float64 // done and passed lately, older time counting less
}

func newState(now time.Time, o Options) state {
	s := state{begun: now, at: now, seen: now, seenBytes: max(0, o.DoneBytes)}
	s.DoneBytes = s.seenBytes
	if !o.Begun.IsZero() {
		s.begun = o.Begun
	}
	return s
}

// add takes in a snapshot of the moment now.
func (s *state) add(now time.Time, next Snapshot) {
	next = possible(next)
	if passed := now.Sub(s.at).Seconds(); passed > 0 {
		fade := math.Exp(-passed / smoothing.Seconds())
		s.bytes = s.bytes*fade + float64(max(0, next.DoneBytes-s.DoneBytes))
		s.span = s.span*fade + passed
		s.at = now
	}
	s.Snapshot = next
}

// possible mends what cannot be in a snapshot, whose numbers were not all read at
// one moment: less than nothing, and more done than listed.
func possible(s Snapshot) Snapshot {
	for _, n := range []*int64{&s.DoneObjects, &s.FailedObjects, &s.DoneBytes, &s.Records} {
		*n = max(*n, 0)
	}
	s.ListedObjects = max(s.ListedObjects, s.DoneObjects+s.FailedObjects)
	s.ListedBytes = max(s.ListedBytes, s.DoneBytes)
	return s
}

func (s *state) elapsed() time.Duration { return s.at.Sub(s.begun) }

// rate is the bytes done per second lately.
func (s *state) rate() float64 {
	if s.span <= 0 {
		return 0
	}
	return s.bytes / s.span
}

// average is the bytes done per second for as long as the job is looked at; there
// is none of a moment.
func (s *state) average() (float64, bool) {
	passed := s.at.Sub(s.seen)
	if passed <= 0 {
		return 0, false
	}
	return float64(max(0, s.DoneBytes-s.seenBytes)) / passed.Seconds(), true
}

// percent is the share of bytes done; there is none while the total grows. Only
// what is done to the last byte is a hundred.
func (s *state) percent() (int64, bool) {
	if s.Listing || s.ListedBytes == 0 {
		return 0, false
	}
	return int64(100 * float64(s.DoneBytes) / float64(s.ListedBytes)), true
}

// left is the time until all that is listed is done at the present rate.
func (s *state) left() (time.Duration, bool) {
	rest, rate := s.ListedBytes-s.DoneBytes, s.rate()
	if s.Halted != "" || rest == 0 || rate <= 0 {
		return 0, false
	}
	seconds := max(1, math.Round(float64(rest)/rate))
	if seconds > longest.Seconds() {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}
