package awsfailure

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Answer is a service's error response.
type Answer struct {
	Status  int    // of HTTP; if only the code is known, 400 for the client's fault and 500 for the service's
	Code    string // without the prefix that SQS gives it; "" if there is none
	Message string
	Region  string // of the bucket, as S3 says; "" otherwise
}

// AnswerOf returns the error response that err is about, if there was one. An
// error with a success status is not: the response broke off on its way.
func AnswerOf(err error) (Answer, bool) {
	var a Answer
	api, coded := errors.AsType[smithy.APIError](err)
	if coded {
		a.Code, a.Message = strings.TrimPrefix(api.ErrorCode(), "AWS.SimpleQueueService."), api.ErrorMessage()
		a.Status = http.StatusBadRequest
		if api.ErrorFault() == smithy.FaultServer {
			a.Status = http.StatusInternalServerError
		}
	}
	re, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || re.Response == nil {
		return a, coded && !ok
	}
	a.Status = re.HTTPStatusCode()
	a.Region = re.Response.Header.Get("X-Amz-Bucket-Region")
	if m := expecting.FindStringSubmatch(a.Message); a.Region == "" && m != nil {
		a.Region = m[1]
	}
	return a, a.Status >= http.StatusMultipleChoices
}

var expecting = regexp.MustCompile(`expecting '([a-z0-9-]+)'`)

// Kind is what an error response means, however its service words it.
type Kind int

// The kinds of answers.
const (
	Other        Kind = iota // nothing that services have in common
	Transient                // load, clock skew, an expired token, a fault of the service
	Refused                  // by a policy
	Unidentified             // the credentials are not accepted
	KeyUnusable              // of KMS: disabled, deleted, of another kind
	Absent                   // the bucket, queue, table or function; with a bare 404, anything
	Elsewhere                // in another region
)

// Kind goes by the code where it says more than the status.
func (a Answer) Kind() Kind {
	code := strings.TrimSuffix(strings.TrimSuffix(a.Code, "Exception"), "Error")
	if k := byCode(code); k != Other {
		return k
	}
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return Absent
	case http.StatusUnauthorized, http.StatusForbidden:
		return Refused
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		return Elsewhere
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusTemporaryRedirect: // a new bucket, whose name has not spread yet
		return Transient
	}
	if a.Status >= http.StatusInternalServerError {
		return Transient
	}
	return Other
}

// byCode is the kind of a code, given without the Exception or Error that some
// services append.
func byCode(code string) Kind {
	switch code {
	case "ExpiredToken", "TokenRefreshRequired", "RequestExpired", "RequestTimeTooSkewed", "RequestTimeout",
		"SlowDown", "TemporaryRedirect", "Throttling", "Throttled", "RequestThrottled", "ThrottledRequest", "TooManyRequests",
		"RequestLimitExceeded", "ProvisionedThroughputExceeded", "BandwidthLimitExceeded", "LimitExceeded", "OverLimit",
		"KMS.Throttling", "KmsThrottled", "KMSThrottling", "EC2Throttled", "PriorRequestNotComplete",
		"OperationAborted", "ResourceConflict", "ResourceInUse", "TransactionConflict", "TransactionInProgress", "ReplicatedWriteConflict",
		"IncompleteBody", "InternalServer", "Internal", "InternalFailure", "ServiceUnavailable", "Service":
		return Transient
	case "AccessDenied", "UnauthorizedOperation", "NotAuthorized", "Authorization", "OptInRequired",
		"KMSAccessDenied", "KmsAccessDenied", "KMS.AccessDenied":
		return Refused
	case "InvalidToken", "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClient", "SignatureDoesNotMatch", "InvalidSignature",
		"IncompleteSignature", "MissingAuthenticationToken", "InvalidSecurity":
		return Unidentified
	case "NoSuchBucket", "InvalidBucketName", "NonExistentQueue", "QueueDoesNotExist", "QueueDeletedRecently", "ResourceNotFound", "TableNotFound":
		return Absent
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraint":
		return Elsewhere
	}
	if strings.HasPrefix(strings.ToUpper(code), "KMS") {
		return KeyUnusable
	}
	return Other
}

// Mark is the verdict that all services share.
func (a Answer) Mark() Mark {
	switch a.Kind() {
	case Transient:
		return Again()
	case Refused:
		return Denied(a.permission())
	case Unidentified:
		return Denied("the endpoint rejects these credentials")
	case KeyUnusable:
		return Denied("the KMS key cannot be used")
	case Absent:
		return Config("check the name, account and region of what is asked for, and the endpoint")
	case Elsewhere:
		if a.Region == "" {
			return Config("it is in another region")
		}
		return Config("it is in region " + a.Region)
	case Other:
	}
	return Unknown()
}

// How a denial names the action that no policy allows.
var unauthorized = regexp.MustCompile(`not authorized to perform: (\S+)(?: on resource: ["']?([^\s"']+))?`)

// permission says which permission is missing.
func (a Answer) permission() string {
	if key, ok := a.KMS(); ok {
		return "allow the use of " + cmp.Or(key, "the KMS key")
	}
	m := unauthorized.FindStringSubmatch(a.Message)
	switch {
	case m == nil:
		return "check what the role is allowed to do"
	case m[2] == "":
		return "allow " + m[1]
	}
	return "allow " + m[1] + " on " + m[2]
}

// How a service says that it may not use the key: as a policy's decision, or in
// KMS's own words.
var kmsDenied = regexp.MustCompile(`kms:[A-Z]|KMS key|ciphertext`)

var kmsKey = regexp.MustCompile(`arn:aws[a-z-]*:kms:[A-Za-z0-9:/_-]+`)

// KMS reports whether a refusal is about a KMS key, and returns the key's ARN if
// the answer names it.
func (a Answer) KMS() (key string, ok bool) {
	if !kmsDenied.MatchString(a.Message) {
		return "", false
	}
	return kmsKey.FindString(a.Message), true
}
