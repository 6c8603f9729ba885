package intake

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/failure"
)

// each calls do for all of vs, n at a time, and waits.
func each[T any](n int, vs []T, do func(T)) {
	if len(vs) == 1 {
		do(vs[0])
		return
	}
	var g errgroup.Group
	g.SetLimit(n)
	for _, v := range vs {
		g.Go(func() error { do(v); return nil })
	}
	_ = g.Wait() // do has no error
}

// stat looks up the objects that were announced without a size or an ETag. S3
// tells both of everything that is created; compatible stores may not.
func (in *Intake) stat(ctx context.Context, ws []*want) {
	var unknown []*want
	for _, w := range ws {
		if w.unknown() {
			unknown = append(unknown, w)
		}
	}
	each(cut.AtOnce, unknown, func(w *want) { in.statOne(ctx, w) })
}

func (in *Intake) statOne(ctx context.Context, w *want) {
	o := w.Object
	p := backoff.Policy{Base: 100 * time.Millisecond, Max: time.Second, Retries: 3}
	err := backoff.Retry(ctx, p, func(err error) bool { return failure.Is(err, failure.Transient) }, func() (err error) {
		o, err = in.bucket.Stat(ctx, w.Key)
		return err
	})
	switch {
	case err != nil:
		w.fail(err)
		return
	case w.ETag == "" && w.Version != "" && w.Version != o.Version:
		w.fail(failure.Errorf(failure.Member, failure.NotFound,
			"object %q: version %s is not the current one, and only that can be looked up: give its size and ETag too", w.Key, w.Version))
		return
	case o.ETag == "":
		w.fail(failure.Errorf(failure.Member, failure.UnparsableEvent,
			"object %q: neither the event nor the store gives an ETag, so its versions cannot be told apart", w.Key))
		return
	}
	w.replaced = w.ETag != "" && w.ETag != o.ETag
	o.Again = w.Again
	w.Object = o
	in.selects(w)
}

// look decides how large objects are cut.
func (in *Intake) look(ctx context.Context, ws []*want) {
	var large []*want
	for _, w := range ws {
		if in.judge.Candidate(w.Object) {
			large = append(large, w)
		}
	}
	each(cut.AtOnce, large, func(w *want) {
		c, err := in.judge.Look(ctx, w.Object)
		if err != nil {
			w.fail(err)
			return
		}
		w.cut = c
	})
}
