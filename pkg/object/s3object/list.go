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
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// List returns a page of up to 1,000 keys. It goes on by key, not by the
// continuation token of an answer, for a token does not outlive a crash.
func (b *Bucket) List(ctx context.Context, after string) (object.Page, error) {
	c := call{verb: "list", action: "s3:ListBucket", bucket: b.bucket, key: b.prefix}
	if strings.HasSuffix(b.bucket, "--x-s3") {
		return object.Page{}, failure.Errorf(failure.Job, failure.Config, "%s: a directory bucket lists in no order: copy it to a general purpose bucket", c)
	}
	in := &s3.ListObjectsV2Input{
		Bucket: &b.bucket, RequestPayer: b.opt.payer(), ExpectedBucketOwner: b.opt.owner(),
		EncodingType:             types.EncodingTypeUrl, // XML has no way to say most control characters
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
			return object.Page{}, c.classify(ctx, err)
		}
		p, err := page(out, after)
		if err != nil {
			return object.Page{}, failure.Errorf(failure.Job, failure.Config, "%s: %w", c, err)
		}
		// An answer without keys gives none to go on after; its token leads on.
		if len(p.Objects) > 0 || !p.More || aws.ToString(out.NextContinuationToken) == "" {
			return p, nil
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// page turns an answer into a page. Order is checked, for ids and paging rest on
// it: a store that does not keep it would lose keys without a word.
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
// is read at once. An INTELLIGENT_TIERING object shows that it was archived only
// while it is on its way back.
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
