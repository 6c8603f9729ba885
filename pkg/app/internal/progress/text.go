package progress

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// line is the state in one line, for as long as the job runs.
func (s *state) line() string {
	return join(clock(s.elapsed()), s.objects(), s.percentage(), size(s.DoneBytes), s.records(),
		perSecond(s.rate()), s.timeLeft(), s.trouble())
}

// lastLine is the state in one line after the end: the rate is the average, and
// there is no time left.
func (s *state) lastLine() string {
	rate := ""
	if average, ok := s.average(); ok {
		rate = perSecond(average)
	}
	return join(clock(s.elapsed()), s.objects(), s.percentage(), size(s.DoneBytes), s.records(), rate, s.trouble())
}

func join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "  ")
}

// objects is done of listed; a plus marks a total that still grows.
func (s *state) objects() string {
	return fmt.Sprintf("%s/%s%s objects", humanize.Comma(s.DoneObjects), humanize.Comma(s.ListedObjects), s.growing())
}

func (s *state) growing() string {
	if s.Listing {
		return "+"
	}
	return ""
}

func (s *state) percentage() string {
	if p, ok := s.percent(); ok {
		return fmt.Sprintf("%d%%", p)
	}
	return ""
}

func (s *state) records() string { return count(s.Records) + " records" }

// timeLeft is a lower bound while the total grows, and says so.
func (s *state) timeLeft() string {
	left, ok := s.left()
	if !ok {
		return ""
	}
	sec := int64(left / time.Second)
	text := fmt.Sprintf("%d:%02d", sec/60, sec%60)
	if sec >= 3600 {
		text = fmt.Sprintf("%d:%02d:%02d", sec/3600, sec/60%60, sec%60)
	}
	return text + s.growing() + " left"
}

func (s *state) trouble() string {
	var failed, halted string
	if s.FailedObjects > 0 {
		failed = humanize.Comma(s.FailedObjects) + " failed"
	}
	if s.Halted != "" {
		halted = "halted: " + s.Halted
	}
	return join(failed, halted)
}

func clock(d time.Duration) string { return d.Round(time.Second).String() }

func size(n int64) string { return humanize.IBytes(uint64(n)) }

func perSecond(rate float64) string { return size(int64(math.Round(rate))) + "/s" }

// count is exact as long as it is short.
func count(n int64) string {
	if n < 1e5 {
		return humanize.Comma(n)
	}
	value, prefix := humanize.ComputeSI(float64(n))
	return fmt.Sprintf("%.1f %s", value, prefix)
}
