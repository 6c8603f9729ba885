package s3object

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
	"github.com/spate-go/spate/pkg/unit"
)

// HeadAPI is the part of *s3.Client that Head calls.
type HeadAPI interface {
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
}

// Header is what HEAD returns for an object.
type Header struct {
	unit.Object // with its version id, where the bucket has versions

	ContentType, ContentEncoding string
	StorageClass                 string // "" is STANDARD
}

// Head returns the current version of key, with the version id and metadata
// that a listing lacks.
func Head(ctx context.Context, api HeadAPI, bucket, key string, opt Options) (Header, error) {
	if err := checkKey(key); err != nil {
		return Header{}, err
	}
	out, err := api.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &bucket, Key: &key, RequestPayer: opt.payer(), ExpectedBucketOwner: opt.owner(),
	})
	if err != nil {
		c := s3failure.Call{Verb: "head", Action: "s3:GetObject", Bucket: bucket, Key: key}
		return Header{}, c.Classify(ctx, err, answered)
	}
	return Header{
		Object: unit.Object{
			Key: key, Size: aws.ToInt64(out.ContentLength), ETag: quoted(aws.ToString(out.ETag)),
			Version: aws.ToString(out.VersionId), LastModified: aws.ToTime(out.LastModified),
		},
		ContentType: aws.ToString(out.ContentType), ContentEncoding: aws.ToString(out.ContentEncoding),
		StorageClass: string(out.StorageClass),
	}, nil
}

// Stat is Head, with an empty version id for an object in a bucket without
// versioning.
func (b *Bucket) Stat(ctx context.Context, key string) (unit.Object, error) {
	h, err := Head(ctx, b.api, b.bucket, key, b.opt)
	if h.Version == "null" {
		h.Version = ""
	}
	return h.Object, err
}
