package s3failure_test

import (
	"testing"

	"github.com/aws/smithy-go"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
)

// denied is the table of a driver that knows of refusals alone.
func denied(c s3failure.Call, a awsfailure.Answer) awsfailure.Mark {
	if a.Kind() == awsfailure.Refused {
		return c.Denied(a, "kms:Decrypt", "the key of the bucket")
	}
	return a.Mark()
}

func refusal(message string) error {
	return &smithy.GenericAPIError{Code: "AccessDenied", Message: message}
}

func TestADenialSaysWhatToAllowOnWhat(t *testing.T) {
	const (
		point = "arn:aws:s3:us-west-2:111122223333:accesspoint/ap"
		key   = "arn:aws:kms:us-east-1:111122223333:key/1a2b"
	)
	get := s3failure.Call{Verb: "get", Action: "s3:GetObject", Bucket: "b", Key: "a/k"}
	for name, c := range map[string]struct {
		call          s3failure.Call
		message, want string
	}{
		"an object":                  {get, "no", `get "s3://b/a/k": api error AccessDenied: no: allow s3:GetObject on arn:aws:s3:::b/a/k`},
		"a listing":                  {s3failure.Call{Verb: "list", Action: "s3:ListBucket", Bucket: "b", Key: "a/"}, "no", `list "s3://b/a/": api error AccessDenied: no: allow s3:ListBucket on arn:aws:s3:::b`},
		"an object of access point":  {s3failure.Call{Verb: "put", Action: "s3:PutObject", Bucket: point, Key: "k"}, "no", `put "s3://` + point + `/k": api error AccessDenied: no: allow s3:PutObject on ` + point + `/object/k`},
		"a listing of access point":  {s3failure.Call{Verb: "list", Action: "s3:ListBucket", Bucket: point}, "no", `list "s3://` + point + `/": api error AccessDenied: no: allow s3:ListBucket on ` + point},
		"a KMS key":                  {get, "kms:Decrypt on " + key, `get "s3://b/a/k": api error AccessDenied: kms:Decrypt on ` + key + `: allow kms:Decrypt on ` + key},
		"a KMS key that has no name": {get, "the ciphertext", `get "s3://b/a/k": api error AccessDenied: the ciphertext: allow kms:Decrypt on the key of the bucket`},
		"a key that is to be quoted": {s3failure.Call{Verb: "get", Action: "s3:GetObject", Bucket: "b", Key: "a\"\n"}, "no", `get "s3://b/a\"\n": api error AccessDenied: no: allow s3:GetObject on arn:aws:s3:::b/a"` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call.Classify(t.Context(), refusal(c.message), denied)
			if scope, reason := failure.Of(err); scope != failure.Job || reason != failure.Denied || err.Error() != c.want {
				t.Errorf("scope %d, %s:\n%v, want\n%s", scope, reason, err, c.want)
			}
		})
	}
}
