package spatetest_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/feedtest"
	"github.com/spate-go/spate/pkg/feed/memfeed"
	"github.com/spate-go/spate/pkg/spatetest"
)

func TestAFeedWithoutAScriptKeepsTheContract(t *testing.T) {
	const capacity = 30
	feedtest.Run(t, feedtest.Harness{
		Open: func(_ *testing.T, limit int) feedtest.Feed {
			f := spatetest.NewFeed(memfeed.Options{Cap: limit, Capacity: capacity}, nil)
			return feedtest.Feed{
				Sender: f,
				Run:    f.Run,
				Depth:  func(context.Context) (feed.Depth, error) { return f.Depth(), nil },
				DeadLetters: func(context.Context) ([]feed.DeadLetter, error) {
					return slices.Collect(f.DeadLetters), nil
				},
			}
		},
		Bubble:   synctest.Test,
		Capacity: capacity,
	})
}
