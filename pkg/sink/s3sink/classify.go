package s3sink

import (
	"fmt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
)

// call is what an error is about. All steps of a write need the same permission.
func (s *Sink) call(verb, key string) s3failure.Call {
	return s3failure.Call{Verb: verb, Action: "s3:PutObject", Bucket: s.bucket, Key: key}
}

// answered is the verdict on an answer, in a writer's terms where those say more.
func answered(c s3failure.Call, a awsfailure.Answer) awsfailure.Mark {
	switch a.Code {
	case "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", // damaged on the way
		"NoSuchUpload": // aborted by somebody else, or completed with the answer lost
		return awsfailure.Again()
	}
	switch kind := a.Kind(); {
	case kind == awsfailure.Absent:
		return awsfailure.Config("check the bucket's name and account, and the endpoint")
	case kind == awsfailure.Refused:
		return c.Denied(a, "kms:GenerateDataKey and, for uploads in parts, kms:Decrypt", "the KMS key of the bucket")
	case kind == awsfailure.Elsewhere && a.Region != "":
		return awsfailure.Config(fmt.Sprintf("the bucket is in region %s: set the sink's region to it", a.Region))
	case kind == awsfailure.Elsewhere:
		return awsfailure.Config("the bucket is in another region: set the sink's region to it")
	case kind == awsfailure.Other:
		return awsfailure.Mark{Scope: failure.Unit, Reason: failure.SinkRejected}
	}
	return a.Mark()
}
