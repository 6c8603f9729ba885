package spatetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/memfeed"
)

// Fate is what happens to a delivery. A feed may do any of these: it delivers
// at least once, in any order.
type Fate int

// The fates.
const (
	Once      Fate = iota // handled, and acked or failed as the handler says
	Twice                 // handled, acked, and delivered again all the same
	Together              // delivered twice at the same time
	Unacked               // handled, and its ack is lost: it comes again
	Untouched             // it fails before the handler sees it: it comes again
)

// Script decides the fate of delivery n, counted from 1. It may be called
// concurrently.
type Script func(n int, d feed.Delivery) Fate

// Fates plays fates in order, one a delivery; what comes after is delivered once.
func Fates(fates ...Fate) Script {
	return func(n int, _ feed.Delivery) Fate {
		if n > len(fates) {
			return Once
		}
		return fates[n-1]
	}
}

// Every gives every delivery the same fate. With Unacked or Untouched no unit
// would come to an end but by the attempt cap.
func Every(f Fate) Script { return func(int, feed.Delivery) Fate { return f } }

// Feed is the feed of a job in one process that delivers by a script.
type Feed struct {
	*memfeed.Feed
	script Script
	n      atomic.Int64
}

// NewFeed returns an empty feed; a nil script delivers everything once.
func NewFeed(o memfeed.Options, s Script) *Feed {
	if s == nil {
		s = Fates()
	}
	return &Feed{Feed: memfeed.New(o), script: s}
}

// Run delivers as [memfeed.Feed.Run] does, by the script.
func (f *Feed) Run(ctx context.Context, n int, h feed.Handler) error {
	return f.Feed.Run(ctx, n, f.handler(h))
}

var errFate = errors.New("spatetest: the script lost this delivery")

func (f *Feed) handler(h feed.Handler) feed.Handler {
	return func(ctx context.Context, d feed.Delivery) error {
		switch f.script(int(f.n.Add(1)), d) {
		case Untouched:
			return errFate
		case Unacked:
			return errors.Join(h(ctx, d), errFate)
		case Twice:
			if err := h(ctx, d); err != nil {
				return err
			}
		case Together:
			var other error
			var wg sync.WaitGroup
			wg.Go(func() { other = h(ctx, d) })
			err := h(ctx, d)
			wg.Wait()
			return errors.Join(err, other)
		case Once:
		}
		return h(ctx, d)
	}
}
