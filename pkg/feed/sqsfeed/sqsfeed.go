// Package sqsfeed is the feed of a job that runs on functions: an SQS standard
// queue whose redrive policy says after how many receives a message is given up.
//
// A function gets its messages from an event source mapping ([Feed.Handler]), a
// long-running process by polling ([Feed.Run]); the rules are the same. The feed is
// not a job's memory: what a queue lost or was purged of is open in the ledger.
//
// The law: a message is deleted, or reported as handled, only after its handler
// acked it. A message that failed is hidden for as long as its error says, and the
// delivery counts as a receive.
package sqsfeed

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/feed"
)

// API is the part of *sqs.Client that this package calls. The client retries
// single requests.
type API interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

var (
	_ API         = (*sqs.Client)(nil)
	_ feed.Sender = (*Feed)(nil)
)

// Options tune a Feed. The zero value is usable.
type Options struct {
	// MaxReceives is the number of deliveries after which the queue gives a
	// message up; 0: it is read once, from the queue's redrive policy.
	MaxReceives   int
	DeadLetterURL string // "": dead letters are not counted

	MaxBatchBytes int // of one send request, attributes included; 0: 1 MiB
	Concurrency   int // requests at a time of one Send; 0: 8

	// Reserve is the time before a function's deadline in which Handler begins no
	// message but the first of an event; 0: 15 s.
	Reserve time.Duration

	Visibility time.Duration // how long Run hides a message that nobody extends; 0: as long as the queue says
	Wait       time.Duration // how long a receive request of Run waits for messages, 20 s at most; 0: 20 s

	Log *slog.Logger // for errors that are not returned; nil: nothing is logged
}

func (o Options) withDefaults() Options {
	o.MaxBatchBytes = cmp.Or(o.MaxBatchBytes, 1<<20)
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	o.Reserve = cmp.Or(o.Reserve, 15*time.Second)
	o.Wait = cmp.Or(o.Wait, 20*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Feed is one queue and its dead letters.
type Feed struct {
	api     API
	url     string
	options Options

	mu       sync.Mutex
	receives int // the queue's own cap; 0: not asked yet
}

// New returns the feed of a queue. It makes no call.
func New(api API, queueURL string, o Options) *Feed {
	return &Feed{api: api, url: queueURL, options: o.withDefaults(), receives: o.MaxReceives}
}
