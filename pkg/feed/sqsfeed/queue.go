package sqsfeed

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
// up: that of the options, else the queue's own, which is asked for once.
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
		return 0, awsfailure.Config("").On(call{verb: "read redrive policy of", url: f.url}.String(), err)
	}
	return f.receives, nil
}

// maxReceiveCount reads a redrive policy, whose count comes as a number or as
// text, as whoever set it wrote it.
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
// counts trail what happens by a minute or so, and are no proof of anything.
func (f *Feed) Depth(ctx context.Context) (feed.Depth, error) {
	got, err := f.counts(ctx, f.url)
	if err != nil {
		return feed.Depth{}, err
	}
	if f.options.DeadLetterURL == "" {
		return got, nil
	}
	dead, err := f.counts(ctx, f.options.DeadLetterURL)
	got.Dead = dead.Ready + dead.InFlight + dead.Delayed // whoever looks at one hides it for a while
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
			return feed.Depth{}, awsfailure.Unknown().On(call{verb: "count " + string(name) + " of", url: url}.String(), err)
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

const (
	// peekTime hides a dead letter that was looked at from the same look: a
	// queue shows its first messages again and again otherwise.
	peekTime = 10 * time.Second
	peekWait = time.Second // asks all of the queue's servers
)

// DeadLetters yields the messages of the dead-letter queue, each once, until
// there is none that it has not seen, or yield returns false. Those that it
// looked at are hidden for 10 s and stay. Their Receives count all receives, by
// whoever looked at them too; their errors the queue does not keep.
func (f *Feed) DeadLetters(ctx context.Context, yield func(feed.DeadLetter) bool) error {
	if f.options.DeadLetterURL == "" {
		return nil
	}
	seen, repeats := map[string]bool{}, 0 // the latter since the last that was new
	for {
		ms, err := f.receive(ctx, f.options.DeadLetterURL, maxReceive, peekWait, seconds(peekTime, maxVisibility))
		if err != nil {
			return err
		}
		for i := range ms {
			id := aws.ToString(ms[i].MessageId)
			if repeats++; seen[id] {
				continue // whoever yields to takes his time
			}
			seen[id], repeats = true, 0
			r := fromQueue(&ms[i])
			if !yield(feed.DeadLetter{Message: r.Message, Receives: r.receives}) {
				return nil
			}
		}
		if len(ms) == 0 || repeats > len(seen) {
			return nil
		}
	}
}
