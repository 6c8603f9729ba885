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

// Answer is a service's answer that grants nothing.
type Answer struct {
	Status  int    // of HTTP; 400 or 500, by whose fault it is, where only the code is known
	Code    string // without what SQS and others put before it; "" where the answer has none
	Message string
	Region  string // that S3 says the bucket is in; "" elsewhere
}

// AnswerOf returns the answer that err is about, if there was one. An error under
// a status of success is none: it broke off on the way.
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

// Kind is what an answer says, in whatever words its service has for it.
type Kind int

// The kinds of answers.
const (
	Other        Kind = iota // nothing that services have in common
	Passing                  // load, a clock, an expired token, a fault of theirs
	Refused                  // by a policy
	Unidentified             // the credentials are not taken
	KeyUnusable              // of KMS: disabled, deleted, of another kind
	Absent                   // the bucket, queue, table or function, or by a bare 404 anything
	Elsewhere                // in another region
)

// Kind tells it by the code where that says more than the status.
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
		return Passing
	}
	if a.Status >= http.StatusInternalServerError {
		return Passing
	}
	return Other
}

// byCode tells the kind by a code, which comes without the Exception or Error
// that some services put behind it.
func byCode(code string) Kind {
	switch code {
	case "ExpiredToken", "TokenRefreshRequired", "RequestExpired", "RequestTimeTooSkewed", "RequestTimeout",
		"SlowDown", "TemporaryRedirect", "Throttling", "Throttled", "RequestThrottled", "ThrottledRequest", "TooManyRequests",
		"RequestLimitExceeded", "ProvisionedThroughputExceeded", "BandwidthLimitExceeded", "LimitExceeded", "OverLimit",
		"KMS.Throttling", "KmsThrottled", "KMSThrottling", "EC2Throttled", "PriorRequestNotComplete",
		"OperationAborted", "ResourceConflict", "ResourceInUse", "TransactionConflict", "TransactionInProgress", "ReplicatedWriteConflict",
		"IncompleteBody", "InternalServer", "Internal", "InternalFailure", "ServiceUnavailable", "Service":
		return Passing
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

// Mark is the verdict where a driver has none of its own.
func (a Answer) Mark() Mark {
	switch a.Kind() {
	case Passing:
		return Again()
	case Refused:
		return Denied(a.permission())
	case Unidentified:
		return Denied("the endpoint does not take these credentials")
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

// How a policy's refusal names what it would have had to allow.
var unauthorized = regexp.MustCompile(`not authorized to perform: (\S+)(?: on resource: ["']?([^\s"']+))?`)

// permission says what a refusal wants.
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

// How a service words that it was the key it might not use: as a policy's
// decision, or in KMS's own words.
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
