package lambdakit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Mapping hands the messages of a queue to functions, one a batch, as an event
// source mapping does that reports partial failures: what a function did not
// fail is deleted, everything else comes back when its visibility ends.
type Mapping struct {
	Client *sqs.Client
	Queue  string
	// Before is called with a message before a function is invoked with it; nil:
	// nothing is.
	Before func(m types.Message)
	// Hasten makes a message that a function failed due at once, whatever that
	// asked for.
	Hasten bool
	// Each is told of every invocation; nil: nobody is told.
	Each func(m types.Message, o Outcome)
}

// Run polls for f until ctx ends; an invocation that is under way then is
// waited for. Several may run for one queue, each with a function of its own.
func (m *Mapping) Run(ctx context.Context, f *Function) error {
	for ctx.Err() == nil {
		got, err := m.receive(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, message := range got {
			if err := m.One(context.WithoutCancel(ctx), f, message); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Mapping) receive(ctx context.Context) ([]types.Message, error) {
	out, err := m.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &m.Queue, MaxNumberOfMessages: 1, WaitTimeSeconds: 1,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("receive from %s: %w", m.Queue, err)
	}
	return out.Messages, nil
}

// One invokes f with one message, and deletes it unless it failed.
func (m *Mapping) One(ctx context.Context, f *Function, message types.Message) error {
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{record(message)}})
	if err != nil {
		return err
	}
	if m.Before != nil {
		m.Before(message)
	}
	o, err := f.Invoke(ctx, event)
	if err != nil {
		return err
	}
	if m.Each != nil {
		m.Each(message, o)
	}
	if !o.OK() {
		return nil
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal(o.Response, &answer); err != nil {
		return fmt.Errorf("answer %q of a reader: %w", o.Response, err)
	}
	if answer.BatchItemFailures == nil {
		return errors.New("a reader answered without a list of failures, which not every mapping takes for success")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if len(answer.BatchItemFailures) > 0 {
		if !m.Hasten {
			return nil
		}
		_, err = m.Client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &m.Queue, ReceiptHandle: message.ReceiptHandle})
		if _, taken := errors.AsType[*types.ReceiptHandleIsInvalid](err); taken {
			return nil // it was due, and is another's by now, or a dead letter
		}
		return err
	}
	_, err = m.Client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &m.Queue, ReceiptHandle: message.ReceiptHandle})
	if _, late := errors.AsType[*types.ReceiptHandleIsInvalid](err); late { // of a delivery that lapsed
		return nil
	}
	return err
}

func record(m types.Message) events.SQSMessage {
	r := events.SQSMessage{
		MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
		Attributes: m.Attributes, MessageAttributes: map[string]events.SQSMessageAttribute{},
		EventSource: "aws:sqs", AWSRegion: "us-east-1",
	}
	for name, a := range m.MessageAttributes {
		r.MessageAttributes[name] = events.SQSMessageAttribute{
			DataType: aws.ToString(a.DataType), StringValue: a.StringValue, BinaryValue: a.BinaryValue,
		}
	}
	return r
}
