package clickhouse

import (
	"errors"
	"fmt"
	"sort"
	"time"
)

// zone is a time zone as a table of its periods, from the first day that
// types reach to the last. It does not change.
type zone struct {
	name  string
	spans []period
}

// period is from the end of the one before to its own, in seconds since 1970.
type period struct{ end, offset int64 }

func newZone(at *time.Location) *zone {
	z := &zone{name: at.String()}
	const last = (lastDay + 2) * day
	for t := time.Unix((firstDay-2)*day, 0).In(at); ; {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		if end.IsZero() || end.Unix() > last {
			z.spans = append(z.spans, period{last, int64(offset)})
			return z
		}
		if !end.After(t) { // as it may be at the turn of a year
			end = t.Add(time.Hour)
		}
		if n := len(z.spans); n > 0 && z.spans[n-1].offset == int64(offset) { // only its name changed
			z.spans[n-1].end = end.Unix()
		} else {
			z.spans = append(z.spans, period{end.Unix(), int64(offset)})
		}
		t = end
	}
}

// far reports whether a time is out of what DateTime64 reaches.
func (*zone) far(seconds int64) bool { return seconds < firstDay*day || seconds >= (lastDay+1)*day }

// offset is how far local time is ahead of UTC at an instant.
func (z *zone) offset(instant int64) int64 {
	if len(z.spans) == 1 {
		return z.spans[0].offset
	}
	return z.spans[z.after(instant)].offset
}

// after is the first period that ends after an instant.
func (z *zone) after(instant int64) int {
	i := sort.Search(len(z.spans), func(i int) bool { return z.spans[i].end > instant })
	return min(i, len(z.spans)-1)
}

var errTwice = errors.New("give the time an offset, as +01:00")

// instant is when clocks show the local time: an error where they never do, or
// twice. It must not be far.
func (z *zone) instant(local int64) (int64, error) {
	if len(z.spans) == 1 {
		return local - z.spans[0].offset, nil
	}
	found, count := int64(0), 0
	for i := z.after(local - day); i < len(z.spans); i++ {
		s := z.spans[i]
		start := int64((firstDay - 2) * day)
		if i > 0 {
			start = z.spans[i-1].end
		}
		if start > local+day {
			break
		}
		if at := local - s.offset; at >= start && at < s.end {
			found, count = at, count+1
		}
	}
	switch count {
	case 1:
		return found, nil
	case 0:
		return 0, fmt.Errorf("clocks in %s skip that time: %w", z.name, errTwice)
	}
	return 0, fmt.Errorf("clocks in %s show that time twice: %w", z.name, errTwice)
}
