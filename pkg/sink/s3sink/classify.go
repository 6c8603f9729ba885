package s3sink

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// call is what an error is about.
type call struct{ verb, bucket, key string }

func (s *Sink) call(verb, key string) call { return call{verb, s.bucket, key} }

func (c call) String() string { return fmt.Sprintf("%s %q", c.verb, "s3://"+c.bucket+"/"+c.key) }

// arn names what s3:PutObject, which all of its steps need, is to be allowed on.
func (c call) arn() string {
	if strings.HasPrefix(c.bucket, "arn:") { // an access point
		return c.bucket + "/object/" + c.key
	}
	return "arn:aws:s3:::" + c.bucket + "/" + c.key
}

// classify says what an error of the SDK means for the job. It is the only place
// that does.
func (c call) classify(ctx context.Context, err error) error {
	return awsfailure.Classify(ctx, err, c.String(), c.answered)
}

// answered is the verdict on an answer, in S3's terms where those say more.
func (c call) answered(a awsfailure.Answer) awsfailure.Mark {
	switch a.Code {
	case "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", // damaged on the way
		"NoSuchUpload": // aborted by somebody else, or completed with the answer lost
		return awsfailure.Again()
	}
	switch kind := a.Kind(); {
	case kind == awsfailure.Absent:
		return awsfailure.Config("check the bucket's name and account, and the endpoint")
	case kind == awsfailure.Refused:
		return awsfailure.Denied(c.permission(a))
	case kind == awsfailure.Elsewhere && a.Region != "":
		return awsfailure.Config(fmt.Sprintf("the bucket is in region %s: set the sink's region to it", a.Region))
	case kind == awsfailure.Elsewhere:
		return awsfailure.Config("the bucket is in another region: set the sink's region to it")
	case kind == awsfailure.Other:
		return awsfailure.Mark{Scope: failure.Unit, Reason: failure.SinkRejected}
	}
	return a.Mark()
}

// permission says what a refusal may want.
func (c call) permission(a awsfailure.Answer) string {
	if key, ok := a.KMS(); ok {
		return "allow kms:GenerateDataKey and, for uploads in parts, kms:Decrypt on " + cmp.Or(key, "the KMS key of the bucket")
	}
	return fmt.Sprintf("allow s3:PutObject on %s", c.arn())
}
