// Package awsfailure classifies errors of the AWS SDK: it holds what S3, SQS,
// DynamoDB and Lambda have in common. What a code means to one service, or to
// one call, that service's driver adds as a Table.
//
// It neither retries a call nor logs one.
//
// The law: only what would fail every unit alike, identity and configuration,
// becomes a Job failure; what may pass by itself is Transient; and anything
// unknown is a Unit failure, so that it goes back to the feed.
package awsfailure

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spate-go/spate/pkg/failure"
)

// NoCredentials is the next step where there are no credentials.
const NoCredentials = "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is attached"

// Mark is the verdict on an error. Hint is what to do next, "" where nothing can
// be said.
type Mark struct {
	Scope  failure.Scope
	Reason failure.Reason
	Hint   string
}

// Again marks what may pass by itself.
func Again() Mark { return Mark{failure.Transient, failure.RetriesExhausted, ""} }

// Unknown marks what is not recognised.
func Unknown() Mark { return Mark{failure.Unit, failure.RetriesExhausted, ""} }

// Denied marks what stops a job for lack of a permission or of credentials.
func Denied(hint string) Mark { return Mark{failure.Job, failure.Denied, hint} }

// Config marks what stops a job for a fault of its configuration.
func Config(hint string) Mark { return Mark{failure.Job, failure.Config, hint} }

// Wrap returns err marked, after call: a verb and what it acts on.
func (m Mark) Wrap(call string, err error) error {
	if m.Hint != "" {
		return failure.Errorf(m.Scope, m.Reason, "%s: %w: %s", call, err, m.Hint)
	}
	return failure.Errorf(m.Scope, m.Reason, "%s: %w", call, err)
}

// Table is a driver's own verdict on an error response. Where it has none, it
// defers to [Answer.Mark].
type Table func(Answer) Mark

// Classify marks err, which call failed with; nil stays nil. A nil table means
// [Answer.Mark]. Once ctx has ended it returns ctx's error, unmarked: a stop is
// nobody's fault.
func Classify(ctx context.Context, err error, call string, table Table) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// Getting credentials makes calls of its own, whose answers are not the service's.
	if strings.Contains(err.Error(), "get identity: ") {
		return identity(err).Wrap(call, err)
	}
	if untrusted(err) {
		return Denied("TLS with the endpoint fails: check its URL and certificate, or set AWS_CA_BUNDLE").Wrap(call, err)
	}
	if a, ok := AnswerOf(err); ok {
		if table == nil {
			table = Answer.Mark
		}
		return table(a).Wrap(call, err)
	}
	return unanswered(err).Wrap(call, err)
}

// unanswered judges a call that no service refused.
func unanswered(err error) Mark {
	if _, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		return Config("")
	}
	if sent(err) {
		return Again()
	}
	if _, ok := errors.AsType[*smithy.OperationError](err); ok { // never sent: no region, or no endpoint that fits
		return Config("check region, credentials, endpoint and the name of what is asked for")
	}
	return Unknown()
}

// sent reports whether err is about a request that left this process, that took
// too long, or whose answer could not be read.
func sent(err error) bool {
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return true
	}
	if strings.Contains(err.Error(), "checksum validation failed") { // SQS, about a successful response
		return true
	}
	_, ok := errors.AsType[net.Error](err) // a failed name lookup is one, and so is a timeout
	return ok
}

// lasting matches the alerts of a peer that would repeat them at the next try.
// Others, such as that of a damaged record, may pass.
var lasting = regexp.MustCompile("remote error: tls: .*(certificate|protocol version|handshake failure)")

// untrusted reports whether TLS failed in a way that lasts.
func untrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	return lasting.MatchString(err.Error()) || errors.Is(err, http.ErrSchemeMismatch)
}

// identity judges the lack of credentials.
func identity(err error) Mark {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok && (re.HTTPStatusCode() == http.StatusUnauthorized || re.HTTPStatusCode() == http.StatusForbidden) {
		return Denied("the role that gives the credentials refuses them")
	}
	for _, none := range []string{"no EC2 IMDS role found", "static credentials are empty"} {
		if strings.Contains(err.Error(), none) {
			return Config(NoCredentials)
		}
	}
	return Again()
}
