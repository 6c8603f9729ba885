package s3object

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// call is what an error is about.
type call struct {
	verb, action string // "get", "s3:GetObject"
	bucket, key  string // key: for a listing, the prefix
}

func (c call) String() string { return fmt.Sprintf("%s %q", c.verb, "s3://"+c.bucket+"/"+c.key) }

// arn names what the action needs to be allowed on.
func (c call) arn() string {
	bucket := c.bucketARN()
	switch {
	case c.verb == "list":
		return bucket
	case strings.HasPrefix(c.bucket, "arn:"):
		return bucket + "/object/" + c.key
	}
	return bucket + "/" + c.key
}

func (c call) bucketARN() string {
	if strings.HasPrefix(c.bucket, "arn:") { // an access point
		return c.bucket
	}
	return "arn:aws:s3:::" + c.bucket
}

// classify says what an error of the SDK means for the job. It is the only place
// that does.
func (c call) classify(ctx context.Context, err error) error {
	return awsfailure.Classify(ctx, err, c.String(), c.answered)
}

// answered is the verdict on an answer, in S3's terms where those say more.
func (c call) answered(a awsfailure.Answer) awsfailure.Mark {
	switch a.Code {
	case "NoSuchBucket", "InvalidBucketName":
		return awsfailure.Config("check the bucket's name and account")
	case "InvalidObjectState":
		return awsfailure.Mark{Scope: failure.Member, Reason: failure.Archived, Hint: "restore it first"}
	case "KeyTooLongError", "KeyTooLong":
		return awsfailure.Mark{Scope: failure.Member, Reason: failure.InvalidKey}
	}
	switch a.Status {
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return awsfailure.Mark{Scope: failure.Member, Reason: failure.ETagDrift, Hint: "it was overwritten since it was listed"}
	}
	switch kind := a.Kind(); {
	case kind == awsfailure.Absent && c.verb == "list":
		return awsfailure.Config("check the bucket's name and the endpoint")
	case kind == awsfailure.Absent: // by a 405 the pinned version is a delete marker
		return awsfailure.Mark{Scope: failure.Member, Reason: failure.NotFound}
	case kind == awsfailure.Refused:
		return awsfailure.Denied(c.permission(a))
	case kind == awsfailure.Elsewhere && a.Region != "":
		return awsfailure.Config(fmt.Sprintf("the bucket is in region %s: set source.s3.region: %s", a.Region, a.Region))
	case kind == awsfailure.Elsewhere:
		return awsfailure.Config("the bucket is in another region: set source.s3.region to it")
	}
	return a.Mark()
}

// permission says what a refusal may want.
func (c call) permission(a awsfailure.Answer) string {
	if key, ok := a.KMS(); ok {
		return "allow kms:Decrypt on " + cmp.Or(key, "the KMS key of the object")
	}
	hint := fmt.Sprintf("allow %s on %s", c.action, c.arn())
	if c.verb != "list" {
		hint += fmt.Sprintf("; if that is allowed, the key is missing and S3 hides it: allow s3:ListBucket on %s, then a missing key is told from a denied one", c.bucketARN())
	}
	return hint
}
