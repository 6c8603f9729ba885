package memledger

import (
	"encoding/binary"
	"slices"

	"github.com/spate-go/spate/pkg/ledger"
)

const (
	offsetBits = 16 // of an offset within a chunk
	chunkBytes = 1 << offsetBits
	runBytes   = 4 // the run stands first, as it is written over
)

// doneSet holds the units that are done: run and counts of each, packed into
// chunks without pointers. A unit's counts are kept beside the sums because a
// later run may take over some of a run's units and not others.
type doneSet struct {
	at     map[key]uint64 // chunk, then offset
	chunks [][]byte
	sinks  []string // their index stands for the name
}

// add enters a unit that is not in the set.
func (s *doneSet) add(k key, run int, c ledger.Counts) {
	rec := s.encode(run, c)
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(rec) > chunkBytes {
		s.chunks = append(s.chunks, make([]byte, 0, chunkBytes))
		last++
	}
	if s.at == nil {
		s.at = map[key]uint64{}
	}
	s.at[k] = uint64(last)<<offsetBits | uint64(len(s.chunks[last]))
	s.chunks[last] = append(s.chunks[last], rec...)
}

func (s *doneSet) record(at uint64) []byte { return s.chunks[at>>offsetBits][at&(chunkBytes-1):] }

// run returns the run that the unit is of.
func (s *doneSet) run(k key) (int, bool) {
	at, ok := s.at[k]
	if !ok {
		return 0, false
	}
	return runOf(s.record(at)), true
}

// take moves a unit of the set to a later run.
func (s *doneSet) take(k key, run int) {
	binary.LittleEndian.PutUint32(s.record(s.at[k]), uint32(run))
}

func (s *doneSet) get(k key) (run int, c ledger.Counts, ok bool) {
	at, ok := s.at[k]
	if !ok {
		return 0, ledger.Counts{}, false
	}
	sum := s.summer()
	sum.add(s.record(at))
	return runOf(s.record(at)), sum.counts(s.sinks), true
}

// prove adds the set to the proof of a run.
func (s *doneSet) prove(run int, to *ledger.Census) {
	sum := s.summer()
	for _, at := range s.at {
		rec := s.record(at)
		switch of := runOf(rec); {
		case of < run:
			to.Unlisted++
		case of == run:
			to.Done++
			sum.add(rec)
		}
	}
	to.Counts = sum.counts(s.sinks)
}

func (s *doneSet) encode(run int, c ledger.Counts) []byte {
	b := make([]byte, 0, 64)
	b = binary.LittleEndian.AppendUint32(b, uint32(run))
	for _, n := range []int64{c.In, c.Out, c.Filtered, c.Rejected, c.Expanded, c.BytesRead, c.BytesDecoded, c.MemoryTime, c.Overwritten, int64(len(c.Sinks))} {
		b = binary.AppendVarint(b, n)
	}
	for name, n := range c.Sinks {
		i := slices.Index(s.sinks, name)
		if i < 0 {
			i = len(s.sinks)
			s.sinks = append(s.sinks, name)
		}
		for _, n := range []int64{int64(i), n.Records, n.Blocks, n.Bytes} {
			b = binary.AppendVarint(b, n)
		}
	}
	return b
}

func runOf(rec []byte) int { return int(binary.LittleEndian.Uint32(rec)) }

// summer adds up packed counts without a map for each.
type summer struct {
	total ledger.Counts // without the sinks
	sinks []ledger.SinkCounts
	seen  []bool
}

func (s *doneSet) summer() summer {
	return summer{sinks: make([]ledger.SinkCounts, len(s.sinks)), seen: make([]bool, len(s.sinks))}
}

func (s *summer) add(rec []byte) {
	rec = rec[runBytes:]
	next := func() int64 {
		n, size := binary.Varint(rec)
		rec = rec[size:]
		return n
	}
	for _, to := range []*int64{
		&s.total.In, &s.total.Out, &s.total.Filtered, &s.total.Rejected, &s.total.Expanded,
		&s.total.BytesRead, &s.total.BytesDecoded, &s.total.MemoryTime, &s.total.Overwritten,
	} {
		*to += next()
	}
	for range next() {
		i := next()
		s.seen[i] = true
		s.sinks[i].Records += next()
		s.sinks[i].Blocks += next()
		s.sinks[i].Bytes += next()
	}
}

func (s *summer) counts(names []string) ledger.Counts {
	c := s.total
	for i, seen := range s.seen {
		if !seen {
			continue
		}
		if c.Sinks == nil {
			c.Sinks = map[string]ledger.SinkCounts{}
		}
		c.Sinks[names[i]] = s.sinks[i]
	}
	return c
}
