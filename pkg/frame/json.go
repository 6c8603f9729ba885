package frame

import (
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/record"
)

// JSONFramer frames the values in JSON text that is not one value per line:
// JSONArray, JSONPath and JSON say which values. They are framed as written,
// without the white space around them, however many lines they span.
//
// Values are scanned only as far as finding their ends requires, which is
// brackets and strings: a fault inside an object, array or string is for the
// decoder to find, and costs that record alone. A fault between values ends the
// object: text that ends early, a missing comma, bytes after the last value.
// Strings are kept byte for byte, UTF-8 or not; a backslash escapes a quote
// wherever the two stand. Nesting is counted and has no limit. A byte order
// mark at offset 0 is dropped.
type JSONFramer struct {
	limit int
	path  [][]byte // keys to the array
	loose bool     // values follow each other without an array around them

	start start
	base  int64 // offset of the next buffer in the object
	count int64 // values framed

	state state
	level int  // keys of the path that lead to the object at hand
	found bool // the document at hand has the array

	value value
	use   use   // of value
	then  state // after value
	seen  int   // how much of the next buffer was already scanned for value
}

var _ Framer = (*JSONFramer)(nil)

// state is what is expected next.
type state uint8

const (
	document  state = iota // a document, or the end
	element                // a value, or the end of the array
	another                // a value
	separator              // a comma, or the end of the array
	member                 // a key, or the end of the object
	key                    // a key
	colon                  // of a member that the path does not lead through
	skipped                // the value of such a member
	pathColon              // of a member that it leads through
	pathValue              // the value of such a member
	memberEnd              // a comma, or the end of the object
)

// use is what becomes of a value.
type use uint8

const (
	asRecord use = iota
	asOversize
	asNothing
	asKey
	asNull // a word that must be null
)

// JSONArray frames every element of a top-level array, and of the arrays that
// follow it. maxRecord is the limit in bytes; 0 means DefaultMaxRecord.
func JSONArray(maxRecord int) *JSONFramer { return JSONPath(nil, maxRecord) }

// JSONPath frames every element of the array that the keys of path lead to in a
// top-level object, and likewise in each object that follows. Other members are
// skipped. An object without the array is an error; null counts as an empty
// array. An empty path is JSONArray.
func JSONPath(path []string, maxRecord int) *JSONFramer {
	f := &JSONFramer{limit: limitOr(maxRecord)}
	for _, k := range path {
		f.path = append(f.path, []byte(k))
	}
	f.Reset(0)
	return f
}

// JSON frames every value of a sequence, with or without white space between
// them.
func JSON(maxRecord int) *JSONFramer {
	f := &JSONFramer{limit: limitOr(maxRecord), loose: true}
	f.Reset(0)
	return f
}

// Need is the buffer size from which Split always makes progress.
func (f *JSONFramer) Need() int { return max(f.limit, f.longestKey(), len("null")) + lineEnd }

// longestKey is the length beyond which a key as written cannot be one of the
// path's: an escape takes at most six bytes for one.
func (f *JSONFramer) longestKey() int {
	n := 0
	for _, k := range f.path {
		n = max(n, len(k))
	}
	return 6*n + 2
}

// Blank is always 0: JSON has no blank records.
func (f *JSONFramer) Blank() int64 { return 0 }

// Reset starts another object at the byte offset at.
func (f *JSONFramer) Reset(at int64) {
	*f = JSONFramer{limit: f.limit, path: f.path, loose: f.loose, start: at == 0, base: at}
}

// Split appends the records that are complete in buf.
func (f *JSONFramer) Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error) {
	pos, wait := f.start.skip(buf, final)
	if wait {
		return dst, 0, nil
	}
	w := window{b: buf, escape: -1}
	for {
		from := pos + f.seen
		if f.value.kind == 0 {
			dst, pos = f.row(dst, &w, pos)
			if pos = w.space(pos); pos == len(buf) {
				break
			}
			if err := f.step(buf[pos], pos); err != nil {
				return dst, pos, err
			}
			from = pos + 1
			if f.value.kind == 0 {
				pos = from
				continue
			}
			if f.value.kind == scalarKind {
				from = pos
			}
		}
		end, done := f.value.scan(&w, from)
		if !done && !(final && f.loose && f.value.kind == scalarKind) { // only the end ends such a word
			var err error
			if pos, err = f.pause(buf, pos, end); err != nil {
				return dst, pos, err
			}
			break
		}
		f.seen = 0
		var err error
		if dst, err = f.take(dst, buf, pos, end); err != nil {
			return dst, pos, err
		}
		pos = end
	}
	if final {
		return dst, len(buf), f.cut(len(buf))
	}
	f.base += int64(pos)
	return dst, pos, nil
}

// pause suspends a value that continues past buf and was scanned up to seen. It
// returns how much of buf need not be kept.
func (f *JSONFramer) pause(buf []byte, pos, seen int) (int, error) {
	n := len(buf) - pos
	switch {
	case f.use == asRecord && n > f.limit:
		f.use = asOversize
	case f.use == asKey && n > f.longestKey():
		f.use, f.then = asNothing, colon
	case f.use == asNull && n > len("null"):
		return pos, f.want("an array at "+f.trail(), pos)
	}
	if f.use == asOversize || f.use == asNothing {
		f.seen = 0
		return seen, nil
	}
	f.seen = seen - pos
	return pos, nil
}

// take consumes the value [pos, end).
func (f *JSONFramer) take(dst []record.Frame, buf []byte, pos, end int) ([]record.Frame, error) {
	scalar := f.value.kind == scalarKind
	f.value.kind, f.state = 0, f.then
	switch f.use {
	case asOversize:
		dst = f.over(dst, end)
	case asRecord:
		if scalar && f.loose && end-pos <= f.limit && !isWord(buf[pos:end]) {
			return dst, f.want("a value", pos)
		}
		dst = f.record(dst, pos, end)
	case asKey:
		f.state = colon
		if sameKey(buf[pos+1:end-1], f.path[f.level]) {
			f.state = pathColon
		}
	case asNull:
		if string(buf[pos:end]) != "null" {
			return dst, f.want("an array at "+f.trail(), pos)
		}
		f.found = true
	case asNothing:
	}
	return dst, nil
}

// record appends the frame of the record [pos, end).
func (f *JSONFramer) record(dst []record.Frame, pos, end int) []record.Frame {
	if end-pos > f.limit {
		return f.over(dst, end)
	}
	f.count++
	return append(dst, record.Frame{Start: pos, End: end, Next: end})
}

// over appends the frame of a record over the limit, which ends at end.
func (f *JSONFramer) over(dst []record.Frame, end int) []record.Frame {
	f.count++
	return append(dst, record.Frame{Start: end, End: end, Next: end, Oversize: true})
}

// want returns the error of something missing at pos.
func (f *JSONFramer) want(what string, pos int) error {
	return failure.Errorf(failure.Member, failure.Undecodable,
		"frame json: want %s at offset %d, after %s", what, f.base+int64(pos), f.soFar())
}

// cut returns the error of text that ends early, or nil.
func (f *JSONFramer) cut(end int) error {
	if f.state == document && f.value.kind == 0 {
		return nil
	}
	what := "in a value"
	switch {
	case f.loose:
	case len(f.path) == 0:
		what = "in an array"
	default:
		what = "in an object"
	}
	return failure.Errorf(failure.Member, failure.Undecodable,
		"frame json: the text ends early, %s: it is cut at offset %d, after %s", what, f.base+int64(end), f.soFar())
}

func (f *JSONFramer) soFar() string {
	name := "elements"
	if f.loose {
		name = "values"
	}
	return fmt.Sprintf("%d %s", f.count, name)
}

// trail is the path as people write it.
func (f *JSONFramer) trail() string {
	keys := make([]string, len(f.path))
	for i, k := range f.path {
		keys[i] = string(k)
	}
	return strings.Join(keys, ".")
}
