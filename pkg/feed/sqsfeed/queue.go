package sqsfeed

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/feed"
)

const (
	ready    = types.QueueAttributeNameApproximateNumberOfMessages
	inFlight = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	delayed  = types.QueueAttributeNameApproximateNumberOfMessagesDelayed
	redrive  = types.QueueAttributeNameRedrivePolicy
)

// MaxReceives is the number of deliveries after which the queue gives a message
// up: that of the options, or else the queue's own, which is read once.
func (f *Feed) MaxReceives(ctx context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.receives > 0 {
		return f.receives, nil
	}
	got, err := f.attributes(ctx, f.url, redrive)
	if err != nil {
		return 0, err
	}
	if f.receives, err = maxReceiveCount(got[string(redrive)]); err != nil {
		return 0, awsfailure.Config("").Wrap(call{verb: "read redrive policy of", url: f.url}.String(), err)
	}
	return f.receives, nil
}

// maxReceiveCount reads a redrive policy. Its count is a number or a string,
// depending on who set it.
func maxReceiveCount(policy string) (int, error) {
	if policy == "" {
		return 0, errNoRedrive
	}
	var p struct {
		MaxReceiveCount json.RawMessage `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.Trim(string(p.MaxReceiveCount), `"`))
	if err != nil || n < 1 {
		return 0, errNoRedrive
	}
	return n, nil
}

// Depth counts the messages of the queue and of its dead-letter queue. The
// counts lag behind by a minute or so, and prove nothing.
func (f *Feed) Depth(ctx context.Context) (feed.Depth, error) {
	got, err := f.counts(ctx, f.url)
	if err != nil {
		return feed.Depth{}, err
	}
	if f.options.DeadLetterURL == "" {
		return got, nil
	}
	dead, err := f.counts(ctx, f.options.DeadLetterURL)
	got.Dead = dead.Ready + dead.InFlight + dead.Delayed // looking at a dead letter hides it for a while
	return got, err
}

func (f *Feed) counts(ctx context.Context, url string) (feed.Depth, error) {
	got, err := f.attributes(ctx, url, ready, inFlight, delayed)
	if err != nil {
		return feed.Depth{}, err
	}
	var d feed.Depth
	for name, n := range map[types.QueueAttributeName]*int{ready: &d.Ready, inFlight: &d.InFlight, delayed: &d.Delayed} {
		if *n, err = strconv.Atoi(got[string(name)]); err != nil {
			return feed.Depth{}, awsfailure.Unknown().Wrap(call{verb: "count " + string(name) + " of", url: url}.String(), err)
		}
	}
	return d, nil
}

func (f *Feed) attributes(ctx context.Context, url string, names ...types.QueueAttributeName) (map[string]string, error) {
	c := call{"read attributes of", "sqs:GetQueueAttributes", url}
	out, err := f.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		return nil, c.classify(ctx, err)
	}
	return out.Attributes, nil
}
