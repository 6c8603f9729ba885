package lister

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
)

// cuts returns how each object is cut; nil: it is not. Objects that the filter
// leaves out are not looked at. Nor are those that must be restored first: the
// reader gets them whole, and says so.
func (l *Lister) cuts(ctx context.Context, objects []object.Listed) ([]*plan.Cut, error) {
	cuts := make([]*plan.Cut, len(objects))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cut.AtOnce)
	for i, o := range objects {
		if !l.judge.Candidate(o.Object) || o.Archived || l.opts.Filter.Select(o.Object, false) != plan.Take {
			continue
		}
		g.Go(func() (err error) {
			cuts[i], err = l.judge.Look(gctx, o.Object)
			return err
		})
	}
	return cuts, g.Wait()
}
