package sqsfeed

import (
	"context"
	"time"

	"github.com/spate-go/spate/pkg/feed"
)

// DeadLetters looks at the messages of the dead-letter queue, which stay there:
// each is hidden until the look is over.
func (f *Feed) DeadLetters(ctx context.Context) (dead []feed.DeadLetter, err error) {
	q := New(f.api, f.options.DeadLetterURL, Options{Visibility: 10 * time.Second, Wait: time.Second})
	for {
		ms, err := q.receive(ctx, maxReceive)
		if err != nil || len(ms) == 0 {
			return dead, err
		}
		for i := range ms {
			r := fromQueue(&ms[i])
			dead = append(dead, feed.DeadLetter{Message: r.Message, Receives: r.receives})
		}
	}
}
