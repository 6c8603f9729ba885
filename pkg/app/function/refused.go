package function

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// Attributes of a refused notification, beside its body.
const (
	reasonAttribute = "spate.reason"
	detailAttribute = "spate.detail"
	queueAttribute  = "spate.queue" // URL of the queue that it was in

	maxDetail = 1 << 10 // bytes
)

// refuse returns what puts a notification that cannot be read among the intake's
// dead letters.
func (s *services) refuse() (func(ctx context.Context, body []byte, r failure.Reason, detail string) error, error) {
	dead, err := s.env.need(envRefused)
	if err != nil {
		return nil, err
	}
	queue, err := s.env.need(envIntake)
	if err != nil {
		return nil, err
	}
	client := sqs.NewFromConfig(s.config)
	return func(ctx context.Context, body []byte, r failure.Reason, detail string) error {
		_, err := client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: &dead, MessageBody: aws.String(string(body)),
			MessageAttributes: map[string]types.MessageAttributeValue{
				reasonAttribute: text(string(r)), detailAttribute: text(detail), queueAttribute: text(queue),
			},
		})
		return awsfailure.Classify(ctx, err, "send to "+dead, nil)
	}, nil
}

// text is a value that SQS takes: it is not empty, and of printed characters.
func text(s string) types.MessageAttributeValue {
	if len(s) > maxDetail {
		s = s[:maxDetail]
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(s + strings.Repeat("-", max(0, 1-len(s))))}
}

// receives is how often the queue has delivered r.
func receives(r events.SQSMessage) int {
	n, err := strconv.Atoi(r.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1 // it says so of each that it delivers
	}
	return n
}
