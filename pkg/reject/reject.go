// Package reject is the line of a rejects file: a record that a pipeline
// refused, where it came from and why. Append writes one, Content finds the
// record in one again, so that a file of them can be repaired and read like any
// other.
//
// It keeps no files and decides nothing about records.
//
// The law: Content gives back, byte for byte, the record that Append was given,
// also after the line went through a program that reads JSON and writes it
// otherwise. The record is never longer than the text that stands for it.
package reject

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
)

// Line is a refused record.
type Line struct {
	Key, ETag, Version string // of the object that it came from
	Record             int64  // index within the object or range
	Offset             int64  // of its first byte in the decoded object; -1: not known
	Reason             failure.Reason
	Detail             string
	// Bytes are the record as it was framed, or of one that a sink refused the row
	// as a person reads it; nil: they are gone, as those of a record over the
	// limit are.
	Bytes []byte
}

// MaxGrowth bounds what Append makes of Bytes: no more than this many bytes of
// text for each of them.
const MaxGrowth = 2

// maxDetail bounds the text of an error in a line, in bytes: it may quote the
// record, and the line holds that once already.
const maxDetail = 1 << 10

// Detail is the text of an error, cut to what a line should hold of it.
func Detail(text string) string { return failure.Excerpt(text, maxDetail) }

// Append appends l as one line of JSON, line feed included. Bytes stand as a
// string where they are UTF-8 and a string of them is no longer than MaxGrowth
// allows, else as base64.
func Append(dst []byte, l Line) []byte {
	dst = appendString(append(dst, `{"key":`...), l.Key)
	dst = appendString(append(dst, `,"etag":`...), l.ETag)
	dst = appendString(append(dst, `,"version":`...), l.Version)
	dst = strconv.AppendInt(append(dst, `,"record":`...), l.Record, 10)
	if l.Offset >= 0 {
		dst = strconv.AppendInt(append(dst, `,"offset":`...), l.Offset, 10)
	}
	dst = appendString(append(dst, `,"reason":`...), string(l.Reason))
	dst = appendString(append(dst, `,"detail":`...), l.Detail)
	if l.Bytes != nil {
		dst = appendBytes(dst, l.Bytes)
	}
	return append(dst, "}\n"...)
}

func appendBytes(dst, b []byte) []byte {
	if utf8.Valid(b) {
		before := len(dst)
		dst = appendEscaped(append(dst, `,"bytes":"`...), b)
		if len(dst)-before <= MaxGrowth*len(b)+len(`,"bytes":"`) {
			return append(dst, '"')
		}
		dst = dst[:before]
	}
	dst = append(dst, `,"bytes_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}

// appendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if utf8.ValidString(s) {
		dst = appendEscaped(dst, s)
	} else {
		dst = appendEscaped(dst, string([]rune(s)))
	}
	return append(dst, '"')
}

// appendEscaped appends s with as few escapes as JSON allows.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		from = i + 1
		switch c {
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		case '"', '\\':
			dst = append(dst, c)
		default:
			dst = append(dst, 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(dst, s[from:]...)
}
