package s3object

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// List returns a page of up to 1,000 keys. It goes on by key, not by the
// continuation token of an answer, for a token does not outlive a crash.
func (b *Bucket) List(ctx context.Context, after string) (object.Page, error) {
	c := s3failure.Call{Verb: "list", Action: "s3:ListBucket", Bucket: b.bucket, Key: b.prefix}
	if strings.HasSuffix(b.bucket, "--x-s3") {
		return object.Page{}, failure.Errorf(failure.Job, failure.Config, "%s: a directory bucket lists in no order: copy it to a general purpose bucket", c)
	}
	in := &s3.ListObjectsV2Input{
		Bucket: &b.bucket, RequestPayer: b.opt.payer(), ExpectedBucketOwner: b.opt.owner(),
		EncodingType:             types.EncodingTypeUrl, // XML cannot express most control characters
		OptionalObjectAttributes: []types.OptionalObjectAttributes{types.OptionalObjectAttributesRestoreStatus},
	}
	if b.prefix != "" {
		in.Prefix = &b.prefix
	}
	if after != "" {
		in.StartAfter = &after
	}
	for {
		out, err := b.api.ListObjectsV2(ctx, in, once)
		if err != nil {
			return object.Page{}, c.Classify(ctx, err, answered)
		}
		p, err := page(out, after)
		if err != nil {
			return object.Page{}, failure.Errorf(failure.Job, failure.Config, "%s: %w", c, err)
		}
		// An empty page has no key to continue after, only its token.
		if len(p.Objects) > 0 || !p.More || aws.ToString(out.NextContinuationToken) == "" {
			return p, nil
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// page turns a response into a page. The order is checked, because ids and
// paging rely on it: a store that breaks it would lose keys silently.
func page(out *s3.ListObjectsV2Output, after string) (object.Page, error) {
	p := object.Page{Objects: make([]object.Listed, 0, len(out.Contents)), Last: after, More: aws.ToBool(out.IsTruncated)}
	for i := range out.Contents {
		o := &out.Contents[i]
		key := aws.ToString(o.Key)
		if out.EncodingType == types.EncodingTypeUrl {
			decoded, err := url.QueryUnescape(key)
			if err != nil {
				return object.Page{}, err
			}
			key = decoded
		}
		if key <= p.Last {
			return object.Page{}, fmt.Errorf("the store lists %q after %q: Spate needs a listing in the order of key bytes", key, p.Last)
		}
		p.Last = key
		p.Objects = append(p.Objects, object.Listed{
			Object:   unit.Object{Key: key, Size: aws.ToInt64(o.Size), ETag: quoted(aws.ToString(o.ETag)), LastModified: aws.ToTime(o.LastModified)},
			Archived: archived(o),
		})
	}
	return p, nil
}

// archived reports whether o must be restored before it can be read. GLACIER_IR
// is read at once. An INTELLIGENT_TIERING object shows that it was archived
// only while it is being restored.
func archived(o *types.Object) bool {
	r := o.RestoreStatus
	switch o.StorageClass {
	case types.ObjectStorageClassGlacier, types.ObjectStorageClassDeepArchive:
		return r == nil || aws.ToBool(r.IsRestoreInProgress) || r.RestoreExpiryDate == nil
	case types.ObjectStorageClassIntelligentTiering:
		return r != nil && aws.ToBool(r.IsRestoreInProgress)
	}
	return false
}
