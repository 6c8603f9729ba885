package sqsfeed_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

const (
	feedURL = "https://sqs.eu-west-1.amazonaws.com/111122223333/feed"
	deadURL = feedURL + "-dead"
)

// fakeSQS is a queue and its dead-letter queue, on the process's clock.
type fakeSQS struct {
	limit      int           // maxReceiveCount
	visibility time.Duration // 0: 30 s
	maxBatch   int           // bytes; 0: 1 MiB

	// fault may fail a call: before it is applied, or after it, the answer lost.
	fault func(op string) (before, after error)
	// refuse may fail an entry of a request to send.
	refuse func(e types.SendMessageBatchRequestEntry) *types.BatchResultErrorEntry

	mu       sync.Mutex
	calls    map[string]int
	sends    []*sqs.SendMessageBatchInput // as they came, applied or not
	hidden   []int32                      // arguments of ChangeMessageVisibility
	queued   []*stored
	dead     []*stored
	receipts int
	sending  int
	most     int // requests to send at once
}

type stored struct {
	types.Message
	visible  time.Time
	receives int
}

func (q *fakeSQS) called(ctx context.Context, op string) (after error, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls == nil {
		q.calls = map[string]int{}
	}
	q.calls[op]++
	if q.fault == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	before, after := q.fault(op)
	return after, before
}

func (q *fakeSQS) count(op string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls[op]
}

func code(name string) error { return &smithy.GenericAPIError{Code: name, Message: "a message"} }

func (q *fakeSQS) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	after, err := q.called(ctx, "send")
	q.mu.Lock()
	q.sends = append(q.sends, in)
	q.sending++
	q.most = max(q.most, q.sending)
	q.mu.Unlock()
	time.Sleep(10 * time.Millisecond)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending--
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	if len(in.Entries) < 1 || len(in.Entries) > 10 {
		return nil, code("TooManyEntriesInBatchRequest")
	}
	if requestBytes(in) > cmp.Or(q.maxBatch, 1<<20) {
		return nil, &types.BatchRequestTooLong{}
	}
	out := &sqs.SendMessageBatchOutput{}
	for _, e := range in.Entries {
		if q.refuse != nil {
			if f := q.refuse(e); f != nil {
				f.Id = e.Id
				out.Failed = append(out.Failed, *f)
				continue
			}
		}
		q.put(e)
		out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{Id: e.Id})
	}
	return out, after
}

func (q *fakeSQS) put(e types.SendMessageBatchRequestEntry) {
	q.receipts++
	q.queued = append(q.queued, &stored{visible: time.Now(), Message: types.Message{
		MessageId: aws.String(fmt.Sprint("m", q.receipts)), Body: e.MessageBody, MessageAttributes: e.MessageAttributes,
		Attributes: map[string]string{"MessageGroupId": aws.ToString(e.MessageGroupId)},
	}})
}

func requestBytes(in *sqs.SendMessageBatchInput) (n int) {
	for _, e := range in.Entries {
		n += len(*e.MessageBody)
		for name, v := range e.MessageAttributes {
			n += len(name) + len(*v.DataType) + len(*v.StringValue)
		}
	}
	return n
}

func (q *fakeSQS) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	time.Sleep(20 * time.Millisecond)
	after, err := q.called(ctx, "receive")
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ms := q.take(*in.QueueUrl, in); len(ms) > 0 || !time.Now().Before(end) {
			if after != nil {
				return nil, after
			}
			return &sqs.ReceiveMessageOutput{Messages: ms}, nil
		}
	}
}

func (q *fakeSQS) take(url string, in *sqs.ReceiveMessageInput) (out []types.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, hide := &q.queued, cmp.Or(time.Duration(in.VisibilityTimeout)*time.Second, q.visibility, 30*time.Second)
	if url == deadURL {
		list = &q.dead
	}
	for _, m := range slices.Clone(*list) {
		if m.visible.After(time.Now()) || len(out) == int(in.MaxNumberOfMessages) {
			continue
		}
		if url == feedURL && q.limit > 0 && m.receives >= q.limit {
			*list = slices.DeleteFunc(*list, func(o *stored) bool { return o == m })
			q.dead = append(q.dead, m)
			continue
		}
		m.receives++
		q.receipts++
		m.visible = time.Now().Add(hide)
		m.ReceiptHandle = aws.String(fmt.Sprint("receipt ", q.receipts))
		m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(m.receives)
		c := m.Message
		c.Attributes = map[string]string{}
		for _, name := range in.MessageSystemAttributeNames {
			c.Attributes[string(name)] = m.Attributes[string(name)]
		}
		c.MessageAttributes = map[string]types.MessageAttributeValue{}
		for _, name := range in.MessageAttributeNames {
			if v, ok := m.MessageAttributes[name]; ok {
				c.MessageAttributes[name] = v
			}
		}
		out = append(out, c)
	}
	return out
}

// held is the message that a receipt is of, if its delivery is still on.
func (q *fakeSQS) held(receipt string) *stored {
	for _, m := range q.queued {
		if aws.ToString(m.ReceiptHandle) == receipt && m.visible.After(time.Now()) {
			return m
		}
	}
	return nil
}

func (q *fakeSQS) DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error) {
	after, err := q.called(ctx, "delete")
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.held(*in.ReceiptHandle)
	if m == nil {
		return nil, code("ReceiptHandleIsInvalid")
	}
	q.queued = slices.DeleteFunc(q.queued, func(o *stored) bool { return o == m })
	return &sqs.DeleteMessageOutput{}, after
}

func (q *fakeSQS) ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	after, err := q.called(ctx, "hide")
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() == nil {
		q.hidden = append(q.hidden, in.VisibilityTimeout)
	}
	if err != nil {
		return nil, err
	}
	m := q.held(*in.ReceiptHandle)
	if m == nil {
		return nil, &types.MessageNotInflight{}
	}
	m.visible = time.Now().Add(time.Duration(in.VisibilityTimeout) * time.Second)
	return &sqs.ChangeMessageVisibilityOutput{}, after
}

func (q *fakeSQS) GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	if _, err := q.called(ctx, "attributes"); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.queued
	if *in.QueueUrl == deadURL {
		list = q.dead
	}
	visible := 0
	for _, m := range list {
		if !m.visible.After(time.Now()) {
			visible++
		}
	}
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(len(list) - visible),
		"ApproximateNumberOfMessagesDelayed":    "0",
		"RedrivePolicy":                         fmt.Sprintf(`{"deadLetterTargetArn":"arn","maxReceiveCount":%d}`, q.limit),
	}
	out := &sqs.GetQueueAttributesOutput{Attributes: map[string]string{}}
	for _, name := range in.AttributeNames {
		out.Attributes[string(name)] = all[string(name)]
	}
	return out, nil
}

// event is what a mapping makes of n messages.
func (q *fakeSQS) event(n int) (e events.SQSEvent) {
	ms := q.take(feedURL, &sqs.ReceiveMessageInput{
		MaxNumberOfMessages: int32(n), MessageAttributeNames: []string{"spate-unit", "spate-job", "spate-probe"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"ApproximateReceiveCount", "MessageGroupId"},
	})
	for _, m := range ms {
		r := events.SQSMessage{
			MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
			MessageAttributes: map[string]events.SQSMessageAttribute{},
		}
		for name, v := range m.MessageAttributes {
			r.MessageAttributes[name] = events.SQSMessageAttribute{StringValue: v.StringValue, DataType: *v.DataType}
		}
		e.Records = append(e.Records, r)
	}
	return e
}
