package main

import (
	"encoding/binary"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/record"
)

// prefixBytes is the length of a length.
const prefixBytes = 4

// lengthFramer finds records that each follow their length, four bytes in
// big-endian order.
type lengthFramer struct {
	limit int
	over  int64 // bytes to come of a record over the limit
}

var _ frame.Framer = (*lengthFramer)(nil)

func newLengthFramer() frame.Framer { return &lengthFramer{limit: 1 << 20} }

func (f *lengthFramer) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	pos := 0
	for {
		rest := len(buf) - pos
		if f.over > 0 { // its bytes are dealt with as they come
			n := min(f.over, int64(rest))
			pos += int(n)
			if f.over -= n; f.over > 0 {
				break
			}
			dst = append(dst, record.Frame{Start: pos, End: pos, Next: pos, Oversize: true})
			continue
		}
		if rest < prefixBytes {
			break
		}
		size := int64(binary.BigEndian.Uint32(buf[pos:]))
		if size > int64(f.limit) {
			pos, f.over = pos+prefixBytes, size
			continue
		}
		if int64(rest) < prefixBytes+size {
			break
		}
		start, end := pos+prefixBytes, pos+prefixBytes+int(size)
		dst = append(dst, record.Frame{Start: start, End: end, Next: end})
		pos = end
	}
	if final && (pos < len(buf) || f.over > 0) {
		return dst, len(buf), failure.Errorf(failure.Member, failure.Undecodable,
			"frame: the object ends within a record: it was cut short; write it again")
	}
	return dst, pos, nil
}

func (f *lengthFramer) Reset(int64)  { f.over = 0 }
func (f *lengthFramer) Need() int    { return prefixBytes + f.limit }
func (f *lengthFramer) Blank() int64 { return 0 }
