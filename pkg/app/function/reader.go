package function

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/reader"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	metaCache  = 5 * time.Second
	backoffMin = 15 * time.Second
	backoffMax = 2 * time.Minute
)

func newReader(ctx context.Context, s setup) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	services, l, f, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := s.env.count(envMemory)
	if err != nil {
		return nil, err
	}
	o := reader.Options{
		Cache: metaCache, BackoffMin: backoffMin, BackoffMax: backoffMax,
		Settling: s.config.Job.SettlingWindow, MemoryMB: int64(memory), Log: s.log, Announced: l,
		Resume: func(ctx context.Context, job string) error {
			_, err := l.Resume(ctx, job, failure.SinkDown)
			return err
		},
		Halted: func(ctx context.Context, u *unit.Unit, h ledger.Halt) {
			// The flag stands; an event that is lost leaves it to who looks.
			if err := services.halted(ctx, u.Job, u.Run, h); err != nil {
				s.log.Error("halt not published", "job", u.Job, "error", err)
			}
		},
	}
	if q := s.config.Feed.SQS; q != nil {
		o.Visibility = q.Visibility
	}
	if o.Settled, err = services.finalize(); err != nil {
		return nil, err
	}
	r, err := app.OpenReading(ctx, s.config, s.pipeline, l, o)
	if err != nil {
		return nil, err
	}
	return f.Handler(r.Handle), nil
}
