package sqsfeed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/feed"
)

const (
	maxEntries   = 10 // of one request
	resendBase   = 100 * time.Millisecond
	resendMax    = 5 * time.Second
	resendsQuiet = 3 // of one batch, before they are worth a line
)

// Send implements [feed.Sender]. A message that SQS would refuse is refused
// before any is sent. A message that was not taken, through no fault of its
// own, is sent again until it is taken or ctx ends.
func (f *Feed) Send(ctx context.Context, ms ...feed.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, m := range ms {
		if err := check(m); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(f.options.Concurrency)
	for len(ms) > 0 {
		n := f.fitting(ms)
		batch := ms[:n]
		ms = ms[n:]
		g.Go(func() error { return f.sendAll(ctx, batch) })
	}
	return g.Wait()
}

// fitting is the number of messages at the front of ms that fit into one
// request. The first always counts: if it is too large, that is for the queue
// to say.
func (f *Feed) fitting(ms []feed.Message) int {
	n, bytes := 0, 0
	for n < min(len(ms), maxEntries) {
		if bytes += size(ms[n]); n > 0 && bytes > f.options.MaxBatchBytes {
			break
		}
		n++
	}
	return n
}

// sendAll sends a batch, and sends again what of it was not taken.
func (f *Feed) sendAll(ctx context.Context, ms []feed.Message) error {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err // another batch failed, or the caller left
		}
		left, why, err := f.sendOnce(ctx, ms)
		switch {
		case err != nil && len(ms) > 1 && tooLong(err): // this endpoint's bound is lower than ours
			if err := f.sendAll(ctx, ms[:len(ms)/2]); err != nil {
				return err
			}
			return f.sendAll(ctx, ms[len(ms)/2:])
		case err != nil || len(left) == 0:
			return err
		}
		ms = left
		if n > resendsQuiet {
			f.options.Log.Warn("queue does not take messages", "queue", f.url, "messages", len(ms), "attempt", n, "answer", why)
		}
		if err := backoff.Wait(ctx, backoff.Delay(resendBase, resendMax, n)); err != nil {
			return fmt.Errorf("send unit %s: %w (last answer: %s)", ms[0].ID, err, why)
		}
	}
}

// sendOnce makes one request and returns the messages that were not taken. Only
// those that the answer names as sent were taken: an answer that names too few
// costs a repeat.
func (f *Feed) sendOnce(ctx context.Context, ms []feed.Message) (left []feed.Message, why string, err error) {
	c := call{"send to", "sqs:SendMessage", f.url}
	in := &sqs.SendMessageBatchInput{QueueUrl: &f.url, Entries: make([]types.SendMessageBatchRequestEntry, len(ms))}
	for i, m := range ms {
		in.Entries[i] = entry(m, i)
	}
	out, err := f.api.SendMessageBatch(ctx, in)
	if err != nil {
		return nil, "", c.classify(ctx, err)
	}
	why = "none about unit " + string(ms[0].ID)
	for _, e := range out.Failed {
		i, err := strconv.Atoi(aws.ToString(e.Id))
		if err != nil || i < 0 || i >= len(ms) {
			continue
		}
		why = fmt.Sprintf("unit %s: %s: %s", ms[i].ID, aws.ToString(e.Code), aws.ToString(e.Message))
		if err := c.refused(e, why); err != nil {
			return nil, "", err
		}
	}
	sent := make([]bool, len(ms))
	for _, e := range out.Successful {
		if i, err := strconv.Atoi(aws.ToString(e.Id)); err == nil && i >= 0 && i < len(ms) {
			sent[i] = true
		}
	}
	for i, m := range ms {
		if !sent[i] {
			left = append(left, m)
		}
	}
	return left, why, nil
}

// refused is the error of an entry that would be refused again; nil for any
// other.
func (c call) refused(e types.BatchResultErrorEntry, why string) error {
	a := awsfailure.Answer{Status: http.StatusBadRequest, Code: aws.ToString(e.Code), Message: aws.ToString(e.Message)}
	if !e.SenderFault || a.Kind() == awsfailure.Transient {
		return nil
	}
	m := c.answered(a)
	if a.Kind() == awsfailure.Other {
		m = awsfailure.Mark{Scope: failure.Unit, Reason: failure.UnsupportedDescriptor}
	}
	return m.Wrap(c.String(), errors.New(why))
}
