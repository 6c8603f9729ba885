// Package segment is the rule by which a unit is cut into the stretches that
// sinks write as blocks.
//
// A boundary depends on the unit's bytes alone: never on chunking, timing,
// parallelism or what a sink does (INV-3). So every attempt cuts alike, and a
// sink recognises a block that it has seen.
package segment

import "github.com/spate-go/spate/pkg/unit"

// Bytes is the size of a segment: it ends with the first record that ends at or
// after it. Members up to this size share segments. It is a constant, not a
// setting: two readers with different values would cut one unit differently.
const Bytes = 8 << 20

// Groups returns, for every member, the ordinal of its group: members not
// larger than Bytes are grouped in order, up to Bytes in sum by listed size; a
// larger one is a group alone. A segment never spans two groups.
func Groups(objects []unit.Object) []int {
	groups := make([]int, len(objects))
	group, sum := 0, int64(0)
	for i, o := range objects {
		if i > 0 && sum+o.Size > Bytes {
			group++
			sum = 0
		}
		groups[i] = group
		sum += o.Size
	}
	return groups
}

// Cutter counts the framed bytes of one group.
type Cutter struct{ framed int64 }

// Take adds the bytes up to a record's end and reports whether the segment
// ends there; then the next one begins.
func (c *Cutter) Take(n int64) bool {
	c.framed += n
	if c.framed < Bytes {
		return false
	}
	c.framed = 0
	return true
}

// Left is the number of framed bytes after which the segment ends.
func (c *Cutter) Left() int64 { return Bytes - c.framed }

// Close ends the group and reports whether a segment was under way.
func (c *Cutter) Close() bool {
	under := c.framed > 0
	c.framed = 0
	return under
}
