// Package s3failure is for the drivers of S3: it says what a call was about and
// what a policy has to allow for it. What an answer means to a job, each driver
// says in a Table of its own.
package s3failure

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// Call is what an error is about.
type Call struct {
	Verb, Action string // "get", "s3:GetObject"
	Bucket, Key  string // Key: for a listing, the prefix
}

func (c Call) String() string { return fmt.Sprintf("%s %q", c.Verb, "s3://"+c.Bucket+"/"+c.Key) }

// Table is a driver's own verdict on an error response to a call. Where it has
// none, it defers to [awsfailure.Answer.Mark].
type Table func(Call, awsfailure.Answer) awsfailure.Mark

// Classify marks err, which c failed with, as [awsfailure.Classify] does.
func (c Call) Classify(ctx context.Context, err error, table Table) error {
	return awsfailure.Classify(ctx, err, c.String(), func(a awsfailure.Answer) awsfailure.Mark { return table(c, a) })
}

// Denied is the verdict on a refusal. If it is about a KMS key, the actions of
// KMS are missing, on the key that the answer names or else on what key says.
func (c Call) Denied(a awsfailure.Answer, actions, key string) awsfailure.Mark {
	if arn, ok := a.KMS(); ok {
		return awsfailure.Denied("allow " + actions + " on " + cmp.Or(arn, key))
	}
	return awsfailure.Denied("allow " + c.Action + " on " + c.arn())
}

// arn names what the action has to be allowed on.
func (c Call) arn() string {
	switch bucket := c.BucketARN(); {
	case c.Action == "s3:ListBucket":
		return bucket
	case bucket == c.Bucket:
		return bucket + "/object/" + c.Key
	default:
		return bucket + "/" + c.Key
	}
}

// BucketARN names the bucket, or the access point that stands for it.
func (c Call) BucketARN() string {
	if strings.HasPrefix(c.Bucket, "arn:") {
		return c.Bucket
	}
	return "arn:aws:s3:::" + c.Bucket
}
