package frame

import (
	"bytes"
	"io"

	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// Range is a Framer for one byte range of an object: it emits the records whose
// first byte is in the range, the last of them whole even if it ends after the
// range. Ranges that tile an object therefore share out its records, and its
// blank lines, exactly.
//
// The caller starts reading at From, one byte before the range, because only
// that byte tells whether a record begins with the range. It drops everything
// through the first delimiter and ends with the first delimiter at or after the
// range's last byte; it never looks at what follows, so io.EOF comes as early
// as it can.
type Range struct {
	f          Framer
	start, end int64
	delimiter  byte

	at       int64 // offset of the next buffer's first byte in the object
	searched int64 // no delimiter before this offset ends the range
	dropping bool
	done     bool
}

var _ Framer = (*Range)(nil)

// InRange restricts f to r. The delimiter of r must end a record of f wherever
// it stands, as '\n' does for lines.
func InRange(f Framer, r unit.Range) *Range {
	x := &Range{f: f, start: r.Start, end: r.End, delimiter: r.Delimiter}
	x.Reset(x.From())
	return x
}

// From is the offset in the object at which reading begins.
func (x *Range) From() int64 { return max(x.start-1, 0) }

// Reset starts the range over at the byte offset at. That is From for its
// beginning; a later one must be where a record begins, the Next of an earlier
// frame.
func (x *Range) Reset(at int64) {
	x.dropping = at < x.start
	x.begin(at)
}

// begin continues at the offset at, where a record begins unless one is being
// dropped.
func (x *Range) begin(at int64) {
	x.f.Reset(at)
	x.at = at
	x.searched = max(at, x.end-1)
	x.done = at >= x.end
}

// Need is the buffer size from which Split always makes progress.
func (x *Range) Need() int { return x.f.Need() }

// Blank is the number of blank lines of the range since Reset.
func (x *Range) Blank() int64 { return x.f.Blank() }

// Split appends the range's records. With the last of them comes io.EOF.
func (x *Range) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	dropped := 0
	if x.dropping && !x.done {
		dropped = x.drop(buf)
	}
	if x.done {
		return dst, dropped, io.EOF
	}
	if x.dropping {
		return dst, dropped, nil
	}
	first := len(dst)
	dst, n, err := x.split(dst, buf[dropped:], final)
	if dropped > 0 {
		for i := first; i < len(dst); i++ {
			dst[i].Start += dropped
			dst[i].End += dropped
			dst[i].Next += dropped
		}
	}
	return dst, dropped + n, err
}

// drop returns how much of buf belongs to a record of the previous range. It
// looks no further than the last byte but one: after a later delimiter no
// record could begin in the range.
func (x *Range) drop(buf []byte) int {
	within := int(min(int64(len(buf)), max(x.end-1-x.at, 0)))
	n := within
	if i := bytes.IndexByte(buf[:within], x.delimiter); i >= 0 {
		x.dropping = false
		n = i + 1
		x.begin(x.at + int64(n))
		return n
	}
	x.at += int64(n)
	x.done = x.at >= x.end-1
	return n
}

func (x *Range) split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	if from := x.searched - x.at; from < int64(len(buf)) {
		if i := bytes.IndexByte(buf[from:], x.delimiter); i >= 0 {
			dst, n, err := x.f.Split(dst, buf[:int(from)+i+1], true)
			x.at += int64(n)
			x.done = true
			if err == nil {
				err = io.EOF
			}
			return dst, n, err
		}
	}
	x.searched = max(x.searched, x.at+int64(len(buf)))
	dst, n, err := x.f.Split(dst, buf, final)
	x.at += int64(n)
	return dst, n, err
}
