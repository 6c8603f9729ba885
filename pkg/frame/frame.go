// Package frame cuts a byte stream into records.
//
// Framing is pure: what comes out depends on the bytes alone, never on how
// they were chunked. Framers work in place: the caller owns one buffer, fills
// it, and gets views of it.
package frame

import "github.com/spate-go/spate/pkg/record"

// Framer finds records in a stream that is handed over buffer by buffer.
type Framer interface {
	// Split appends to dst the records that are complete in buf and returns how
	// many bytes of buf it consumed. The caller passes the rest again, followed
	// by more bytes; Next of every frame is at most that count. final says that
	// no bytes follow buf; then all of it is consumed.
	//
	// A record over the limit becomes one Oversize frame at its end, and the
	// records after it are framed as usual. Split retains no reference to buf;
	// it may overwrite the bytes that it consumes.
	//
	// io.EOF means that no more records follow, although bytes may: a range
	// ends. Any other error is failure.Member with undecodable, comes with the
	// frames before the fault, and ends the object.
	Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error)
	// Reset starts another object at the byte offset at.
	Reset(at int64)
	// Need is the buffer size, in bytes, at which Split always consumes at
	// least one byte: that of the longest allowed record and its delimiter.
	Need() int
	// Blank is the number of blank lines skipped since Reset.
	Blank() int64
}
