package frame

import "bytes"

// DefaultMaxRecord is the size limit of a record, in bytes, where a constructor
// is given 0.
const DefaultMaxRecord = 16 << 20

func limitOr(maxRecord int) int {
	if maxRecord <= 0 {
		return DefaultMaxRecord
	}
	return maxRecord
}

const byteOrderMark = "\xef\xbb\xbf"

// start is true until an object's first bytes were seen: a byte order mark may
// stand there.
type start bool

// skip returns where the object's text begins in buf, or that this cannot be
// told yet.
func (s *start) skip(buf []byte, final bool) (pos int, wait bool) {
	if !*s {
		return 0, false
	}
	if len(buf) < len(byteOrderMark) && !final && string(buf) == byteOrderMark[:len(buf)] {
		return 0, true
	}
	*s = false
	if !bytes.HasPrefix(buf, []byte(byteOrderMark)) {
		return 0, false
	}
	return len(byteOrderMark), false
}
