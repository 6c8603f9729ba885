package clickhouse

import (
	"encoding/binary"
	"errors"
)

// shape is how a type's values are laid out in a row, whatever they mean.
type shape struct {
	op    op
	width int // of every value; 0 where they differ
	parts []*shape
	zero  []byte // of what an optional has none of
	runs  int    // of a column of such values; see run
}

type op int

const (
	opFixed    op = iota // width bytes
	opBytes              // a length and so many bytes
	opOptional           // a byte, and the value unless it is 1
	opList               // a number and so many values
	opRecord             // the parts
)

func fixed(width int) *shape { return &shape{op: opFixed, width: width, runs: 1} }

func variable() *shape { return &shape{op: opBytes, runs: 1} }

func optional(of *shape, zero []byte) *shape {
	return &shape{op: opOptional, parts: []*shape{of}, zero: zero, runs: 1 + of.runs}
}

func list(of *shape) *shape { return &shape{op: opList, parts: []*shape{of}, runs: 1 + of.runs} }

func record(parts ...*shape) *shape {
	s := &shape{op: opRecord, parts: parts}
	for _, p := range parts {
		s.runs += p.runs
	}
	for _, p := range parts {
		if p.width == 0 {
			s.width = 0
			break
		}
		s.width += p.width
	}
	return s
}

var errRow = errors.New("read row: its bytes are not those of its columns")

// skip returns the end of the value at i of b, or -1 if there is none.
func (s *shape) skip(b []byte, i int) int {
	if s.width > 0 {
		if i += s.width; i <= len(b) {
			return i
		}
		return -1
	}
	switch s.op {
	case opBytes:
		n, i := uvarint(b, i)
		if i < 0 || n > uint64(len(b)-i) {
			return -1
		}
		return i + int(n)
	case opOptional:
		switch {
		case i >= len(b) || b[i] > 1:
			return -1
		case b[i] == 1:
			return i + 1
		}
		return s.parts[0].skip(b, i+1)
	case opList:
		n, i := uvarint(b, i)
		if i < 0 || n > uint64(len(b)-i) { // no value is empty
			return -1
		}
		if w := s.parts[0].width; w > 0 {
			if n > uint64((len(b)-i)/w) {
				return -1
			}
			return i + int(n)*w
		}
		for ; n > 0 && i >= 0; n-- {
			i = s.parts[0].skip(b, i)
		}
		return i
	case opFixed, opRecord:
	}
	for _, p := range s.parts {
		if i = p.skip(b, i); i < 0 {
			return -1
		}
	}
	return i
}

// uvarint reads the number at i and returns the place after it, or -1.
func uvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	n, size := binary.Uvarint(b[min(i, len(b)):])
	if size <= 0 {
		return 0, -1
	}
	return n, i + size
}
