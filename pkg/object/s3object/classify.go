package s3object

import (
	"fmt"
	"net/http"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
)

// answered is the verdict on an answer, in a reader's terms where those say more.
func answered(c s3failure.Call, a awsfailure.Answer) awsfailure.Mark {
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
	case kind == awsfailure.Absent && c.Verb == "list":
		return awsfailure.Config("check the bucket's name and the endpoint")
	case kind == awsfailure.Absent: // 405: the pinned version is a delete marker
		return awsfailure.Mark{Scope: failure.Member, Reason: failure.NotFound}
	case kind == awsfailure.Refused:
		return denied(c, a)
	case kind == awsfailure.Elsewhere && a.Region != "":
		return awsfailure.Config(fmt.Sprintf("the bucket is in region %s: set region in its section, or AWS_REGION, to that", a.Region))
	case kind == awsfailure.Elsewhere:
		return awsfailure.Config("the bucket is in another region: set region in its section, or AWS_REGION, to that")
	}
	return a.Mark()
}

// denied is the verdict on a refusal, which may be of a key that is not there.
func denied(c s3failure.Call, a awsfailure.Answer) awsfailure.Mark {
	m := c.Denied(a, "kms:Decrypt", "the KMS key of the object")
	if _, ofKMS := a.KMS(); !ofKMS && c.Verb != "list" {
		m.Hint += fmt.Sprintf("; if that is allowed, the key is missing and S3 hides it: allow s3:ListBucket on %s, then a missing key is told from a denied one", c.BucketARN())
	}
	return m
}
