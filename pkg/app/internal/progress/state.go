package progress

import (
	"math"
	"time"
)

// smoothing is how far back the shown rate looks: long enough for objects that
// finish in bursts, short enough to follow a store that slows down.
const smoothing = 30 * time.Second

// stalled is how long nothing is done before no time left is shown: a rate that
// only fades would have it grow without end, and what is waited for, such as a
// unit that is delivered again, follows no rate.
const stalled = 2 * smoothing

// longest is the longest time left that is worth showing.
const longest = 30 * 24 * time.Hour

// state is the last snapshot and what follows from those before it.
type state struct {
	Snapshot
	begun, at   time.Time // when the job began, and when it was last looked at
	seen        time.Time // when it was first looked at
	seenBytes   int64     // done by then
	moved       time.Time // when bytes were last done
	bytes, span float64   // bytes done and seconds passed lately, older ones counting less
}

func newState(now time.Time, o Options) state {
	s := state{begun: now, at: now, seen: now, moved: now, seenBytes: max(0, o.DoneBytes)}
	s.DoneBytes = s.seenBytes
	if !o.Begun.IsZero() {
		s.begun = o.Begun
	}
	return s
}

// add takes in a snapshot of the moment now.
func (s *state) add(now time.Time, next Snapshot) {
	next = possible(next)
	if next.DoneBytes > s.DoneBytes {
		s.moved = now
	}
	if passed := now.Sub(s.at).Seconds(); passed > 0 {
		fade := math.Exp(-passed / smoothing.Seconds())
		s.bytes = s.bytes*fade + float64(max(0, next.DoneBytes-s.DoneBytes))
		s.span = s.span*fade + passed
		s.at = now
	}
	s.Snapshot = next
}

// possible corrects what cannot be in a snapshot, whose numbers were not all
// read at the same moment: negative numbers, and more done than listed.
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

// average is the bytes done per second since the job was first looked at; false
// if no time has passed.
func (s *state) average() (float64, bool) {
	passed := s.at.Sub(s.seen)
	if passed <= 0 {
		return 0, false
	}
	return float64(max(0, s.DoneBytes-s.seenBytes)) / passed.Seconds(), true
}

// percent is the share of bytes done; false while the total grows. Only when
// the last byte is done is it a hundred.
func (s *state) percent() (int64, bool) {
	if s.Listing || s.ListedBytes == 0 {
		return 0, false
	}
	return int64(100 * float64(s.DoneBytes) / float64(s.ListedBytes)), true
}

// left is the time until everything listed is done at the present rate; false
// if that cannot be said.
func (s *state) left() (time.Duration, bool) {
	rest, rate := s.ListedBytes-s.DoneBytes, s.rate()
	if s.Halted != "" || rest == 0 || rate <= 0 || s.at.Sub(s.moved) > stalled {
		return 0, false
	}
	seconds := max(1, math.Round(float64(rest)/rate))
	if seconds > longest.Seconds() {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}
