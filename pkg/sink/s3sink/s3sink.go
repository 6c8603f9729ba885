// Package s3sink writes rows to objects of an S3 bucket, one per block or, with
// partitions, one per block and partition.
//
// An object's key is
//
//	<prefix><partition>/<unit id>-<series>.<segment>-<n>.<extension>
//
// without "<partition>/" if there are none. n is the number of the block's
// part; with partitions it counts them in the order of their first rows, and
// those of the next part begin 10,000 further on, so that no two objects of a
// segment have the same name. Key and bytes depend on the block and the options
// alone (INV-3): a repeated block replaces its own objects with the same bytes,
// so every row is there once, however often its unit is delivered. That holds
// as long as the unit's objects, the options and the chain stay the same: other
// rows in a block may leave behind objects in partitions that none of them
// falls into any more. A unit has the same id in every pipeline that reads it,
// so a prefix belongs to one pipeline.
//
// An object appears whole, at once, and is durable when Write returns; of a
// failed block with partitions some objects may be there already. Nothing is
// left for Commit. A multipart upload that fails is aborted. If the process
// dies during one, or the response to its creation is lost, its parts stay
// until a lifecycle rule of the bucket ends it.
//
// It neither lists nor reads, so it needs only s3:PutObject, and
// s3:AbortMultipartUpload for objects larger than a part. Content-Encoding is
// not set: the object is what its name says, a .gz file, and a client that
// decoded it on the way would pass on something else under that name.
//
// The law: what it writes is never what its pipeline reads (INV-8).
package s3sink

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/s3url"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// API is the part of *s3.Client that this package calls. Its retries are of
// single requests; those of whole blocks are the business of sink.Retry.
type API interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	CreateMultipartUpload(context.Context, *s3.CreateMultipartUploadInput, ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error)
	UploadPart(context.Context, *s3.UploadPartInput, ...func(*s3.Options)) (*s3.UploadPartOutput, error)
	CompleteMultipartUpload(context.Context, *s3.CompleteMultipartUploadInput, ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error)
	AbortMultipartUpload(context.Context, *s3.AbortMultipartUploadInput, ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
}

var (
	_ API       = (*s3.Client)(nil)
	_ sink.Sink = (*Sink)(nil)
)

// Options of a sink. The zero value is usable.
type Options struct {
	Prefix string // every key begins with it, as it is; "" puts objects at the top
	// Extension of the keys, without that of the compression; "" means "ndjson".
	Extension   string
	Compression Compression // "" means None
	// Level of the compression: 1 to 9 for gzip, 1 to 22 for zstd; 0 means the
	// library's default, which favours speed.
	Level int

	// Partition names the partition of a row, which is given without its line
	// feed: levels with slashes between, each a value or name=value. An empty
	// value becomes DefaultPartition, and characters that a key should not hold
	// are escaped as Hive does. An error rejects the block. It may be called
	// concurrently and retains nothing of row. Nil: there are no partitions.
	Partition func(row []byte) (string, error)
	// MaxPartitions bounds the objects of one block, 10,000 at most; a block with
	// more is rejected. 0 means 100.
	MaxPartitions int

	MaxBlock    int64 // bytes of rows in a block, before compression; 0 means 64 MiB
	PartSize    int64 // bytes; a larger object is uploaded in parts of that size, at least 5 MiB; 0 means 64 MiB
	Concurrency int   // requests at once of one Write, 10,000 at most; 0 means 8

	// Timeout bounds a request, its repeats included; 0 means 2 min.
	Timeout time.Duration

	ExpectedBucketOwner string // account id; requests fail if the bucket is another's; "" asks for none
	KMSKey              string // key, id or ARN, that S3 encrypts with; "" leaves it to the bucket

	// Source is what the pipeline reads, if that is a bucket. New refuses a sink
	// inside it, and Write a partition whose objects would be.
	Source s3url.Place
}

// Sink writes objects to one bucket.
type Sink struct {
	api    API
	bucket string
	opt    Options
	avoid  string // the pipeline would read keys that begin with it; "": there are none
	pack   *packing
	owner  *string
}

// New returns a sink. It makes no call.
func New(api API, bucket string, o Options) (*Sink, error) {
	if err := o.check(bucket); err != nil {
		return nil, err
	}
	o.Extension = cmp.Or(o.Extension, "ndjson")
	o.Compression = cmp.Or(o.Compression, None)
	o.MaxPartitions = cmp.Or(o.MaxPartitions, 100)
	o.MaxBlock = cmp.Or(o.MaxBlock, 64<<20)
	o.PartSize = cmp.Or(o.PartSize, 64<<20)
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	pack, err := newPacking(o.Compression, o.Level)
	if err != nil {
		return nil, err
	}
	s := &Sink{api: api, bucket: bucket, opt: o, pack: pack}
	if o.Source.Bucket == bucket {
		s.avoid = o.Source.Prefix
	}
	if o.ExpectedBucketOwner != "" {
		s.owner = aws.String(o.ExpectedBucketOwner)
	}
	return s, nil
}

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, b *sink.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	objects, err := s.objects(b)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opt.Concurrency)
	for _, o := range objects {
		g.Go(func() error { return s.store(ctx, o) })
	}
	return g.Wait()
}

func (s *Sink) store(ctx context.Context, o object) error {
	if err := ctx.Err(); err != nil {
		return err // another object of the block failed
	}
	data, done := s.pack.pack(o.rows)
	defer done()
	if int64(len(data)) > s.opt.PartSize {
		return s.upload(ctx, o.key, data)
	}
	return s.put(ctx, o.key, data)
}

// Commit implements sink.Sink: what was written shows already.
func (s *Sink) Commit(ctx context.Context, _ unit.ID, _ int) error { return ctx.Err() }

// Limits implements sink.Sink.
func (s *Sink) Limits() sink.Limits { return sink.Limits{Bytes: s.opt.MaxBlock} }

// Close implements sink.Sink. The client is its owner's to close.
func (s *Sink) Close() error { return nil }
