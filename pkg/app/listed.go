package app

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spate-go/spate/pkg/object"
)

// lineInterval is how often a command that lists says how far it is.
const lineInterval = 10 * time.Second

// listed is a bucket that counts the keys listed from it.
type listed struct {
	object.Bucket
	keys atomic.Int64
}

func watch(b object.Bucket) *listed { return &listed{Bucket: b} }

func (l *listed) List(ctx context.Context, after string) (object.Page, error) {
	p, err := l.Bucket.List(ctx, after)
	l.keys.Add(int64(len(p.Objects)))
	return p, err
}

// tell writes a line now and then, until stop is called.
func (l *listed) tell(w io.Writer, every time.Duration) (stop func()) {
	began, quit, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				// An output that takes nothing is no reason to stop listing.
				_, _ = fmt.Fprintf(w, "listed %s objects in %v\n", humanize.Comma(l.keys.Load()), time.Since(began).Round(time.Second))
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}
