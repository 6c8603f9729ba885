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
	// many bytes of buf are dealt with. The caller hands the rest over again,
	// followed by more bytes; Next of every frame is at most that count. final
	// says that no bytes follow buf; then all of it is dealt with.
	//
	// A record over the limit comes out as one Oversize frame at its end, and
	// the ones after it are framed as ever. Split holds no reference to buf; it
	// may rewrite the bytes that it deals with.
	//
	// io.EOF means that the records end here although bytes follow: a range
	// ends. Any other error is failure.Member with undecodable, comes after the
	// frames before the fault, and ends the object.
	Split(dst []record.Frame, buf []byte, final bool) ([]record.Frame, int, error)
	// Reset starts another object at the byte offset at.
	Reset(at int64)
	// Need is the buffer size, in bytes, from which Split always deals with at
	// least one byte: a longest record and its delimiter.
	Need() int
	// Blank is the number of blank lines skipped since Reset.
	Blank() int64
}
