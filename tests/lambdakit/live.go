package lambdakit

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/ledger"
)

// Depth counts the messages of a queue, hidden ones too.
func (s *Stack) Depth(ctx context.Context, queue string) (int, error) {
	d, err := sqsfeed.New(s.SQS, queue, sqsfeed.Options{}).Depth(ctx)
	return d.Ready + d.Delayed + d.InFlight, err
}

// Waits says what is still to be done in the first run of a continuous job; ""
// if nothing is. It looks along the way that objects go, so that nothing on
// that way is missed.
func (s *Stack) Waits(ctx context.Context, l ledger.Shared, job string) (string, error) {
	if n, err := s.Depth(ctx, s.Intake); n > 0 || err != nil {
		return fmt.Sprintf("%d notifications", n), err
	}
	if n, err := s.Depth(ctx, s.Feed); n > 0 || err != nil {
		return fmt.Sprintf("%d messages in the feed", n), err
	}
	m, err := l.Meta(ctx, job)
	switch {
	case errors.Is(err, ledger.ErrNoJob):
		return "the job itself", nil
	case err != nil:
		return "", err
	case m.Halt != nil || m.Ask != m.Swept:
		return fmt.Sprintf("halt %+v, sends asked for %d, met %d", m.Halt, m.Ask, m.Swept), nil
	}
	var keys []string
	err = l.Keys(ctx, job, func(k ledger.KeyTodo) error {
		keys = append(keys, k.Object.Key)
		return nil
	})
	if len(keys) > 0 || err != nil {
		return fmt.Sprintf("keys to be looked at again, %v", keys), err
	}
	b, err := l.Backlog(ctx, job, 1)
	if b.Open > 0 {
		return fmt.Sprintf("%d open units", b.Open), err
	}
	return "", err
}

// Refusal is a dead letter of the intake.
type Refusal struct{ Body, Reason, Detail string }

// Refusals receives the dead letters that are there, and hides them for ten
// minutes.
func (s *Stack) Refusals(ctx context.Context) (all []Refusal, err error) {
	for {
		out, err := s.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &s.Refused, MaxNumberOfMessages: 10, VisibilityTimeout: 600, MessageAttributeNames: []string{"All"},
		})
		if err != nil || len(out.Messages) == 0 {
			return all, err
		}
		for _, m := range out.Messages {
			said := func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) }
			all = append(all, Refusal{aws.ToString(m.Body), said("spate.reason"), said("spate.detail")})
		}
	}
}
