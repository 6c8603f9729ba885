package s3object

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spate-go/spate/pkg/failure"
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

func (c call) mark(s failure.Scope, r failure.Reason, err error, hint string) error {
	if hint != "" {
		return failure.Errorf(s, r, "%s: %w: %s", c, err, hint)
	}
	return failure.Errorf(s, r, "%s: %w", c, err)
}

// classify says what an error of the SDK means for the job. It is the only place
// that does.
func (c call) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// Getting credentials makes calls of its own, whose answers are not S3's.
	if strings.Contains(err.Error(), "get identity: ") {
		return c.identity(err)
	}
	if untrusted(err) {
		return c.mark(failure.Job, failure.Denied, err, "TLS with the endpoint fails: check its URL and certificate, or set AWS_CA_BUNDLE")
	}
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok && re.Response != nil && re.HTTPStatusCode() >= 300 {
		return c.answered(re, err)
	}
	if _, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		return c.mark(failure.Job, failure.Config, err, "")
	}
	if sent(err) {
		return c.mark(failure.Transient, failure.RetriesExhausted, err, "")
	}
	if _, ok := errors.AsType[*smithy.OperationError](err); ok { // never sent: no region, or no endpoint that fits
		return c.mark(failure.Job, failure.Config, err, "check region, credentials, endpoint and bucket name")
	}
	return c.mark(failure.Unit, failure.RetriesExhausted, err, "")
}

// sent reports whether err is about a request that left this process, or an
// answer that could not be read.
func sent(err error) bool {
	if _, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return true
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}

// lasting are the alerts of a peer that would say the same at the next try. The
// others, like a record that arrived damaged, may pass.
var lasting = regexp.MustCompile("certificate|protocol version|handshake failure")

// untrusted reports whether TLS failed in a way that lasts.
func untrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return lasting.MatchString(op.Error())
	}
	return errors.Is(err, http.ErrSchemeMismatch)
}

// identity classifies the lack of credentials.
func (c call) identity(err error) error {
	text := err.Error()
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok && (re.HTTPStatusCode() == 401 || re.HTTPStatusCode() == 403) {
		return c.mark(failure.Job, failure.Denied, err, "the role that gives the credentials refuses them")
	}
	for _, none := range []string{"no EC2 IMDS role found", "static credentials are empty"} {
		if strings.Contains(text, none) {
			return c.mark(failure.Job, failure.Config, err, noCredentials)
		}
	}
	return c.mark(failure.Transient, failure.RetriesExhausted, err, "")
}

const noCredentials = "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is attached"

// answered classifies an answer of S3 by its code where that says more than the
// status.
func (c call) answered(re *awshttp.ResponseError, err error) error {
	code, message := "", ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code, message = api.ErrorCode(), api.ErrorMessage()
	}
	switch code {
	case "NoSuchBucket", "InvalidBucketName":
		return c.mark(failure.Job, failure.Config, err, "check the bucket's name and account")
	case "InvalidObjectState":
		return c.mark(failure.Member, failure.Archived, err, "restore it first")
	case "KeyTooLongError", "KeyTooLong":
		return c.mark(failure.Member, failure.InvalidKey, err, "")
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired", "RequestTimeTooSkewed", "RequestTimeout",
		"SlowDown", "TemporaryRedirect", "Throttling", "ThrottlingException", "RequestLimitExceeded", "OperationAborted", "IncompleteBody":
		return c.mark(failure.Transient, failure.RetriesExhausted, err, "")
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return c.elsewhere(re, err)
	case "InvalidToken":
		return c.mark(failure.Job, failure.Denied, err, "the session token is not valid")
	}
	if strings.HasPrefix(code, "KMS.") {
		return c.mark(failure.Job, failure.Denied, err, "the object's KMS key cannot be used")
	}
	return c.status(re, err, message)
}

// status classifies an answer by its status.
func (c call) status(re *awshttp.ResponseError, err error, message string) error {
	switch s := re.HTTPStatusCode(); s {
	case http.StatusNotFound, http.StatusMethodNotAllowed: // the latter: the pinned version is a delete marker
		if c.verb == "list" {
			return c.mark(failure.Job, failure.Config, err, "check the bucket's name and the endpoint")
		}
		return c.mark(failure.Member, failure.NotFound, err, "")
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return c.mark(failure.Member, failure.ETagDrift, err, "it was overwritten since it was listed")
	case http.StatusUnauthorized, http.StatusForbidden:
		return c.mark(failure.Job, failure.Denied, err, c.permission(message))
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		return c.elsewhere(re, err)
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusTemporaryRedirect: // a new bucket, whose name has not spread yet
		return c.mark(failure.Transient, failure.RetriesExhausted, err, "")
	default:
		if s >= 500 {
			return c.mark(failure.Transient, failure.RetriesExhausted, err, "")
		}
		return c.mark(failure.Unit, failure.RetriesExhausted, err, "")
	}
}

// How S3 words that it was the key it might not use: as a policy's decision, or
// in KMS's own words.
var kmsDenied = regexp.MustCompile(`kms:[A-Z]|KMS key|ciphertext`)

var kmsKey = regexp.MustCompile(`arn:aws[a-z-]*:kms:[A-Za-z0-9:/_-]+`)

// permission says what a 403 may want.
func (c call) permission(message string) string {
	if kmsDenied.MatchString(message) {
		if key := kmsKey.FindString(message); key != "" {
			return "allow kms:Decrypt on " + key
		}
		return "allow kms:Decrypt on the KMS key of the object"
	}
	hint := fmt.Sprintf("allow %s on %s", c.action, c.arn())
	if c.verb != "list" {
		hint += fmt.Sprintf("; if that is allowed, the key is missing and S3 hides it: allow s3:ListBucket on %s, then a missing key is told from a denied one", c.bucketARN())
	}
	return hint
}

var expecting = regexp.MustCompile(`expecting '([a-z0-9-]+)'`)

// elsewhere names the region that the bucket is in.
func (c call) elsewhere(re *awshttp.ResponseError, err error) error {
	region := re.Response.Header.Get("X-Amz-Bucket-Region")
	if m := expecting.FindStringSubmatch(err.Error()); region == "" && m != nil {
		region = m[1]
	}
	hint := "the bucket is in another region: set source.s3.region to it"
	if region != "" {
		hint = fmt.Sprintf("the bucket is in region %s: set source.s3.region: %s", region, region)
	}
	return c.mark(failure.Job, failure.Config, err, hint)
}
