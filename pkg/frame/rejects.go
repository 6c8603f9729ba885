package frame

import (
	"bytes"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/reject"
)

// rejectLine is what a line may hold besides the record, in bytes.
const rejectLine = 64 << 10

// RejectFramer frames the records that the lines of a rejects file hold. It
// decodes each in place, over the text that encodes it. A line without a record
// is an Oversize frame: its bytes are gone. A line that is not one of a rejects
// file ends the object, and the error names it.
type RejectFramer struct {
	lines *LineFramer
	limit int
	line  int64 // lines dealt with since Reset
}

var _ Framer = (*RejectFramer)(nil)

// Rejects frames the files of records that a pipeline refused, so that they can
// be repaired and run again. maxRecord is the limit in bytes of the record
// itself; 0 means DefaultMaxRecord.
func Rejects(maxRecord int) *RejectFramer {
	limit := limitOr(maxRecord)
	return &RejectFramer{lines: newLineFramer(reject.MaxGrowth*limit+rejectLine, true), limit: limit}
}

// Need is the buffer size from which Split always makes progress.
func (f *RejectFramer) Need() int { return f.lines.Need() }

// Blank is the number of blank lines since Reset.
func (f *RejectFramer) Blank() int64 { return f.lines.Blank() }

// Reset starts another object at the byte offset at.
func (f *RejectFramer) Reset(at int64) {
	f.lines.Reset(at)
	f.line = 0
}

// Split appends the records of the lines that are complete in buf, and rewrites
// those lines. It takes one line after the other, so that nothing after a fault
// is counted.
func (f *RejectFramer) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	for pos := 0; ; {
		end, last := len(buf), true
		from := pos + min(f.lines.searched, end-pos)
		if i := bytes.IndexByte(buf[from:], lineFeed); i >= 0 {
			end, last = from+i+1, false
		}
		before := len(dst)
		var n int
		dst, n, _ = f.lines.Split(dst, buf[pos:end], final && last)
		if len(dst) > before {
			if err := f.unwrap(&dst[before], buf, pos); err != nil {
				return dst[:before], pos, err
			}
		}
		pos += n
		if last {
			return dst, pos, nil
		}
		f.line++
	}
}

// unwrap turns the frame of a line, in the part of buf from pos on, into that of
// the record in it.
func (f *RejectFramer) unwrap(fr *record.Frame, buf []byte, pos int) error {
	fr.Start, fr.End, fr.Next = fr.Start+pos, fr.End+pos, fr.Next+pos
	if fr.Oversize {
		return nil
	}
	start, end, ok, err := reject.Content(buf[fr.Start:fr.End])
	if err != nil {
		return failure.Errorf(failure.Member, failure.Undecodable, "read rejects: line %d: %w", f.line+1, err)
	}
	if !ok || end-start > f.limit {
		*fr = record.Frame{Start: fr.Next, End: fr.Next, Next: fr.Next, Oversize: true}
		return nil
	}
	fr.Start, fr.End = fr.Start+start, fr.Start+end
	return nil
}
