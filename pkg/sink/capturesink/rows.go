package capturesink

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/spate-go/spate/pkg/unit"
)

// Series names a unit's series.
type Series struct {
	Unit  unit.ID
	Index int
}

// Calls returns the calls so far, in the order in which they ended.
func (s *Sink) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Bytes returns the applied rows of all blocks, one after the other.
func (s *Sink) Bytes() []byte {
	var all []byte
	for _, c := range s.Calls() {
		if c.Applied {
			all = append(all, c.Taken()...)
		}
	}
	return all
}

// Rows returns the applied rows in order, read as lines and without their line
// feeds.
func (s *Sink) Rows() []string { return lines(s.Bytes()) }

// RowsOf returns the applied rows of one unit.
func (s *Sink) RowsOf(u unit.ID) []string {
	var rows []string
	for _, c := range s.Calls() {
		if c.Applied && c.Block.Unit == u {
			rows = append(rows, lines(c.Taken())...)
		}
	}
	return rows
}

// Counts returns how often each row was applied.
func (s *Sink) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range s.Rows() {
		counts[r]++
	}
	return counts
}

// Committed returns the series whose commit was acked, each once, in order.
func (s *Sink) Committed() []Series {
	var all []Series
	for _, c := range s.Calls() {
		if c.Op == Commit && c.Outcome == OK {
			all = append(all, Series{c.Block.Unit, c.Block.Series})
		}
	}
	return sorted(all)
}

// Open returns the series with acked blocks that no acked commit followed: in a
// run that ended well there are none.
func (s *Sink) Open() []Series {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Series
	for u, p := range s.units {
		for series := range p.acked {
			all = append(all, Series{u, series})
		}
	}
	return sorted(all)
}

func sorted(all []Series) []Series {
	slices.SortFunc(all, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Index, b.Index))
	})
	return slices.Compact(all)
}

func lines(data []byte) []string {
	var rows []string
	for line := range bytes.Lines(data) {
		rows = append(rows, string(bytes.TrimSuffix(line, []byte{'\n'})))
	}
	return rows
}
