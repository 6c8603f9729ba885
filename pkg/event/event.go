// Package event decodes S3's event notifications, whether they come directly,
// through SNS or through EventBridge.
//
// It is pure, and does not decide what is wanted: buckets, prefixes and
// duplicates are the caller's business.
//
// The law: every record of a body comes back once, in order, as exactly one of
// an object that was created, something to ignore, or bad, with the reason; a
// bad record affects no other. A key comes back as the object is named: S3
// encodes keys like form values, within SNS too, and EventBridge does not, so
// they are decoded once or not at all.
package event

import (
	"time"

	"github.com/spate-go/spate/pkg/failure"
)

// Bounds of what is read.
const (
	MaxBytes   = 1 << 20 // of a body: a queue's longest message
	MaxRecords = 10_000  // of a body: far more than S3 puts into one
	maxName    = 1024    // bytes of a key, an ETag or a version id
)

// Record is what a notification says of one object.
type Record struct {
	Name      string // of the event, as ObjectCreated:Put or Object Created
	Bucket    string
	Key       string
	Size      int64  // bytes; -1 if the event does not say
	ETag      string // with its quotes; "" if the event does not say
	Version   string // version id; "" in a bucket without versioning
	Sequencer string // see CompareSequencers
	Time      time.Time

	// Ignored is why there is nothing to read, Test or NotCreated; "" for an
	// object that was created. If set, only Name, Bucket and Time are, as far
	// as the event has them.
	Ignored failure.Reason
	// Err is why the record is bad.
	Err error

	raw    []byte // as it came
	single bool   // raw is a whole body
}

// Body is a notification that holds this record alone.
func (r *Record) Body() []byte {
	if r.single {
		return r.raw
	}
	b := make([]byte, 0, len(r.raw)+16)
	b = append(b, `{"Records":[`...)
	b = append(b, r.raw...)
	return append(b, ']', '}')
}

// CompareSequencers orders two events of one key: the later one has the greater
// sequencer. Sequencers are hexadecimal numbers of various lengths; the shorter
// one is padded with zeros on its right. Those of different keys cannot be
// compared, and an event without one counts as the earliest.
func CompareSequencers(a, b string) int {
	for i := range max(len(a), len(b)) {
		x, y := digit(a, i), digit(b, i)
		if x != y {
			return int(x) - int(y)
		}
	}
	return 0
}

// digit is the upper-case digit at i.
func digit(s string, i int) byte {
	switch {
	case i >= len(s):
		return '0'
	case 'a' <= s[i] && s[i] <= 'f':
		return s[i] - 'a' + 'A'
	}
	return s[i]
}
