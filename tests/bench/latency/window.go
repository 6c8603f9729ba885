package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// gatherer stands for the mapping from the intake's queue to the intake, where the
// endpoint's own knows no batching window. From the first message on it gathers
// for the window, then it calls the intake with all of them.
type gatherer struct {
	functions *lambda.Client
	queues    *sqs.Client
	function  string
	queue     string // URL
	window    time.Duration
}

const mostGathered = 1000

// gather turns the endpoint's mapping off and returns one that knows windows.
func (b *bench) gather(ctx context.Context, queue string, window time.Duration) (*gatherer, error) {
	g := &gatherer{
		functions: lambda.NewFromConfig(b.config), queues: sqs.NewFromConfig(b.config),
		function: b.name + "-intake", queue: queue, window: window,
	}
	all, err := g.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: &g.function})
	if err != nil {
		return nil, err
	}
	for _, m := range all.EventSourceMappings {
		off := lambda.UpdateEventSourceMappingInput{UUID: m.UUID, Enabled: aws.Bool(false)}
		if _, err := g.functions.UpdateEventSourceMapping(ctx, &off); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// run polls until ctx ends.
func (g *gatherer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		ms, err := g.batch(ctx)
		if err == nil && len(ms) > 0 {
			err = g.call(ctx, ms)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (g *gatherer) batch(ctx context.Context) ([]types.Message, error) {
	var (
		ms  []types.Message
		end time.Time // zero: nothing has come
	)
	for len(ms) < mostGathered && (end.IsZero() || time.Now().Before(end)) {
		out, err := g.queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &g.queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 60,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
		})
		if err != nil {
			return nil, err
		}
		if len(out.Messages) > 0 && end.IsZero() {
			end = time.Now().Add(g.window)
		}
		ms = append(ms, out.Messages...)
	}
	return ms, nil
}

// call has the intake handle messages, and deletes those that did not fail.
func (g *gatherer) call(ctx context.Context, ms []types.Message) error {
	var event events.SQSEvent
	for _, m := range ms {
		event.Records = append(event.Records, events.SQSMessage{MessageId: *m.MessageId, Body: *m.Body, Attributes: m.Attributes})
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return err
	}
	out, err := g.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &g.function, Payload: payload})
	if err != nil {
		return err
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal(out.Payload, &answer); err != nil || out.FunctionError != nil || len(answer.BatchItemFailures) > 0 {
		return fmt.Errorf("the intake answers %.300s", out.Payload)
	}
	for some := range slices.Chunk(ms, 10) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &g.queue}
		for _, m := range some {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
		}
		if _, err := g.queues.DeleteMessageBatch(ctx, in); err != nil {
			return err
		}
	}
	return nil
}
