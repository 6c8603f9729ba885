package sqsfeed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/unit"
)

func paramError(text string) error {
	return &smithy.GenericAPIError{Code: "InvalidParameterValue", Message: text}
}

func TestNoCallThatFailsLosesAMessage(t *testing.T) {
	const n = 12
	for _, applied := range []bool{false, true} {
		for nth, more := 1, true; more; nth++ {
			t.Run(fmt.Sprintf("call %d fails, applied: %v", nth, applied), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q, calls := sent(t, messages(n, 10)...), 0
					var mu sync.Mutex
					q.fault = func(string) (before, after error) {
						mu.Lock()
						defer mu.Unlock()
						calls++
						switch {
						case calls != nth:
							return nil, nil
						case applied:
							return nil, errors.New("answer lost")
						}
						return errors.New("reset"), nil
					}
					acked := map[unit.ID]int{}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					err := sqsfeed.New(q, feedURL, sqsfeed.Options{MaxReceives: 5}).Run(ctx, 4, func(_ context.Context, d feed.Delivery) error {
						mu.Lock()
						defer mu.Unlock()
						if d.Receives == 1 && d.Body[0] == 'x' && d.ID[len(d.ID)-1] == '3' {
							return feed.RetryAfter(errors.New("bad luck"), time.Second)
						}
						acked[d.ID]++
						return nil
					})
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Run: %v", err)
					}
					if len(acked) != n || len(q.queued) > 0 || len(q.dead) > 0 {
						t.Errorf("%d of %d acked, %d left, %d dead", len(acked), n, len(q.queued), len(q.dead))
					}
					more = calls >= nth && nth < 25
				})
			})
		}
	}
}

func TestAReceiveThatWouldFailForEverEndsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		scope  failure.Scope
		reason failure.Reason
		says   string
	}{
		"denied":   {code("AccessDenied"), failure.Job, failure.Denied, "allow sqs:ReceiveMessage"},
		"no queue": {&types.QueueDoesNotExist{}, failure.Job, failure.Config, "queue's URL"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := sent(t, message(1, 10))
				q.visibility = time.Hour
				begun, ended, receives := 0, 0, 0
				q.fault = func(op string) (error, error) {
					if op != "receive" {
						return nil, nil
					}
					if receives++; receives > 1 {
						return c.err, nil
					}
					return nil, nil
				}
				err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Run(t.Context(), 2, func(context.Context, feed.Delivery) error {
					begun++
					time.Sleep(time.Minute)
					ended++
					return nil
				})
				marked(t, err, c.scope, c.reason, c.says, feedURL)
				if begun != 1 || ended != 1 || len(q.queued) != 0 {
					t.Errorf("%d begun, %d ended, %d left", begun, ended, len(q.queued))
				}
			})
		})
	}
}

func TestAReceiveThatFailsIsRepeatedWithGrowingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, message(1, 10))
		start, tries := time.Now(), 0
		q.fault = func(op string) (error, error) {
			if op == "receive" {
				if tries++; tries <= 12 {
					return &types.OverLimit{}, nil
				}
			}
			return nil, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Run(ctx, 1, func(context.Context, feed.Delivery) error { cancel(); return nil })
		if took := time.Since(start); !errors.Is(err, context.Canceled) || took < time.Minute || took > 3*time.Minute {
			t.Errorf("Run: %v, after %v", err, took)
		}
		if len(q.queued) != 0 {
			t.Error("what was acked at the end is not deleted")
		}
	})
}

func TestAReceiveThatWorksEndsTheGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, messages(20, 10)...)
		start, tries := time.Now(), 0
		q.fault = func(op string) (error, error) {
			if op == "receive" {
				if tries++; tries%2 == 0 {
					return &types.OverLimit{}, nil
				}
			}
			return nil, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Run(ctx, 1, func(context.Context, feed.Delivery) error {
			if n++; n == 20 {
				cancel()
			}
			return nil
		})
		if took := time.Since(start); !errors.Is(err, context.Canceled) || took > 5*time.Second {
			t.Errorf("Run: %v, after %v", err, took)
		}
	})
}

func TestAnEndOfTheContextDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, messages(5, 10)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		var hid []int32
		err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Run(ctx, 3, func(ctx context.Context, _ feed.Delivery) error {
			<-ctx.Done()
			time.Sleep(2 * time.Second)
			return feed.RetryAfter(ctx.Err(), time.Hour)
		})
		hid = q.hidden
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) < 3*time.Second {
			t.Errorf("Run: %v after %v", err, time.Since(start))
		}
		if !slices.Equal(hid, []int32{0, 0, 0}) || len(q.queued) != 5 || q.count("delete") != 0 {
			t.Errorf("hidden %v, %d left, %d deleted", hid, len(q.queued), q.count("delete"))
		}
	})
	t.Run("and a wait for messages ends with it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			err := sqsfeed.New(&fakeSQS{limit: 5}, feedURL, sqsfeed.Options{}).Run(ctx, 3, ack)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
				t.Errorf("Run: %v after %v", err, time.Since(start))
			}
		})
	})
}

// asked keeps what was asked for.
type asked struct {
	*fakeSQS
	mu  sync.Mutex
	ins []*sqs.ReceiveMessageInput
}

func (a *asked) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	a.mu.Lock()
	a.ins = append(a.ins, in)
	a.mu.Unlock()
	return a.fakeSQS.ReceiveMessage(ctx, in, opts...)
}

func TestNoMoreIsAskedForThanCanBeBegun(t *testing.T) {
	for _, c := range []struct {
		n     int
		first int32
		o     sqsfeed.Options
		hide  int32
		wait  int32
	}{
		{0, 1, sqsfeed.Options{}, 0, 20},
		{4, 4, sqsfeed.Options{Visibility: 2 * time.Minute}, 120, 20},
		{40, 10, sqsfeed.Options{Wait: 3 * time.Second}, 0, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &asked{fakeSQS: sent(t, messages(60, 10)...)}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var mu sync.Mutex
			done := 0
			err := sqsfeed.New(a, feedURL, c.o).Run(ctx, c.n, func(context.Context, feed.Delivery) error {
				time.Sleep(100 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				done++
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || done != 60 {
				t.Errorf("Run: %v, %d done", err, done)
			}
			in := a.ins[0]
			if in.MaxNumberOfMessages != c.first || in.VisibilityTimeout != c.hide || in.WaitTimeSeconds != c.wait {
				t.Errorf("n %d: asked for %d, hidden for %d, waiting for %d", c.n, in.MaxNumberOfMessages, in.VisibilityTimeout, in.WaitTimeSeconds)
			}
			for _, in := range a.ins {
				if in.MaxNumberOfMessages > min(10, int32(max(c.n, 1))) || in.MaxNumberOfMessages < 1 {
					t.Errorf("asked for %d", in.MaxNumberOfMessages)
				}
			}
		})
	}
}
