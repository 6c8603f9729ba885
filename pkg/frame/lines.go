package frame

import (
	"bytes"

	"github.com/spate-go/spate/pkg/record"
)

const (
	lineFeed = '\n'
	// lineEnd is the most that can follow a record: CR and LF.
	lineEnd = 2
)

// LineFramer cuts at line feeds. One carriage return before a line feed, or at
// the very end of the object, belongs to the line's end and not to the record.
// A byte order mark at offset 0 is dropped. The last line needs no line feed.
// All other bytes are kept as they are, NUL and invalid UTF-8 included. It
// never fails, but for NDJSON of what is a Container.
type LineFramer struct {
	limit     int
	skipBlank bool
	refuses   bool // containers
	blank     int64

	start start
	// searched is how much of the next buffer is known to hold no line feed, so
	// that a long line, which arrives piece by piece, is searched once only.
	searched int
	// inOver: the beginning of the current line was consumed, because the line
	// is over the limit; overBlank: all of that was white space.
	inOver, overBlank bool
}

var _ Framer = (*LineFramer)(nil)

// Lines makes every line a record, empty ones too. maxRecord is the limit in
// bytes, without the line's end; 0 means DefaultMaxRecord.
func Lines(maxRecord int) *LineFramer { return newLineFramer(maxRecord, false) }

// NDJSON makes every line a record, except those that are empty or only space,
// tab and CR. Such a line is blank however long it is: it has no index and
// Blank counts it. The records are not parsed. maxRecord is as in Lines.
func NDJSON(maxRecord int) *LineFramer {
	f := newLineFramer(maxRecord, true)
	f.refuses = true
	return f
}

func newLineFramer(limit int, skipBlank bool) *LineFramer {
	f := &LineFramer{limit: limitOr(limit), skipBlank: skipBlank}
	f.Reset(0)
	return f
}

// Delimiter is the byte that ends a record wherever it stands. Only an object
// whose framer has one can be cut into ranges.
func (f *LineFramer) Delimiter() (byte, bool) { return lineFeed, true }

// Need is the buffer size from which Split always makes progress. A byte order
// mark fits too, for no limit is below 1.
func (f *LineFramer) Need() int {
	if f.refuses {
		return max(f.limit+lineEnd, ContainerBytes)
	}
	return f.limit + lineEnd
}

// Blank is the number of blank lines since Reset.
func (f *LineFramer) Blank() int64 { return f.blank }

// Reset starts another object at the byte offset at.
func (f *LineFramer) Reset(at int64) {
	*f = LineFramer{limit: f.limit, skipBlank: f.skipBlank, refuses: f.refuses, start: at == 0}
}

// Split appends the records of the lines that are complete in buf.
func (f *LineFramer) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	if bool(f.start) && f.refuses {
		if more, err := refused(buf, final); more || err != nil {
			return dst, 0, err
		}
	}
	pos, wait := f.start.skip(buf, final)
	if wait {
		return dst, 0, nil
	}
	from := pos + min(f.searched, len(buf)-pos)
	for {
		i := bytes.IndexByte(buf[from:], lineFeed)
		if i < 0 {
			break
		}
		end := from + i
		dst = f.line(dst, buf, pos, end, end+1)
		pos, from = end+1, end+1
	}
	f.searched = 0
	rest := len(buf) - pos
	switch {
	case final:
		if rest > 0 || f.inOver {
			dst = f.line(dst, buf, pos, len(buf), len(buf))
		}
		return dst, len(buf), nil
	case f.inOver || rest >= f.limit+lineEnd:
		// Over the limit even if CR and LF follow: it need not be kept.
		f.overBlank = f.skipBlank && (!f.inOver || f.overBlank) && isBlank(buf[pos:])
		f.inOver = true
		return dst, len(buf), nil
	}
	f.searched = rest
	return dst, pos, nil
}

// line appends the frame of the line [pos, end); if inOver is set, that is the
// end of a line that began in earlier buffers.
func (f *LineFramer) line(dst []record.Frame, buf []byte, pos, end, next int) []record.Frame {
	over := f.inOver
	if f.skipBlank && (!over || f.overBlank) && isBlank(buf[pos:end]) {
		f.inOver = false
		f.blank++
		return dst
	}
	f.inOver = false
	if end > pos && buf[end-1] == '\r' {
		end--
	}
	if over || end-pos > f.limit {
		return append(dst, record.Frame{Start: next, End: next, Next: next, Oversize: true})
	}
	return append(dst, record.Frame{Start: pos, End: end, Next: next})
}

// isBlank reports whether b is empty or only space, tab and CR. Records begin
// with another byte, so it costs one comparison for each of them.
func isBlank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
