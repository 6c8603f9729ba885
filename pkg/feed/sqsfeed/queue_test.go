package sqsfeed_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
)

// said answers every question about a queue alike.
type said struct {
	sqsfeed.API
	attributes map[string]string
	err        error
}

func (s said) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{Attributes: s.attributes}, s.err
}

func TestARedrivePolicySaysHowOftenAMessageIsDelivered(t *testing.T) {
	for policy, want := range map[string]int{
		`{"deadLetterTargetArn":"a","maxReceiveCount":5}`:    5,
		`{"deadLetterTargetArn":"a","maxReceiveCount":"12"}`: 12,
		``:                        0,
		`{}`:                      0,
		`{"maxReceiveCount":0}`:   0,
		`{"maxReceiveCount":"x"}`: 0,
		`{"maxReceiveCount":1.5}`: 0,
		`none`:                    0,
	} {
		got, err := sqsfeed.New(said{attributes: map[string]string{"RedrivePolicy": policy}}, feedURL, sqsfeed.Options{}).MaxReceives(t.Context())
		if got != want {
			t.Errorf("%s: %d, want %d", policy, got, want)
		}
		if want == 0 {
			marked(t, err, failure.Job, failure.Config, feedURL, "redrive policy")
		}
	}
	t.Run("what was not answered is asked again", func(t *testing.T) {
		q := &fakeSQS{limit: 5, fault: func(string) (error, error) { return errors.New("reset"), nil }}
		f := sqsfeed.New(q, feedURL, sqsfeed.Options{})
		if n, err := f.MaxReceives(t.Context()); err == nil {
			t.Errorf("%d", n)
		}
		q.fault = nil
		if n, err := f.MaxReceives(t.Context()); n != 5 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestDepthIsThatOfBothQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sent(t, messages(7, 10)...)
		q.event(3)
		q.dead = append(q.dead, q.queued[3:5]...)
		q.queued = append(q.queued[:3], q.queued[5:]...)
		for _, c := range []struct {
			o    sqsfeed.Options
			want feed.Depth
		}{
			{sqsfeed.Options{DeadLetterURL: deadURL}, feed.Depth{Ready: 2, InFlight: 3, Dead: 2}},
			{sqsfeed.Options{}, feed.Depth{Ready: 2, InFlight: 3}},
		} {
			if got, err := sqsfeed.New(q, feedURL, c.o).Depth(t.Context()); got != c.want || err != nil {
				t.Errorf("depth %+v, %v, want %+v", got, err, c.want)
			}
		}
	})
	full := map[string]string{"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesNotVisible": "2", "ApproximateNumberOfMessagesDelayed": "4"}
	got, err := sqsfeed.New(said{attributes: full}, feedURL, sqsfeed.Options{DeadLetterURL: deadURL}).Depth(t.Context())
	if want := (feed.Depth{Ready: 1, InFlight: 2, Delayed: 4, Dead: 7}); got != want || err != nil {
		t.Errorf("depth %+v, %v, want %+v", got, err, want)
	}
	_, err = sqsfeed.New(said{}, feedURL, sqsfeed.Options{}).Depth(t.Context())
	marked(t, err, failure.Unit, failure.RetriesExhausted, "ApproximateNumberOf", feedURL)
	_, err = sqsfeed.New(said{err: code("AccessDenied")}, feedURL, sqsfeed.Options{}).Depth(t.Context())
	marked(t, err, failure.Job, failure.Denied, "allow sqs:GetQueueAttributes")
}
