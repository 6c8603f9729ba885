package main

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// recording is calls in the order in which they began. It keeps inputs as they
// were given: what the SDK fills in, as the token of a transaction, is not theirs.
type recording struct {
	mu    sync.Mutex
	calls []call // guarded by mu
}

// call is one call: the input of one of the operations below.
type call struct {
	input any
	unit  bool // it writes a unit's item
}

func (r *recording) add(input any, unit bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call{input, unit})
}

func (r *recording) forget() { r.calls = nil }

// units is how many calls wrote a unit.
func (r *recording) units() (n int) {
	for _, c := range r.calls {
		if c.unit {
			n++
		}
	}
	return n
}

// table records the calls of a ledger.
type table struct {
	*dynamodb.Client
	recording *recording
}

func (t *table) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	t.recording.add(*in, false)
	return t.Client.GetItem(ctx, in, o...)
}

func (t *table) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	sk, ok := in.Key["sk"].(*types.AttributeValueMemberS)
	t.recording.add(*in, ok && strings.HasPrefix(sk.Value, "s3-"))
	return t.Client.UpdateItem(ctx, in, o...)
}

func (t *table) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	t.recording.add(*in, false)
	return t.Client.TransactWriteItems(ctx, in, o...)
}

// queue records the sends of a feed.
type queue struct {
	*sqs.Client
	recording *recording
}

func (q *queue) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, o ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	q.recording.add(*in, false)
	return q.Client.SendMessageBatch(ctx, in, o...)
}
