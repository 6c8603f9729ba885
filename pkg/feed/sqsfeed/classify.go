package sqsfeed

import (
	"context"
	"errors"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// call is what an error is about: what was done to the queue at url, and the
// action that a policy has to allow.
type call struct{ verb, action, url string } // "send to", "sqs:SendMessage"

func (c call) String() string { return c.verb + " queue " + c.url }

// classify says what an error of the SDK means for the job. Nothing else in
// this package does.
func (c call) classify(ctx context.Context, err error) error {
	return awsfailure.Classify(ctx, err, c.String(), c.answered)
}

// answered is the verdict on an answer, in SQS's terms where those say more.
func (c call) answered(a awsfailure.Answer) awsfailure.Mark {
	if stale(a) {
		return awsfailure.Mark{Scope: failure.Unit, Reason: failure.RetriesExhausted, Hint: "the delivery lapsed or was settled: there is nothing to renew any more"}
	}
	_, key := a.KMS()
	switch kind := a.Kind(); {
	case kind == awsfailure.Absent:
		return awsfailure.Config("check the queue's URL and region, and the endpoint")
	case kind == awsfailure.Refused && !key:
		return awsfailure.Denied("allow " + c.action + " on the queue")
	}
	return a.Mark()
}

// stale reports whether a receipt is of a delivery that is over. Services say
// so in several ways, depending on whether the message was deleted, lapsed, or
// was received again.
func stale(a awsfailure.Answer) bool {
	switch a.Code {
	case "ReceiptHandleIsInvalid", "MessageNotInflight":
		return true
	case "InvalidParameterValue":
		return strings.Contains(a.Message, "ReceiptHandle") || strings.Contains(a.Message, "receipt handle")
	}
	return false
}

func isStale(err error) bool {
	a, ok := awsfailure.AnswerOf(err)
	return ok && stale(a)
}

// tooLong reports whether a request held more than the endpoint takes at once.
func tooLong(err error) bool {
	a, ok := awsfailure.AnswerOf(err)
	return ok && a.Code == "BatchRequestTooLong"
}

var errNoRedrive = errors.New("it has no redrive policy, so it never gives a message up: set its maxReceiveCount and dead-letter queue")
