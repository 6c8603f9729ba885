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

// Mapping hands the messages of a queue to functions, a batch at a time, as an
// event source mapping does that reports partial failures: what a function did
// not fail is deleted, everything else comes back when its visibility ends.
type Mapping struct {
	Client *sqs.Client
	Queue  string
	// Batch is the most messages of an invocation, as far as they are there
	// when it asks; 0: 1. A queue gives at most 10 at a time.
	Batch int32
	// Before, if not nil, is called with the messages before a function is
	// invoked with them.
	Before func(ms []types.Message)
	// Hasten makes a message that a function failed due at once, whatever delay
	// the function asked for.
	Hasten bool
	// Each, if not nil, is called after every invocation.
	Each func(ms []types.Message, o Outcome)
}

// Run polls for f until ctx ends; an invocation that is under way then is
// waited for. Several may run for one queue, each with a function of its own.
func (m *Mapping) Run(ctx context.Context, f *Function) error {
	for ctx.Err() == nil {
		got, err := m.Receive(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			return err
		case len(got) > 0:
			if err := m.Give(context.WithoutCancel(ctx), f, got); err != nil {
				return err
			}
		}
	}
	return nil
}

// Receive takes a batch off the queue, or nothing if there is nothing for a
// second.
func (m *Mapping) Receive(ctx context.Context) ([]types.Message, error) {
	out, err := m.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &m.Queue, MaxNumberOfMessages: max(1, m.Batch), WaitTimeSeconds: 1,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("receive from %s: %w", m.Queue, err)
	}
	return out.Messages, nil
}

// Give invokes f with messages, and deletes those that did not fail.
func (m *Mapping) Give(ctx context.Context, f *Function, ms []types.Message) error {
	var e events.SQSEvent
	for _, message := range ms {
		e.Records = append(e.Records, record(message))
	}
	event, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if m.Before != nil {
		m.Before(ms)
	}
	o, err := f.Invoke(ctx, event)
	if err != nil {
		return err
	}
	if m.Each != nil {
		m.Each(ms, o)
	}
	if !o.OK() {
		return nil
	}
	failed, err := failures(o.Response)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, message := range ms {
		if err := m.settle(ctx, message, failed[aws.ToString(message.MessageId)]); err != nil {
			return err
		}
	}
	return nil
}

// failures are the ids of the messages that a function failed.
func failures(response []byte) (map[string]bool, error) {
	var answer events.SQSEventResponse
	if err := json.Unmarshal(response, &answer); err != nil {
		return nil, fmt.Errorf("answer %q of a function: %w", response, err)
	}
	if answer.BatchItemFailures == nil {
		return nil, errors.New("a function answered without a list of failures, which not every mapping takes for success")
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	return failed, nil
}

// settle deletes a message that did not fail, and makes one that did due at
// once if Hasten is set. One that became due meanwhile is another's by now, or
// a dead letter.
func (m *Mapping) settle(ctx context.Context, message types.Message, failed bool) (err error) {
	switch {
	case !failed:
		_, err = m.Client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &m.Queue, ReceiptHandle: message.ReceiptHandle})
	case m.Hasten:
		_, err = m.Client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &m.Queue, ReceiptHandle: message.ReceiptHandle})
	}
	if _, late := errors.AsType[*types.ReceiptHandleIsInvalid](err); late {
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
