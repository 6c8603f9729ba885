package record_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/record"
)

func TestPositionsOrderTheRecordsOfAUnit(t *testing.T) {
	const lastMember, lastIndex = 1<<23 - 1, 1<<40 - 1
	before := record.Position(-1)
	for _, c := range []struct {
		member int
		index  int64
	}{{0, 0}, {0, 1}, {0, lastIndex}, {1, 0}, {1, lastIndex}, {999, 7}, {lastMember, 0}, {lastMember, lastIndex}} {
		p := record.At(c.member, c.index)
		if p.Member() != c.member || p.Index() != c.index {
			t.Errorf("record %d of member %d became %d of %d", c.index, c.member, p.Index(), p.Member())
		}
		if p <= before {
			t.Errorf("record %d of member %d does not come after the one before", c.index, c.member)
		}
		before = p
	}
}

func TestCountsAddUp(t *testing.T) {
	c := record.Counts{In: 1, Out: 2, Filtered: 3, Rejected: 4, Expanded: 5}
	c.Add(record.Counts{In: 10, Out: 20, Filtered: 30, Rejected: 40, Expanded: 50})
	if want := (record.Counts{In: 11, Out: 22, Filtered: 33, Rejected: 44, Expanded: 55}); c != want {
		t.Errorf("got %+v", c)
	}
}
