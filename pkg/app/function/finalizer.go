package function

import (
	"context"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/intake"
)

func newFinalizer(ctx context.Context, s setup) (func(context.Context, control.FinalizeRequest) error, error) {
	services, l, f, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	job := s.config.Job
	o := finalizer.Options{Window: job.SettlingWindow, Announce: services.ended, Log: s.log}
	switch n := job.Resends; {
	case n == nil: // as the finalizer does
	case *n == 0:
		o.Resends = -1
	default:
		o.Resends = *n
	}
	if o.List, err = services.list(); err != nil {
		return nil, err
	}
	if o.Reports, err = services.reports(ctx); err != nil {
		return nil, err
	}
	source, err := app.OpenAnnounced(ctx, s.config, s.pipeline)
	if err != nil {
		return nil, err
	}
	o.Take = again(source.Intake(l, f, intake.Options{Log: s.log}))
	o.Empty = func(ctx context.Context) (bool, error) {
		depth, err := f.Depth(ctx)
		return depth.Empty(), err
	}
	shared := finalizer.NewShared(l, f, o)
	return func(ctx context.Context, r control.FinalizeRequest) error {
		if r.Job == "" {
			return shared.Tick(ctx)
		}
		return shared.Triggered(ctx, r.Job)
	}, nil
}
