package sqsfeed

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
)

const (
	receiveBase = 200 * time.Millisecond
	receiveMax  = 20 * time.Second
	maxReceive  = 10 // messages of one request
)

// Run polls the queue and delivers messages to h, at most n at a time (0: 1),
// until ctx ends; then it waits for the handlers, which see ctx end, and
// returns the error of ctx. A receive that fails is repeated, unless it would
// fail forever: then its error is returned.
//
// It asks for no more messages than it can begin. A message whose answer was on
// its way when ctx ended is delivered again when its visibility ends.
func (f *Feed) Run(ctx context.Context, n int, h feed.Handler) error {
	limit, err := f.MaxReceives(ctx)
	if err != nil {
		return err
	}
	slots := make(chan struct{}, max(n, 1)) // deliveries at work, and messages asked for
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for failures := 0; ; {
		free, err := take(ctx, slots)
		if err != nil {
			return err
		}
		ms, err := f.receive(ctx, int32(free))
		for range free - len(ms) {
			<-slots
		}
		for i := range ms {
			handlers.Go(func() {
				defer func() { <-slots }()
				if r := fromQueue(&ms[i]); f.deliver(ctx, r, limit, h) {
					f.delete(ctx, r)
				}
			})
		}
		switch {
		case err == nil:
			failures = 0
			continue
		case ctx.Err() != nil || failure.Is(err, failure.Job):
			return err
		}
		failures++
		f.options.Log.Warn("receive failed", "error", err, "in_a_row", failures)
		if err := backoff.Wait(ctx, backoff.Delay(receiveBase, receiveMax, failures)); err != nil {
			return err
		}
	}
}

// take waits for a slot and takes as many more as are free and one request can
// fill.
func take(ctx context.Context, slots chan<- struct{}) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for n = 1; n < maxReceive; n++ {
		select {
		case slots <- struct{}{}:
		default:
			return n, nil
		}
	}
	return n, nil
}

// receive makes one request, for n messages.
func (f *Feed) receive(ctx context.Context, n int32) ([]types.Message, error) {
	c := call{"receive from", "sqs:ReceiveMessage", f.url}
	out, err := f.api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &f.url, MaxNumberOfMessages: n,
		WaitTimeSeconds: seconds(f.options.Wait, 20*time.Second), VisibilityTimeout: seconds(f.options.Visibility, maxVisibility),
		MessageAttributeNames:       []string{attributeUnit, attributeJob, attributeProbe},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{attributeGroup, attributeReceives},
	})
	if err != nil {
		return nil, c.classify(ctx, err)
	}
	return out.Messages[:min(len(out.Messages), int(n))], nil
}

// delete acks r. A message that could not be deleted is delivered again, and
// its unit is found done.
func (f *Feed) delete(ctx context.Context, r received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	c := call{"delete from", "sqs:DeleteMessage", f.url}
	_, err := f.api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &f.url, ReceiptHandle: &r.receipt})
	if err != nil && !isStale(err) {
		f.options.Log.Error("acked message stays", "unit", string(r.ID), "message", r.id, "error", c.classify(ctx, err))
	}
}
