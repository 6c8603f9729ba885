package sqsfeed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/feed"
)

const (
	maxVisibility = 12 * time.Hour  // SQS's limit, counted from the receive
	settleTimeout = 5 * time.Second // for a call that has to be made even though the context has ended
)

var errGone = errors.New("its goroutine ended")

// deliver hands r to h and reports whether it was acked. A message that was not
// is hidden for its delay, even when h panics or ends its goroutine. Errors
// that h returns, h has logged itself.
func (f *Feed) deliver(ctx context.Context, r received, limit int, h feed.Handler) (acked bool) {
	err, returned := error(nil), false
	defer func() {
		if acked {
			return
		}
		if !returned {
			f.log(r).Error("handler panicked", "error", abandoned(recover()))
		}
		delay := feed.Delay(err)
		if ctx.Err() != nil { // it was interrupted: the next receiver may have it at once
			delay = 0
		}
		f.fail(ctx, r, delay)
	}()
	d := feed.Delivery{Message: r.Message, Receives: r.receives, Cap: limit}
	d.Extend = func(ctx context.Context, t time.Duration) error { return f.hide(ctx, r, t) }
	err = h(ctx, d)
	returned = true
	return err == nil
}

// abandoned is why a handler did not return: p is what it panicked with, nil if
// it ended its goroutine.
func abandoned(p any) error {
	if p == nil {
		return errGone
	}
	return fmt.Errorf("panic: %v\n%s", p, debug.Stack())
}

func (f *Feed) log(r received) *slog.Logger {
	return f.options.Log.With("job", r.Job, "unit", string(r.ID), "message", r.id, "receives", r.receives)
}

// fail makes r due after delay. If the queue cannot be told, it delivers r
// again when its visibility ends.
func (f *Feed) fail(ctx context.Context, r received, delay time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := f.hide(ctx, r, delay); err != nil && !isStale(err) {
		f.log(r).Error("failed delivery keeps its visibility", "error", err)
	}
}

// hide keeps r from being delivered for d from now.
func (f *Feed) hide(ctx context.Context, r received, d time.Duration) error {
	c := call{"change visibility in", "sqs:ChangeMessageVisibility", f.url}
	_, err := f.api.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &f.url, ReceiptHandle: &r.receipt, VisibilityTimeout: seconds(d, maxVisibility),
	})
	if err != nil {
		return fmt.Errorf("unit %s: %w", r.ID, c.classify(ctx, err))
	}
	return nil
}

// seconds rounds up, so that nothing is due too early.
func seconds(d, limit time.Duration) int32 {
	d = max(0, min(d, limit))
	return int32((d + time.Second - 1) / time.Second)
}
