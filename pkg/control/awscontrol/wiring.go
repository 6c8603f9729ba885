package awscontrol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// created is the events that an intake is notified of.
const created = "s3:ObjectCreated:*"

// Via is the way by which a bucket's notifications reach an intake.
type Via string

// The ways.
const (
	ViaQueue       Via = "s3"          // the bucket writes to the intake's queue
	ViaEventBridge Via = "eventbridge" // it notifies EventBridge, whose rule writes to the intake's queue
)

// entry is one target of a bucket's notifications, of whatever service.
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

// entries are all the targets in a configuration but EventBridge, which has no
// filter.
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

// rule is what a filter requires a key to begin or end with; "": nothing.
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

// overlaps reports whether S3 would refuse to have both: some key and event may
// match both.
func (e entry) overlaps(o entry) bool {
	begins := func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
	ends := func(a, b string) bool { return strings.HasSuffix(a, b) || strings.HasSuffix(b, a) }
	return slices.ContainsFunc(e.events, func(a types.Event) bool {
		return slices.ContainsFunc(o.events, func(b types.Event) bool { return meets(string(a), string(b)) })
	}) &&
		begins(rule(e.filter, types.FilterRuleNamePrefix), rule(o.filter, types.FilterRuleNamePrefix)) &&
		ends(rule(e.filter, types.FilterRuleNameSuffix), rule(o.filter, types.FilterRuleNameSuffix))
}

// covers reports whether e already notifies o's target of everything that o
// would.
func (e entry) covers(o entry) bool {
	return e.target == o.target && slices.Contains(e.events, created) && rule(e.filter, types.FilterRuleNameSuffix) == "" &&
		strings.HasPrefix(rule(o.filter, types.FilterRuleNamePrefix), rule(e.filter, types.FilterRuleNamePrefix))
}

// meets reports whether some event may match both types.
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

// OverlapError says that a bucket notifies somebody else of the same objects: S3
// takes no second entry for them.
type OverlapError struct {
	Bucket string
	Other  string // the entry, in words
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("connect bucket %s: it already notifies of the same objects (%s), and S3 allows no two entries that overlap: "+
		"connect it --via eventbridge, or have that entry notify an SNS topic, and give the stack the topic as its NotificationTopicArn", e.Bucket, e.Other)
}

// connected puts w's entry into a configuration, unless another one there does
// the same, such as the one of a bucket that the stack's template made.
// Everything else stays as it is.
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

// ownID is the prefix of our entries' ids.
const ownID = "spate-"

// id is the id of the entry for w's queue. One bucket may notify several
// stacks, of several accounts, and takes no id twice.
func (w Wiring) id() string {
	arn := strings.Split(w.Queue, ":")
	return ownID + strings.Join(arn[max(0, len(arn)-2):], "-")
}

// owns reports whether an entry is ours: it leads to w's queue and was made
// here.
func (w Wiring) owns(e entry) bool { return e.target == w.Queue && strings.HasPrefix(e.id, ownID) }

// withoutOwn takes w's own entries off c.
func withoutOwn(w Wiring, c *s3.GetBucketNotificationConfigurationOutput) {
	c.QueueConfigurations = slices.DeleteFunc(slices.Clone(c.QueueConfigurations), func(q types.QueueConfiguration) bool {
		return w.owns(entry{id: aws.ToString(q.Id), target: aws.ToString(q.QueueArn)})
	})
}
