// Package reject writes and reads the lines of a rejects file: a record that a
// pipeline refused, where it came from and why. Append writes a line, and
// Content finds the record in it again, so that such a file can be repaired and
// read like any other.
//
// It keeps no files and decides nothing about records.
//
// The law: Content gives back, byte for byte, the record that Append was given,
// even after a program has parsed the line and written it as other JSON text.
// The record is never longer than the text that encodes it.
package reject

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/jsontext"
)

// Line is a refused record.
type Line struct {
	Key, ETag, Version string // of the object that it came from
	Record             int64  // index within the object or range
	Offset             int64  // of its first byte in the decoded object; -1: not known
	Reason             failure.Reason
	Detail             string
	// Bytes is the record as framed or, if a sink refused it, its row in
	// readable form; nil: the bytes are gone, as for a record over the limit.
	Bytes []byte
}

// MaxGrowth bounds the text that Append makes of Bytes: at most this many bytes
// for each of them.
const MaxGrowth = 2

// maxDetail bounds the text of an error in a line, in bytes: it may quote the
// record, and the line holds that once already.
const maxDetail = 1 << 10

// Detail is the text of an error, cut to what a line should hold of it.
func Detail(text string) string { return failure.Excerpt(text, maxDetail) }

// Append appends l as one line of JSON, line feed included. Bytes become a
// string if they are UTF-8 and the string stays within MaxGrowth, else base64.
func Append(dst []byte, l Line) []byte {
	dst = jsontext.AppendQuoted(append(dst, `{"key":`...), l.Key)
	dst = jsontext.AppendQuoted(append(dst, `,"etag":`...), l.ETag)
	dst = jsontext.AppendQuoted(append(dst, `,"version":`...), l.Version)
	dst = strconv.AppendInt(append(dst, `,"record":`...), l.Record, 10)
	if l.Offset >= 0 {
		dst = strconv.AppendInt(append(dst, `,"offset":`...), l.Offset, 10)
	}
	dst = jsontext.AppendQuoted(append(dst, `,"reason":`...), string(l.Reason))
	dst = jsontext.AppendQuoted(append(dst, `,"detail":`...), l.Detail)
	if l.Bytes != nil {
		dst = appendBytes(dst, l.Bytes)
	}
	return append(dst, "}\n"...)
}

func appendBytes(dst, b []byte) []byte {
	if utf8.Valid(b) {
		before := len(dst)
		dst = jsontext.AppendQuoted(append(dst, `,"bytes":`...), b)
		if len(dst)-before <= MaxGrowth*len(b)+len(`,"bytes":""`) {
			return dst
		}
		dst = dst[:before]
	}
	dst = append(dst, `,"bytes_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}
