package sqsfeed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
)

// sent is a queue that holds ms.
func sent(t *testing.T, ms ...feed.Message) *fakeSQS {
	t.Helper()
	q := &fakeSQS{limit: 5}
	if err := sqsfeed.New(q, feedURL, sqsfeed.Options{Concurrency: 1}).Send(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	q.calls = nil
	return q
}

func ack(context.Context, feed.Delivery) error { return nil }

func failedIDs(r events.SQSEventResponse) (ids []string) {
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

// answer gives h an event of n messages and returns those that failed.
func answer(t *testing.T, q *fakeSQS, o sqsfeed.Options, n int, h feed.Handler) []string {
	t.Helper()
	r, err := sqsfeed.New(q, feedURL, o).Handler(h)(t.Context(), q.event(n))
	if err != nil {
		t.Errorf("an error fails more than failed: %v", err)
	}
	return failedIDs(r)
}

func TestAUnitThatGoesWellCostsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := message(1, 10)
		m.Probe = true
		q := sent(t, m)
		var got feed.Delivery
		r, err := sqsfeed.New(q, feedURL, sqsfeed.Options{MaxReceives: 7}).Handler(func(_ context.Context, d feed.Delivery) error {
			got = d
			return nil
		})(t.Context(), q.event(1))
		if text, _ := json.Marshal(r); err != nil || string(text) != `{"batchItemFailures":[]}` {
			t.Errorf("answered %s, %v", text, err)
		}
		if len(q.calls) > 0 {
			t.Errorf("requests: %v", q.calls)
		}
		if got.ID != m.ID || got.Job != m.Job || !got.Probe || !bytes.Equal(got.Body, m.Body) || got.Receives != 1 || got.Cap != 7 {
			t.Errorf("delivered %+v", got)
		}
	})
}

func TestAFailureHidesItsMessageForItsDelay(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int32
	}{
		"none":                 {errors.New("bad luck"), 0},
		"some":                 {fmt.Errorf("unit: %w", feed.RetryAfter(errors.New("bad luck"), 15*time.Second)), 15},
		"rounded up":           {feed.RetryAfter(errors.New("bad luck"), 15*time.Second+1), 16},
		"less than a second":   {feed.RetryAfter(errors.New("bad luck"), time.Millisecond), 1},
		"less than nothing":    {feed.RetryAfter(errors.New("bad luck"), -time.Minute), 0},
		"more than SQS allows": {feed.RetryAfter(errors.New("bad luck"), 100*time.Hour), 12 * 3600},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := sent(t, messages(3, 10)...)
				ids := answer(t, q, sqsfeed.Options{MaxReceives: 5}, 3, func(_ context.Context, d feed.Delivery) error {
					if d.ID == message(1, 0).ID {
						return c.err
					}
					return nil
				})
				if !slices.Equal(ids, []string{"m2"}) || !slices.Equal(q.hidden, []int32{c.want}) {
					t.Errorf("failed %v, hidden for %v, want [m2], [%d]", ids, q.hidden, c.want)
				}
			})
		})
	}
}

func TestAFailureIsReportedEvenIfItsMessageCannotBeHidden(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		says bool
	}{
		"denied":          {code("AccessDenied"), true},
		"an old receipt":  {code("ReceiptHandleIsInvalid"), false},
		"of one deleted":  {code("MessageNotInflight"), false},
		"in other words":  {paramError("Value x for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change."), false},
		"a false timeout": {paramError("Value 50000 for parameter VisibilityTimeout is invalid."), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := sent(t, message(1, 10))
				q.fault = func(string) (error, error) { return c.err, nil }
				var log bytes.Buffer
				o := sqsfeed.Options{MaxReceives: 5, Log: slog.New(slog.NewTextHandler(&log, nil))}
				ids := answer(t, q, o, 1, func(context.Context, feed.Delivery) error { return errors.New("bad luck") })
				if !slices.Equal(ids, []string{"m1"}) {
					t.Errorf("failed %v", ids)
				}
				if strings.Contains(log.String(), "keeps its visibility") != c.says || strings.Contains(log.String(), "bad luck") { // which is the handler's to log
					t.Errorf("log: %s", &log)
				}
			})
		})
	}
}

func TestAPanicIsAFailedDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, messages(3, 10)...)
		var log bytes.Buffer
		o := sqsfeed.Options{MaxReceives: 5, Log: slog.New(slog.NewTextHandler(&log, nil))}
		begun := 0
		ids := answer(t, q, o, 3, func(context.Context, feed.Delivery) error {
			if begun++; begun == 1 {
				panic("at the disco")
			}
			return nil
		})
		if !slices.Equal(ids, []string{"m1"}) || begun != 3 || !slices.Equal(q.hidden, []int32{0}) {
			t.Errorf("failed %v, begun %d, hidden %v", ids, begun, q.hidden)
		}
		for _, text := range []string{"at the disco", "handler_test.go", "s3-0000000000000000000000"} {
			if !strings.Contains(log.String(), text) {
				t.Errorf("the log does not say %q: %s", text, &log)
			}
		}
	})
}

func TestNothingIsBegunCloseToTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, reserve, each time.Duration
		begun                  int
	}{
		"while there is time":                  {time.Minute, 0, time.Second, 4},
		"15 s before it":                       {time.Minute, 0, 20 * time.Second, 3},
		"or what was asked for":                {time.Minute, 50 * time.Second, 20 * time.Second, 1},
		"but the first in any case":            {10 * time.Second, 0, time.Second, 1},
		"and where there is none, always":      {0, 0, time.Hour, 4},
		"a moment that is just left is enough": {35 * time.Second, 0, 20 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := sent(t, messages(4, 10)...)
				q.visibility = 10 * time.Hour
				ctx, begun := t.Context(), 0
				e := q.event(4)
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				var log bytes.Buffer
				o := sqsfeed.Options{MaxReceives: 5, Reserve: c.reserve, Log: slog.New(slog.NewTextHandler(&log, nil))}
				r, err := sqsfeed.New(q, feedURL, o).Handler(func(context.Context, feed.Delivery) error {
					begun++
					time.Sleep(c.each)
					return nil
				})(ctx, e)
				want := []string{"m1", "m2", "m3", "m4"}[c.begun:]
				if err != nil || begun != c.begun || !slices.Equal(failedIDs(r), want) && len(want) > 0 {
					t.Errorf("begun %d, failed %v, %v; want %d, %v", begun, failedIDs(r), err, c.begun, want)
				}
				if len(q.hidden) != len(want) || slices.ContainsFunc(q.hidden, func(s int32) bool { return s != 0 }) {
					t.Errorf("hidden %v: what was not begun is for others at once", q.hidden)
				}
				if n := strings.Count(log.String(), "delivery not begun"); n != len(want) {
					t.Errorf("%d lines of what was not begun, want %d: %s", n, len(want), &log)
				}
			})
		})
	}
}

func TestAnInterruptedDeliveryIsForOthersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, message(1, 10))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := sqsfeed.New(q, feedURL, sqsfeed.Options{MaxReceives: 5}).Handler(func(ctx context.Context, _ feed.Delivery) error {
			<-ctx.Done()
			return feed.RetryAfter(ctx.Err(), time.Minute)
		})(ctx, q.event(1))
		if err != nil || !slices.Equal(failedIDs(r), []string{"m1"}) || !slices.Equal(q.hidden, []int32{0}) {
			t.Errorf("failed %v, %v, hidden %v", failedIDs(r), err, q.hidden)
		}
	})
}

func TestADeliveryRenewsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, message(1, 10))
		q.visibility = time.Minute
		answer(t, q, sqsfeed.Options{MaxReceives: 5}, 1, func(ctx context.Context, d feed.Delivery) error {
			if err := d.Extend(ctx, 90*time.Second); err != nil {
				t.Error(err)
			}
			time.Sleep(89 * time.Second)
			if err := d.Extend(ctx, 1500*time.Millisecond); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Second) // it lapsed
			marked(t, d.Extend(ctx, time.Minute), failure.Unit, failure.RetriesExhausted, "nothing to renew", string(d.ID), feedURL)
			q.fault = func(string) (error, error) { return code("AccessDenied"), nil }
			marked(t, d.Extend(ctx, time.Minute), failure.Job, failure.Denied, "allow sqs:ChangeMessageVisibility")
			return nil
		})
		if !slices.Equal(q.hidden, []int32{90, 2, 60, 60}) {
			t.Errorf("hidden %v", q.hidden)
		}
	})
}

func TestWhatIsNotOursIsHandedOverAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		m    events.SQSMessage
		want feed.Delivery
	}{
		"nothing":              {events.SQSMessage{MessageId: "m"}, feed.Delivery{Receives: 1}},
		"of a group":           {events.SQSMessage{MessageId: "m", Body: "hi", Attributes: map[string]string{"MessageGroupId": "g", "ApproximateReceiveCount": "4"}}, feed.Delivery{Message: feed.Message{Job: "g", Body: []byte("hi")}, Receives: 4}},
		"a count of no sense":  {events.SQSMessage{MessageId: "m", Attributes: map[string]string{"ApproximateReceiveCount": "-3"}}, feed.Delivery{Receives: 1}},
		"binary attributes":    {events.SQSMessage{MessageId: "m", MessageAttributes: map[string]events.SQSMessageAttribute{"spate-unit": {BinaryValue: []byte("u"), DataType: "Binary"}}}, feed.Delivery{Receives: 1}},
		"attributes of others": {events.SQSMessage{MessageId: "m", MessageAttributes: map[string]events.SQSMessageAttribute{"unit": {StringValue: aws.String("u"), DataType: "String"}}}, feed.Delivery{Receives: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var got feed.Delivery
			q := &fakeSQS{}
			_, err := sqsfeed.New(q, feedURL, sqsfeed.Options{MaxReceives: 5}).Handler(func(_ context.Context, d feed.Delivery) error { got = d; return nil })(t.Context(), events.SQSEvent{Records: []events.SQSMessage{c.m}})
			if err != nil || got.ID != c.want.ID || got.Job != c.want.Job || got.Probe || !bytes.Equal(got.Body, c.want.Body) || got.Receives != c.want.Receives {
				t.Errorf("delivered %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestTheCapIsTheQueuesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, messages(3, 10)...)
		q.limit = 4
		f := sqsfeed.New(q, feedURL, sqsfeed.Options{})
		for range 3 {
			if _, err := f.Handler(func(_ context.Context, d feed.Delivery) error {
				if d.Cap != 4 {
					t.Errorf("cap %d", d.Cap)
				}
				return nil
			})(t.Context(), q.event(1)); err != nil {
				t.Error(err)
			}
		}
		if n := q.count("attributes"); n != 1 {
			t.Errorf("asked for it %d times", n)
		}
	})
	t.Run("without it nothing is begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := sent(t, messages(2, 10)...)
			q.fault = func(op string) (error, error) {
				if op == "attributes" {
					return code("AccessDenied"), nil
				}
				return nil, nil
			}
			ids := answer(t, q, sqsfeed.Options{}, 2, func(context.Context, feed.Delivery) error { t.Error("begun"); return nil })
			if !slices.Equal(ids, []string{"m1", "m2"}) || !slices.Equal(q.hidden, []int32{30, 30}) {
				t.Errorf("failed %v, hidden %v", ids, q.hidden)
			}
		})
	})
}

func TestAHandlerThatEndsItsGoroutineHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, message(1, 10))
		ended := make(chan bool)
		go func() {
			defer close(ended)
			answer(t, q, sqsfeed.Options{MaxReceives: 5}, 1, func(context.Context, feed.Delivery) error { runtime.Goexit(); return nil })
		}()
		<-ended
		if !slices.Equal(q.hidden, []int32{0}) {
			t.Errorf("hidden %v", q.hidden)
		}
	})
}

// FuzzEvent: whatever an event holds, each of its messages is handed over once
// and reported if it failed, and no other is.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"Records":[{"messageId":"m1","receiptHandle":"r","body":"{}","attributes":{"ApproximateReceiveCount":"2","MessageGroupId":"g"},"messageAttributes":{"spate-unit":{"stringValue":"s3-x","dataType":"String"},"spate-probe":{"stringValue":"true"}}}]}`))
	f.Add([]byte(`{"Records":[{"messageAttributes":{"spate-unit":null,"spate-job":{"stringValue":null}}},{"attributes":null},{}]}`))
	f.Add([]byte(`{"Records":null}`))
	f.Add([]byte(`{"Records":[{"attributes":{"ApproximateReceiveCount":"99999999999999999999"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e events.SQSEvent
		if json.Unmarshal(text, &e) != nil {
			return
		}
		n, failed := 0, []string{}
		r, err := sqsfeed.New(&fakeSQS{}, feedURL, sqsfeed.Options{MaxReceives: 3}).Handler(func(_ context.Context, d feed.Delivery) error {
			if string(d.Body) != e.Records[n].Body || d.Receives < 1 {
				t.Errorf("record %d: delivered %+v", n, d)
			}
			if n++; n%2 == 0 {
				failed = append(failed, e.Records[n-1].MessageId)
				return errors.New("bad luck")
			}
			return nil
		})(t.Context(), e)
		if err != nil || n != len(e.Records) || r.BatchItemFailures == nil || !slices.Equal(failedIDs(r), failed) && len(failed) > 0 || len(r.BatchItemFailures) != len(failed) {
			t.Errorf("%d of %d begun, reported %v, want %v, %v", n, len(e.Records), r, failed, err)
		}
	})
}
