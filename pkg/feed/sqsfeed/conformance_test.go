package sqsfeed_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed/feedtest"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
)

// TestFeedKeepsTheContractOnAQueueOfOurOwn needs no endpoint and no time.
func TestFeedKeepsTheContractOnAQueueOfOurOwn(t *testing.T) {
	feedtest.Run(t, feedtest.Harness{
		Open: func(_ *testing.T, limit int) feedtest.Feed {
			f := sqsfeed.New(&fakeSQS{limit: limit, visibility: 5 * time.Second}, feedURL, sqsfeed.Options{DeadLetterURL: deadURL})
			return feedtest.Feed{Sender: f, Run: f.Run, Depth: f.Depth, DeadLetters: f.DeadLetters}
		},
		Bubble:          synctest.Test,
		Wait:            2 * time.Minute,
		Delay:           time.Second,
		Lease:           5 * time.Second,
		CountsCancelled: true,
		LosesErrors:     true,
	})
}
