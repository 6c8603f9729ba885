package function

import (
	"context"

	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/intake"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
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
	o.Take = s.take(ctx, l, f)
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

// take is what brings keys that are to be looked at again into units. A pipeline
// whose source cannot be announced, as a directory or one in Go that looks at no
// single object, has listed jobs only: that is said where there is such a key, and
// keeps no job from its end.
func (s *setup) take(ctx context.Context, l ledger.Intaker, f feed.Sender) func(context.Context, ledger.Meta, []unit.Object) ([]error, error) {
	source, err := app.OpenAnnounced(ctx, s.config, s.pipeline)
	if err != nil {
		return func(context.Context, ledger.Meta, []unit.Object) ([]error, error) { return nil, err }
	}
	return again(source.Intake(l, f, intake.Options{Log: s.log}))
}
