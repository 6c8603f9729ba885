package awscontrol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// created is what an intake wants to be told.
const created = "s3:ObjectCreated:*"

// Via is the way by which a bucket's notifications reach an intake.
type Via string

// The ways.
const (
	ViaQueue       Via = "s3"          // the bucket writes to the intake's queue
	ViaEventBridge Via = "eventbridge" // it tells EventBridge, and the stack's rule the intake
)

// entry is what notifies somebody, by whatever service.
type entry struct {
	id, service, target string
	events              []types.Event
	filter              *types.NotificationConfigurationFilter
}

func (e entry) String() string {
	s := fmt.Sprintf("%s: %s to %s %s", e.id, joined(e.events), e.service, e.target)
	if prefix := rule(e.filter, types.FilterRuleNamePrefix); prefix != "" {
		s += fmt.Sprintf(", prefix %q", prefix)
	}
	if suffix := rule(e.filter, types.FilterRuleNameSuffix); suffix != "" {
		s += fmt.Sprintf(", suffix %q", suffix)
	}
	return s
}

func joined(events []types.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return strings.Join(names, " ")
}

// entries are all of a configuration but EventBridge, which has no filter.
func entries(c *s3.GetBucketNotificationConfigurationOutput) []entry {
	var all []entry
	for _, q := range c.QueueConfigurations {
		all = append(all, entry{aws.ToString(q.Id), "queue", aws.ToString(q.QueueArn), q.Events, q.Filter})
	}
	for _, t := range c.TopicConfigurations {
		all = append(all, entry{aws.ToString(t.Id), "topic", aws.ToString(t.TopicArn), t.Events, t.Filter})
	}
	for _, f := range c.LambdaFunctionConfigurations {
		all = append(all, entry{aws.ToString(f.Id), "function", aws.ToString(f.LambdaFunctionArn), f.Events, f.Filter})
	}
	return all
}

// rule is what a filter asks of a key's beginning or end; "" for nothing.
func rule(f *types.NotificationConfigurationFilter, name types.FilterRuleName) string {
	if f == nil || f.Key == nil {
		return ""
	}
	for _, r := range f.Key.FilterRules {
		if strings.EqualFold(string(r.Name), string(name)) {
			return aws.ToString(r.Value)
		}
	}
	return ""
}

// overlaps reports whether S3 would refuse the two beside one another: there may
// be a key and an event that are for both.
func (e entry) overlaps(o entry) bool {
	begins := func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
	ends := func(a, b string) bool { return strings.HasSuffix(a, b) || strings.HasSuffix(b, a) }
	return slices.ContainsFunc(e.events, func(a types.Event) bool {
		return slices.ContainsFunc(o.events, func(b types.Event) bool { return meets(string(a), string(b)) })
	}) &&
		begins(rule(e.filter, types.FilterRuleNamePrefix), rule(o.filter, types.FilterRuleNamePrefix)) &&
		ends(rule(e.filter, types.FilterRuleNameSuffix), rule(o.filter, types.FilterRuleNameSuffix))
}

// covers reports whether e already tells o's target all that o would.
func (e entry) covers(o entry) bool {
	return e.target == o.target && slices.Contains(e.events, created) && rule(e.filter, types.FilterRuleNameSuffix) == "" &&
		strings.HasPrefix(rule(o.filter, types.FilterRuleNamePrefix), rule(e.filter, types.FilterRuleNamePrefix))
}

// meets reports whether one event may be of both types.
func meets(a, b string) bool {
	a, wildA := strings.CutSuffix(a, "*")
	b, wildB := strings.CutSuffix(b, "*")
	switch {
	case wildA && wildB:
		return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
	case wildA:
		return strings.HasPrefix(b, a)
	case wildB:
		return strings.HasPrefix(a, b)
	}
	return a == b
}

// OverlapError is about a bucket that tells somebody else of the same objects:
// S3 takes no second entry for them.
type OverlapError struct {
	Bucket string
	Other  string // the entry, in words
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("connect bucket %s: it notifies already of the same objects (%s), and S3 takes no two entries that overlap: "+
		"connect it --via eventbridge, or have that entry tell an SNS topic, and give the stack the topic as its NotificationTopicArn", e.Bucket, e.Other)
}

// connected puts w's entry into a configuration, unless another there says the
// same, as that of a bucket that the stack's template made. Everything else stays
// as it is.
func connected(w Wiring, c *s3.GetBucketNotificationConfigurationOutput) error {
	own := w.entry()
	withoutOwn(w, c)
	for _, e := range entries(c) {
		if e.overlaps(own) && e.covers(own) {
			return nil
		}
		if e.overlaps(own) {
			return &OverlapError{w.Bucket, e.String()}
		}
	}
	c.QueueConfigurations = append(c.QueueConfigurations, types.QueueConfiguration{
		Id: &own.id, QueueArn: &own.target, Events: own.events, Filter: own.filter,
	})
	return nil
}

// ownID is what the ids of our entries begin with.
const ownID = "spate-"

// id is that of the entry for w's queue: several stacks, of several accounts, may
// be told by one bucket, and it takes no id twice.
func (w Wiring) id() string {
	arn := strings.Split(w.Queue, ":")
	return ownID + strings.Join(arn[max(0, len(arn)-2):], "-")
}

// owns reports whether an entry is ours: to w's queue, and made here.
func (w Wiring) owns(e entry) bool { return e.target == w.Queue && strings.HasPrefix(e.id, ownID) }

// withoutOwn takes w's own entries off c.
func withoutOwn(w Wiring, c *s3.GetBucketNotificationConfigurationOutput) {
	c.QueueConfigurations = slices.DeleteFunc(slices.Clone(c.QueueConfigurations), func(q types.QueueConfiguration) bool {
		return w.owns(entry{id: aws.ToString(q.Id), target: aws.ToString(q.QueueArn)})
	})
}
