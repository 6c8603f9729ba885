package jsondecode

import (
	"bytes"
	"unicode/utf8"
	"unsafe"
)

// texts makes the strings of records. They are many and short, so they are cut
// from chunks, each of which is used once: a string stays what it is for as long
// as anybody keeps it.
//
// Where they are borrowed a string is a view of the record or, if it is not
// written as it is meant, of a chunk that the next record takes over.
type texts struct {
	borrow  bool
	chunk   []byte
	strings []string // not given out yet
	all     []string // that strings is the end of
	list    []string // scratch
	scratch []byte
}

// next makes t ready for a record.
func (t *texts) next() {
	if t.borrow {
		clear(t.all[:len(t.all)-len(t.strings)])
		t.chunk, t.strings = t.chunk[:0], t.all
	}
}

const (
	chunkBytes   = 16 << 10
	chunkStrings = 256
)

// text is what a JSON string means.
func (t *texts) text(v written) string {
	raw := v.raw[1 : len(v.raw)-1]
	if !v.plain && (bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw)) {
		t.scratch = appendUnquoted(t.scratch[:0], raw)
		raw = t.scratch
	} else if t.borrow && len(raw) > 0 {
		return unsafe.String(&raw[0], len(raw))
	}
	switch {
	case len(raw) == 0:
		return ""
	case len(raw) > chunkBytes/8:
		return string(raw)
	case len(raw) > cap(t.chunk)-len(t.chunk):
		t.chunk = make([]byte, 0, chunkBytes)
	}
	start := len(t.chunk)
	t.chunk = append(t.chunk, raw...)
	return unsafe.String(&t.chunk[start], len(raw))
}

// slice is n strings that nobody else has.
func (t *texts) slice(n int) []string {
	if n == 0 || n > chunkStrings/8 {
		return make([]string, n)
	}
	if n > len(t.strings) {
		t.all = make([]string, chunkStrings)
		t.strings = t.all
	}
	s := t.strings[:n:n]
	t.strings = t.strings[n:]
	return s
}
