package lister

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/unit"
)

// headsAtOnce bounds the requests for heads, and the heads in memory.
const headsAtOnce = 16

// plain reports whether the content is text as it stands.
func plain(head []byte) bool {
	c, err := codec.Sniff(head)
	return err == nil && c == codec.Plain
}

// cuts returns, for each object, how it is cut; nil: it is not.
func (l *Lister) cuts(ctx context.Context, objects []object.Listed) ([]*plan.Cut, error) {
	cuts := make([]*plan.Cut, len(objects))
	if l.opts.Cut == nil {
		return cuts, nil
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(headsAtOnce)
	for i, o := range objects {
		if !l.candidate(o) {
			continue
		}
		g.Go(func() error {
			ok, err := l.cuttable(gctx, o.Object)
			if ok {
				cuts[i] = l.opts.Cut
			}
			return err
		})
	}
	return cuts, g.Wait()
}

// candidate reports whether o would be cut if its content allowed it. What must
// be restored first cannot be looked at: the reader finds it, whole.
func (l *Lister) candidate(o object.Listed) bool {
	return o.Size > plan.Target(l.opts.Target) && o.ETag != "" && !o.Archived &&
		l.opts.Filter.Select(o.Object, o.Archived) == plan.Take
}

// cuttable looks at the beginning of o. An object that cannot be read is not
// cut: the reader meets the same fault, and its report is where it belongs. But
// a fault that passes must not decide what the units are (INV-3).
func (l *Lister) cuttable(ctx context.Context, o unit.Object) (bool, error) {
	head, err := l.head(ctx, o)
	switch {
	case err == nil:
		return l.opts.Cuttable(head), nil
	case ctx.Err() != nil, failure.Is(err, failure.Job), errors.Is(err, object.ErrNoAnswer):
		return false, fmt.Errorf("look at %q: %w", o.Key, err)
	}
	return false, nil
}

func (l *Lister) head(ctx context.Context, o unit.Object) ([]byte, error) {
	head := make([]byte, min(l.opts.Head, o.Size))
	in := object.NewReader(ctx, l.bucket, []object.Part{{Object: o, End: int64(len(head))}}, object.Options{})
	err := in.Next()
	if err == nil {
		_, err = io.ReadFull(in, head)
	}
	if cerr := in.Close(); err == nil { // where o changed meanwhile, head is of no version
		err = cerr
	}
	return head, err
}
