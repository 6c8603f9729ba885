package s3sink

import (
	"strings"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/s3url"
)

const (
	maxKeyBytes   = 1024 // S3's
	minPartSize   = 5 << 20
	maxPartSize   = 5 << 30 // of one request
	maxPartitions = 10_000  // so far apart are the numbers of a segment's parts
)

// Outside refuses a sink whose every object the source would list or be
// notified of: the pipeline would feed itself (INV-8). Prefixes are compared as
// S3 does, byte by byte, so a source "in" contains a sink "in-2/".
//
// A source inside the sink, such as one in a sink's whole bucket, is allowed:
// objects are named by unit, and none of them lies in the source unless a
// partition has its name. That shows only when such a partition comes up, and a
// sink that knows its Options.Source refuses it then. Two names of one bucket,
// such as an access point's, count as two buckets.
func Outside(sink, source s3url.Place) error {
	if sink.Bucket != source.Bucket || !strings.HasPrefix(sink.Prefix, source.Prefix) {
		return nil
	}
	return failure.Errorf(failure.Job, failure.Config,
		"%s lies inside the source %s, and what is written would be read again: write elsewhere", sink, source)
}

func (o *Options) check(bucket string) error {
	wrong := func(format string, args ...any) error {
		return failure.Errorf(failure.Job, failure.Config, "write to s3://"+bucket+"/: "+format, args...)
	}
	switch {
	case bucket == "":
		return wrong("the bucket has no name")
	case !utf8.ValidString(o.Prefix) || len(o.Prefix) > maxKeyBytes/2:
		return wrong("the prefix %.80q is not UTF-8 of at most %d bytes", o.Prefix, maxKeyBytes/2)
	case o.MaxPartitions < 0 || o.MaxPartitions > maxPartitions:
		return wrong("a block cannot have %d partitions: want 1 to %d", o.MaxPartitions, maxPartitions)
	case o.Concurrency < 0 || o.Concurrency > maxPartitions:
		return wrong("cannot make %d requests at once: want 1 to %d", o.Concurrency, maxPartitions)
	case o.PartSize != 0 && (o.PartSize < minPartSize || o.PartSize > maxPartSize):
		return wrong("parts cannot have %d bytes: S3 takes %d to %d", o.PartSize, minPartSize, int64(maxPartSize))
	case o.MaxBlock < 0 || o.Timeout < 0:
		return wrong("neither blocks nor timeouts are bounded by less than 0")
	}
	if err := o.Compression.check(o.Level); err != nil {
		return wrong("%w", err)
	}
	return Outside(s3url.Place{Bucket: bucket, Prefix: o.Prefix}, o.Source)
}
