package function

import (
	"context"
	"sync"

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

// take is what brings keys that are to be looked at again into units. The source is
// opened with the first of them: most ticks of most stacks see none. A pipeline
// whose source cannot be announced, as a directory or one in Go that looks at no
// single object, has listed jobs only: that is said where there is such a key, and
// keeps no job from its end.
func (s *setup) take(ctx context.Context, l ledger.Intaker, f feed.Sender) func(context.Context, ledger.Meta, []unit.Object) ([]error, error) {
	open := sync.OnceValues(func() (*intake.Intake, error) {
		source, err := app.OpenAnnounced(ctx, s.config, s.pipeline)
		if err != nil {
			return nil, err
		}
		return source.Intake(l, f, intake.Options{Log: s.log}), nil
	})
	return func(ctx context.Context, m ledger.Meta, objects []unit.Object) ([]error, error) {
		in, err := open()
		if err != nil {
			return nil, err
		}
		return again(ctx, in, m, objects)
	}
}

// again takes objects the way of what is announced, and says of each why it has to
// come again.
func again(ctx context.Context, in *intake.Intake, m ledger.Meta, objects []unit.Object) ([]error, error) {
	became, err := in.Take(ctx, m, objects)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(became))
	for i, b := range became {
		errs[i] = b.Err
	}
	return errs, nil
}
