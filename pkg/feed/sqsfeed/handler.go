package sqsfeed

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/spate-go/spate/pkg/feed"
)

var errNoTime = errors.New("the function's deadline is near")

// Handler returns the handler of a function: it gives h the messages of an
// event, one after another, and reports which of them failed, as an event
// source mapping with ReportBatchItemFailures expects. A unit that goes well
// costs no request to the queue but those of its Extend.
//
// Close to the deadline no further message is begun: those that are left go
// back at once. The first message of an event is begun in any case, or a
// function whose time is shorter than the reserve would never begin one.
func (f *Feed) Handler(h feed.Handler) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		// Not nil: null means success on AWS, and is refused elsewhere.
		failed := []events.SQSBatchItemFailure{}
		limit, err := f.MaxReceives(ctx)
		for i := range e.Records {
			r := fromEvent(&e.Records[i])
			acked := false
			switch {
			case err != nil:
				f.notBegun(ctx, r, unaskedDelay, err)
			case i > 0 && f.late(ctx):
				f.notBegun(ctx, r, 0, errNoTime)
			default:
				acked = f.deliver(ctx, r, limit, h)
			}
			if !acked {
				failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: r.id})
			}
		}
		return events.SQSEventResponse{BatchItemFailures: failed}, nil
	}
}

// unaskedDelay is the delay of a message that could not be handled because the
// queue's redrive policy could not be read.
const unaskedDelay = 30 * time.Second

// notBegun fails a message that was never given to a handler.
func (f *Feed) notBegun(ctx context.Context, r received, delay time.Duration, why error) {
	f.log(r).Warn("delivery not begun", "error", why, "delay", delay)
	f.fail(ctx, r, delay)
}

func (f *Feed) late(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < f.options.Reserve
}
