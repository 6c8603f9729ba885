package segment_test

import (
	"slices"
	"testing"

	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/unit"
)

const mib = 1 << 20

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int64
		want  []int
	}{
		{"no members", nil, []int{}},
		{"small members share a group", []int64{mib, 2 * mib, 3 * mib}, []int{0, 0, 0}},
		{"up to the bound exactly", []int64{4 * mib, 4 * mib, 1}, []int{0, 0, 1}},
		{"one over the bound opens the next", []int64{4 * mib, 4*mib + 1, 1}, []int{0, 1, 1}},
		{"a larger one is alone", []int64{1, 9 * mib, 1, 1}, []int{0, 1, 2, 2}},
		{"a larger one first", []int64{9 * mib, 1}, []int{0, 1}},
		{"empty members join", []int64{8 * mib, 0, 0, 1}, []int{0, 0, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := make([]unit.Object, len(c.sizes))
			for i, n := range c.sizes {
				objects[i].Size = n
			}
			if got := segment.Groups(objects); !slices.Equal(got, c.want) {
				t.Errorf("groups of %v: got %v, want %v", c.sizes, got, c.want)
			}
		})
	}
}

func TestCutterEndsASegmentAtTheRecordThatReachesTheBound(t *testing.T) {
	var c segment.Cutter
	if c.Take(segment.Bytes - 1) {
		t.Fatal("cut one byte early")
	}
	if c.Left() != 1 {
		t.Fatalf("left %d, want 1", c.Left())
	}
	if !c.Take(1) {
		t.Fatal("not cut at the bound")
	}
	if c.Close() {
		t.Fatal("nothing is under way after a cut")
	}
	c.Take(1)
	if !c.Close() {
		t.Fatal("a record after the cut is a segment under way")
	}
	if !c.Take(3 * segment.Bytes) {
		t.Fatal("a record over the bound is not cut after")
	}
}
