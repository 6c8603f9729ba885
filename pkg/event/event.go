// Package event reads the notifications that S3 sends of its objects, by
// whichever way they came: directly, through SNS or through EventBridge.
//
// It is pure, and no judge of what is wanted: buckets, prefixes and repetitions
// are its callers' matter.
//
// The law: every record of a body comes back, once, in its order, as exactly one
// of three: an object that was created, something to be ignored, or bad, with the
// reason; what is bad of one record spoils no other. A key comes back as the
// object is named: S3 encodes keys as forms do, also within SNS, and EventBridge
// does not, so they are decoded once or not at all.
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
	Size      int64  // bytes; -1 where the event does not tell
	ETag      string // with its quotes; "" where the event does not tell
	Version   string // version id; "" where the bucket keeps none
	Sequencer string // see CompareSequencers
	Time      time.Time

	// Ignored is why nothing is to be read: Test or NotCreated. Then only Name,
	// Bucket and Time are told, as far as the event does. "" for an object that
	// was created.
	Ignored failure.Reason
	// Err is why the record is bad.
	Err error

	raw    []byte // as it came
	single bool   // raw is a body
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
// sequencer. They are hexadecimal numbers of unlike length, the shorter one to be
// filled up with zeros on its right. Those of different keys mean nothing to each
// other, and an event without one is taken for the earliest.
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
