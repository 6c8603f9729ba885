package s3object_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// headed answers HeadObject.
type headed struct {
	asked *s3.HeadObjectInput
	out   *s3.HeadObjectOutput
	err   error
}

func (h *headed) HeadObject(_ context.Context, in *s3.HeadObjectInput, _ ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	h.asked = in
	return h.out, h.err
}

func TestHeadSaysWhatAListingDoesNot(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	h := &headed{out: &s3.HeadObjectOutput{
		ContentLength: aws.Int64(7), ETag: aws.String("abc"), VersionId: aws.String("v1"), LastModified: &at,
		ContentType: aws.String("text/plain"), ContentEncoding: aws.String("gzip"), StorageClass: types.StorageClassGlacier,
	}}
	got, err := s3object.Head(t.Context(), h, "b", "k", s3object.Options{RequestPayer: true, ExpectedBucketOwner: "1"})
	if err != nil {
		t.Fatal(err)
	}
	want := s3object.Header{
		Object:      unit.Object{Key: "k", Size: 7, ETag: `"abc"`, Version: "v1", LastModified: at},
		ContentType: "text/plain", ContentEncoding: "gzip", StorageClass: "GLACIER",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if h.asked.RequestPayer != types.RequestPayerRequester || aws.ToString(h.asked.ExpectedBucketOwner) != "1" {
		t.Errorf("asked %+v", h.asked)
	}
}

func TestHeadAsksForNoKeyThatS3CannotHave(t *testing.T) {
	h := &headed{}
	_, err := s3object.Head(t.Context(), h, "b", "", s3object.Options{})
	if _, reason := failure.Of(err); reason != failure.InvalidKey || h.asked != nil {
		t.Errorf("%v, asked %v", err, h.asked)
	}
}
