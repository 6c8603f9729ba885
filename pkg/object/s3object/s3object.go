// Package s3object reads buckets of S3 and compatible stores.
//
// It makes one request per call: windows, read-ahead, resuming and retries are
// the business of object.Reader and the lister. It does not read directory
// buckets (Express One Zone), which list in no order, and it cannot tell from a
// listing that an INTELLIGENT_TIERING object is in an archive tier: reading it
// will.
//
// The law: a body holds the requested range of the pinned version (INV-2):
// every response is checked against its request.
//
// Checksums are not validated: S3 sends none for a range, TLS protects the
// transfer, and size and ETag catch what TLS does not.
package s3object

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
)

// API is the part of *s3.Client that this package calls.
type API interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	HeadAPI
}

// Options of a bucket. The zero value is usable.
type Options struct {
	RequestPayer        bool   // the caller pays for requests and transfer, as such a bucket demands
	ExpectedBucketOwner string // account id; requests fail if the bucket is another's; "" asks for none
}

// Bucket is the objects of one S3 bucket whose keys begin with a prefix.
type Bucket struct {
	api    API
	bucket string
	prefix string
	opt    Options
}

var (
	_ object.Bucket = (*Bucket)(nil)
	_ object.Stater = (*Bucket)(nil)
	_ API           = (*s3.Client)(nil)
)

// New returns the bucket: a name, or the ARN or alias of an access point. The
// prefix bounds List alone. It makes no call.
//
// If api is a *s3.Client, most GETs bypass the SDK, which costs more than a
// small object; a type that wraps one sees every call.
func New(api API, bucket, prefix string, opt Options) *Bucket {
	if c, ok := api.(*s3.Client); ok {
		api = newDirect(c)
	}
	return &Bucket{api: api, bucket: bucket, prefix: prefix, opt: opt}
}

// payer and owner are what every request says of the bucket.
func (o *Options) payer() types.RequestPayer {
	if o.RequestPayer {
		return types.RequestPayerRequester
	}
	return ""
}

func (o *Options) owner() *string {
	if o.ExpectedBucketOwner == "" {
		return nil
	}
	return &o.ExpectedBucketOwner
}

// maxKeyBytes is S3's.
const maxKeyBytes = 1024

// checkKey refuses keys that S3 cannot have; the SDK would complain about its
// own fields instead.
func checkKey(key string) error {
	if key == "" || len(key) > maxKeyBytes || !utf8.ValidString(key) {
		return failure.Errorf(failure.Member, failure.InvalidKey, "get %.100q: a key is 1 to %d bytes of UTF-8, this one is %d bytes", key, maxKeyBytes, len(key))
	}
	return nil
}

// quoted returns an ETag as a listing spells it. Some stores leave the quotes
// out here or there, and an ETag is compared as it is.
func quoted(etag string) string {
	if etag == "" || strings.Contains(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}
