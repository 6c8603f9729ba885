package frame

import "bytes"

// HeadBytes is how much of an object's beginning Detect and LineByLine look at.
const HeadBytes = 64 << 10

// Shape is a way in which records lie in an object.
type Shape int

// The shapes that Detect tells apart.
const (
	ByLine    Shape = iota // as NDJSON frames them
	InArray                // as JSONArray
	InRecords              // as JSONPath by the key Records
	ByValue                // as JSON
)

// recordsKey is the key that Detect knows; others have to be named.
const recordsKey = "Records"

// Detect tells an object's shape by its first HeadBytes bytes, or by all of it
// where it is shorter. Byte order mark and white space aside, it begins with
//
//	[ and what is no JSON                       ByLine
//	[…] without objects, and then other than [  ByLine
//	[…] without objects, a line feed, and [     ByLine
//	[                                           InArray
//	{ and what is no JSON                       ByLine
//	{ … "Records": [                            InRecords
//	{…} on one line, and a line feed            ByLine
//	{…} on one line, and more or nothing on it  ByValue
//	{…} over several lines                      ByValue
//	{ … and no end in these bytes               ByValue
//	anything else, or nothing                   ByLine
//
// where the first row that fits holds, {…} and […] are whole, and Records is a
// member of the first object itself.
func Detect(head []byte) Shape {
	shape, _ := detect(head)
	return shape
}

// LineByLine reports whether an object that begins with head, of HeadBytes
// bytes, may be cut at line feeds: head holds a whole JSON object on one line,
// the line feed behind it, and the beginning of the next object. Such an object
// is ByLine.
func LineByLine(head []byte) bool {
	_, ok := detect(head)
	return ok
}

// detect also says whether lines are all that could follow.
func detect(head []byte) (_ Shape, lines bool) {
	head = head[:min(len(head), HeadBytes)]
	first := start(true)
	pos, _ := first.skip(head, true)
	w := window{b: head, escape: -1}
	pos = w.space(pos)
	if pos == len(head) {
		return ByLine, false
	}
	switch head[pos] {
	case '[':
		if o := w.array(pos); o.broken || !o.objects && o.end > 0 && w.row(pos, o.end) {
			return ByLine, false
		}
		return InArray, false
	case '{':
		o := w.object(pos)
		switch {
		case o.broken:
			return ByLine, false
		case o.records:
			return InRecords, false
		case !w.line(pos, o.end):
			return ByValue, false
		}
		return ByLine, w.follows(o.end) == '{'
	}
	return ByLine, false
}

// row reports whether the array [pos, end) looks like a line's record, or like
// a bracketed word that begins a line of text.
func (w *window) row(pos, end int) bool {
	c := w.follows(end)
	return c == '[' && w.line(pos, end) || c != '[' && c != 0
}

// line reports whether the value [pos, end) stands on one line with nothing but
// a line feed behind it.
func (w *window) line(pos, end int) bool {
	if end == 0 || bytes.IndexByte(w.b[pos:end], lineFeed) >= 0 {
		return false
	}
	for end < len(w.b) && isBlank(w.b[end:end+1]) {
		end++
	}
	return end < len(w.b) && w.b[end] == lineFeed
}

// follows is the first byte from i on that is not white space, or 0.
func (w *window) follows(i int) byte {
	if i = w.space(i); i < len(w.b) {
		return w.b[i]
	}
	return 0
}

// outline is what Detect wants to know of an object or array.
type outline struct {
	end     int  // 0: it is not there
	broken  bool // it is no JSON
	records bool // a member Records begins as an array
	objects bool // an element is an object
}

// object looks through the members of the object at pos.
func (w *window) object(pos int) (o outline) {
	i := w.space(pos + 1)
	if i < len(w.b) && w.b[i] == '}' {
		return outline{end: i + 1}
	}
	for {
		i = w.member(i, &o)
		if i = w.behind(i, '}', &o); i < 0 {
			return o
		}
	}
}

// array looks through the elements of the array at pos.
func (w *window) array(pos int) (o outline) {
	i := w.space(pos + 1)
	if i < len(w.b) && w.b[i] == ']' {
		return outline{end: i + 1}
	}
	for {
		o.objects = o.objects || i < len(w.b) && w.b[i] == '{'
		i = w.element(i, &o)
		if i = w.behind(i, ']', &o); i < 0 {
			return o
		}
	}
}

// behind returns where the next part begins, when one ended at i: -1 where there
// is none, or none that can be seen.
func (w *window) behind(i int, shut byte, o *outline) int {
	if i < 0 {
		return -1
	}
	if i = w.space(i); i == len(w.b) {
		return -1
	}
	switch w.b[i] {
	case ',':
		return w.space(i + 1)
	case shut:
		o.end = i + 1
	default:
		o.broken = true
	}
	return -1
}

// member returns the end of the member at i, or -1.
func (w *window) member(i int, o *outline) int {
	if i == len(w.b) {
		return -1
	}
	if o.broken = w.b[i] != '"'; o.broken {
		return -1
	}
	end, done := w.str(i + 1)
	at := w.space(end)
	if !done || at == len(w.b) {
		return -1
	}
	if o.broken = w.b[at] != ':'; o.broken {
		return -1
	}
	at = w.space(at + 1)
	if at < len(w.b) && w.b[at] == '[' && sameKey(w.b[i+1:end-1], []byte(recordsKey)) {
		o.records = true
		return -1
	}
	return w.element(at, o)
}

// element returns the end of the value at i, or -1. Of words and numbers it
// wants that they are.
func (w *window) element(i int, o *outline) int {
	if i == len(w.b) {
		return -1
	}
	v := valueOf(w.b[i])
	from := i
	if v.kind != scalarKind {
		from++
	}
	end, done := v.scan(w, from)
	if !done {
		return -1
	}
	if v.kind == scalarKind && (end == i || !isWord(w.b[i:end])) {
		o.broken = true
		return -1
	}
	return end
}
