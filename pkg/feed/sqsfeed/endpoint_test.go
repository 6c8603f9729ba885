package sqsfeed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/feedtest"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
)

// TestFeedKeepsTheContract runs the suite on whatever AWS_ENDPOINT_URL names, in
// queues of its own that it deletes.
func TestFeedKeepsTheContract(t *testing.T) {
	const lease = 5 * time.Second // of a busy machine's seconds
	client := endpoint(t)
	feedtest.Run(t, feedtest.Harness{
		Open: func(t *testing.T, limit int) feedtest.Feed {
			t.Parallel()
			dead := queue(t, client, nil)
			url := queue(t, client, map[string]string{
				"VisibilityTimeout": fmt.Sprint(lease.Seconds()),
				"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, arn(t, client, dead), limit),
			})
			f := sqsfeed.New(client, url, sqsfeed.Options{DeadLetterURL: dead, Wait: time.Second})
			return feedtest.Feed{Sender: once{client, url}, Run: f.Run, Depth: f.Depth, DeadLetters: f.DeadLetters}
		},
		Wait:            30 * time.Second,
		Delay:           time.Second,
		Early:           50 * time.Millisecond,
		Lease:           lease,
		ExtraReceives:   1,
		CountsCancelled: true,
		LosesErrors:     true,
	})
}

// once sends each message a single time, for the suite counts what it sent: a
// request whose answer is lost is not repeated before the queue, which was empty,
// is so again.
type once struct {
	*sqs.Client
	url string
}

func (o once) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	return o.Client.SendMessageBatch(ctx, in, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
}

func (o once) Send(ctx context.Context, ms ...feed.Message) error {
	f := sqsfeed.New(o, o.url, sqsfeed.Options{})
	for again := 2; ; again-- {
		err := f.Send(ctx, ms...)
		if again == 0 || !failure.Is(err, failure.Transient) {
			return err
		}
		if _, err := o.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &o.url}); err != nil {
			return err
		}
	}
}

func endpoint(t *testing.T) *sqs.Client {
	t.Helper()
	cfg := awstest.Config(t, "SQS")
	return sqs.NewFromConfig(cfg)
}

func queue(t *testing.T, client *sqs.Client, attributes map[string]string) (url string) {
	t.Helper()
	name := fmt.Sprintf("spate-feed-%016x", rand.Uint64())
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
		if err != nil && !strings.Contains(err.Error(), "NonExistentQueue") {
			t.Error(err)
		}
	})
	return *out.QueueUrl
}

func arn(t *testing.T, client *sqs.Client, url string) string {
	t.Helper()
	out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Attributes["QueueArn"]
}
