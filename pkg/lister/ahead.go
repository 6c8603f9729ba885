package lister

import (
	"context"
	"iter"
	"sync"

	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
)

// keys is a page of the listing, with how its objects are cut.
type keys struct {
	object.Page
	cuts []*plan.Cut
}

// pages lists the keys after the given one, to the end or to the first error.
// The next page is listed while the one before is worked on, and then waits: at
// most two pages are in memory.
func (l *Lister) pages(ctx context.Context, after string) iter.Seq2[keys, error] {
	return func(yield func(keys, error) bool) {
		type answer struct {
			keys
			err error
		}
		ahead, cancel := context.WithCancel(ctx)
		answers := make(chan answer)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() {
			for more := true; more; {
				k, err := l.page(ahead, after)
				select {
				case answers <- answer{k, err}:
				case <-ahead.Done():
					return
				}
				after, more = k.Last, k.More && err == nil
			}
		})
		for {
			select {
			case a := <-answers:
				if !yield(a.keys, a.err) || a.err != nil || !a.More {
					return
				}
			case <-ctx.Done():
				yield(keys{}, ctx.Err())
				return
			}
		}
	}
}

// page lists one page, and decides how its large objects are cut.
func (l *Lister) page(ctx context.Context, after string) (k keys, err error) {
	err = retry(ctx, transient, func() (err error) {
		k.Page, err = l.bucket.List(ctx, after)
		return err
	})
	if err != nil {
		return k, err
	}
	if k.More && k.Last <= after {
		return k, disorder(after, k.Last)
	}
	k.cuts, err = l.cuts(ctx, k.Objects)
	return k, err
}
