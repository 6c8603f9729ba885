package awscontrol

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// NotificationAPI is the part of *s3.Client that Notifications calls.
type NotificationAPI interface {
	GetBucketNotificationConfiguration(context.Context, *s3.GetBucketNotificationConfigurationInput, ...func(*s3.Options)) (*s3.GetBucketNotificationConfigurationOutput, error)
	PutBucketNotificationConfiguration(context.Context, *s3.PutBucketNotificationConfigurationInput, ...func(*s3.Options)) (*s3.PutBucketNotificationConfigurationOutput, error)
}

// RuleAPI is the part of *eventbridge.Client that Notifications calls.
type RuleAPI interface {
	EnableRule(context.Context, *eventbridge.EnableRuleInput, ...func(*eventbridge.Options)) (*eventbridge.EnableRuleOutput, error)
	DisableRule(context.Context, *eventbridge.DisableRuleInput, ...func(*eventbridge.Options)) (*eventbridge.DisableRuleOutput, error)
}

// Wiring is how a bucket is to tell an intake of new objects.
type Wiring struct {
	Bucket, Prefix string
	ID             string // of the entry that is ours
	Queue          string // ARN of the intake's queue
	Rule           string // of EventBridge, that leads to it
	Via            Via
}

func (w Wiring) entry() entry {
	e := entry{id: w.ID, service: "queue", target: w.Queue, events: []types.Event{created}}
	if w.Via == ViaEventBridge {
		e.service, e.events = "EventBridge", nil // which takes all events of all keys, beside any entry
	}
	if w.Prefix != "" {
		name := types.FilterRuleNamePrefix
		e.filter = &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: []types.FilterRule{{Name: name, Value: &w.Prefix}}}}
	}
	return e
}

// Notifications are those of buckets. A bucket has one configuration, which is
// read and written whole: what is not ours is written back as it was read, and
// looked at again after. S3 offers no way to notice that somebody else writes at
// the same moment.
type Notifications struct {
	buckets NotificationAPI
	rules   RuleAPI
}

// NewNotifications returns what wires buckets by way of these clients.
func NewNotifications(b NotificationAPI, r RuleAPI) *Notifications { return &Notifications{b, r} }

// Change is a configuration before and after.
type Change struct {
	Wiring
	before, after *s3.GetBucketNotificationConfigurationOutput
	on            bool // the rule's state after
}

// Connect is what connects w's bucket; nothing is written yet. Where the bucket
// has an entry of ours, it is taken over. *OverlapError where another is in the
// way.
func (n *Notifications) Connect(ctx context.Context, w Wiring) (*Change, error) {
	c, err := n.change(ctx, w)
	if err != nil {
		return nil, err
	}
	c.on = w.Via == ViaEventBridge
	return c, connected(w, c.after)
}

// Disconnect is what takes our entry off w's bucket. That the bucket tells
// EventBridge of its objects stays: others may rely on it.
func (n *Notifications) Disconnect(ctx context.Context, w Wiring) (*Change, error) {
	c, err := n.change(ctx, w)
	if err == nil {
		withoutOwn(w, c.after)
	}
	return c, err
}

func (n *Notifications) change(ctx context.Context, w Wiring) (*Change, error) {
	before, err := n.read(ctx, w.Bucket)
	if err != nil {
		return nil, err
	}
	after := *before
	return &Change{Wiring: w, before: before, after: &after}, nil
}

func (n *Notifications) read(ctx context.Context, bucket string) (*s3.GetBucketNotificationConfigurationOutput, error) {
	out, err := n.buckets.GetBucketNotificationConfiguration(ctx, &s3.GetBucketNotificationConfigurationInput{Bucket: &bucket})
	return out, awsfailure.Classify(ctx, err, "read the notifications of bucket "+bucket, nil)
}

// None reports whether the bucket is as it should be.
func (c *Change) None() bool { return same(c.before, c.after) }

// Lines say what changes, a + or - before each entry that does, and what stays.
func (c *Change) Lines() []string {
	before, after := texts(c.before), texts(c.after)
	var lines []string
	for _, e := range before {
		mark := "  "
		if !slices.Contains(after, e) {
			mark = "- "
		}
		lines = append(lines, mark+e)
	}
	for _, e := range after {
		if !slices.Contains(before, e) {
			lines = append(lines, "+ "+e)
		}
	}
	return lines
}

func texts(c *s3.GetBucketNotificationConfigurationOutput) []string {
	var all []string
	for _, e := range entries(c) {
		all = append(all, e.String())
	}
	if c.EventBridgeConfiguration != nil {
		all = append(all, "EventBridge: all events")
	}
	return all
}

func same(a, b *s3.GetBucketNotificationConfigurationOutput) bool {
	return reflect.DeepEqual(a.QueueConfigurations, b.QueueConfigurations) && reflect.DeepEqual(a.TopicConfigurations, b.TopicConfigurations) &&
		reflect.DeepEqual(a.LambdaFunctionConfigurations, b.LambdaFunctionConfigurations) &&
		(a.EventBridgeConfiguration == nil) == (b.EventBridgeConfiguration == nil)
}

// errOverwritten is about somebody who wrote at the same moment.
var errOverwritten = errors.New("the configuration is not what was written: somebody else changes it: look at it, and try again")

// Apply makes the change. The rule is turned on before its events come, and off
// before the entry goes, so that nothing comes by both ways for longer than it
// must; what does is claimed once.
func (n *Notifications) Apply(ctx context.Context, c *Change) error {
	if err := n.turn(ctx, c.Rule, c.on); err != nil || c.None() {
		return err
	}
	in := &s3.PutBucketNotificationConfigurationInput{Bucket: &c.Bucket, NotificationConfiguration: &types.NotificationConfiguration{
		QueueConfigurations: c.after.QueueConfigurations, TopicConfigurations: c.after.TopicConfigurations,
		LambdaFunctionConfigurations: c.after.LambdaFunctionConfigurations, EventBridgeConfiguration: c.after.EventBridgeConfiguration,
	}}
	_, err := n.buckets.PutBucketNotificationConfiguration(ctx, in)
	if err := awsfailure.Classify(ctx, err, "write the notifications of bucket "+c.Bucket, nil); err != nil {
		return err
	}
	now, err := n.read(ctx, c.Bucket)
	if err != nil {
		return err
	}
	if !slices.Equal(sorted(now), sorted(c.after)) {
		return fmt.Errorf("write the notifications of bucket %s: %w", c.Bucket, errOverwritten)
	}
	return nil
}

func sorted(c *s3.GetBucketNotificationConfigurationOutput) []string {
	return slices.Sorted(slices.Values(texts(c)))
}

func (n *Notifications) turn(ctx context.Context, name string, on bool) error {
	if name == "" {
		return nil
	}
	var err error
	if on {
		_, err = n.rules.EnableRule(ctx, &eventbridge.EnableRuleInput{Name: &name})
	} else {
		_, err = n.rules.DisableRule(ctx, &eventbridge.DisableRuleInput{Name: &name})
	}
	return awsfailure.Classify(ctx, err, "turn rule "+name+map[bool]string{true: " on", false: " off"}[on], nil)
}
