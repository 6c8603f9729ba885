package frame

import "github.com/spate-go/spate/pkg/record"

// AutoFramer frames an object in the shape that Detect finds. It holds back the
// first HeadBytes bytes until they are all there.
type AutoFramer struct {
	shapes [ByValue + 1]Framer
	as     Framer // one of shapes; nil: not known yet
}

var _ Framer = (*AutoFramer)(nil)

// Auto goes by the first bytes of each object: Detect has the table. maxRecord
// is the limit in bytes; 0 means DefaultMaxRecord.
func Auto(maxRecord int) *AutoFramer {
	return &AutoFramer{shapes: [...]Framer{
		ByLine:    NDJSON(maxRecord),
		InArray:   JSONArray(maxRecord),
		InRecords: JSONPath([]string{recordsKey}, maxRecord),
		ByValue:   JSON(maxRecord),
	}}
}

// Need is the buffer size from which Split always makes progress.
func (f *AutoFramer) Need() int {
	n := HeadBytes
	for _, s := range f.shapes {
		n = max(n, s.Need())
	}
	return n
}

// Blank is the number of blank lines since Reset.
func (f *AutoFramer) Blank() int64 {
	if f.as == nil {
		return 0
	}
	return f.as.Blank()
}

// Reset starts another object at the byte offset at. Past 0 the object can only
// be lines: no other shape can be entered in its middle.
func (f *AutoFramer) Reset(at int64) {
	f.as = nil
	if at > 0 {
		f.as = f.shapes[ByLine]
		f.as.Reset(at)
	}
}

// Split appends the records that are complete in buf.
func (f *AutoFramer) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	if f.as == nil {
		if len(buf) < HeadBytes && !final {
			return dst, 0, nil
		}
		f.as = f.shapes[Detect(buf)]
		f.as.Reset(0)
	}
	return f.as.Split(dst, buf, final)
}
