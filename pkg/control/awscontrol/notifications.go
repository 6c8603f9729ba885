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

// Wiring is how a bucket is to notify an intake of new objects.
type Wiring struct {
	Bucket, Prefix string
	Queue          string // ARN of the intake's queue
	Rule           string // EventBridge rule that leads to it; "": none does
	Via            Via    // for Disconnect, "" means both ways
}

func (w Wiring) entry() entry {
	e := entry{id: w.id(), service: "queue", target: w.Queue, events: []types.Event{created}}
	if w.Prefix != "" {
		name := types.FilterRuleNamePrefix
		e.filter = &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: []types.FilterRule{{Name: name, Value: &w.Prefix}}}}
	}
	return e
}

// Notifications reads and writes the notification configurations of buckets. A
// bucket has one, which is read and written whole: what is not ours is written
// back as it was read, and the result is read again to check it. S3 offers no
// way to notice that somebody else writes at the same moment.
type Notifications struct {
	buckets NotificationAPI
	rules   RuleAPI
}

// NewNotifications returns Notifications that uses these clients.
func NewNotifications(b NotificationAPI, r RuleAPI) *Notifications { return &Notifications{b, r} }

// Change is a configuration before and after.
type Change struct {
	Wiring
	before, after *s3.GetBucketNotificationConfigurationOutput
	rule          turn
}

// turn is what is done to the rule.
type turn string

const (
	leave turn = ""
	on    turn = "on"
	off   turn = "off"
)

// Connect returns the change that connects w's bucket; nothing is written yet.
// An entry of ours that the bucket has already is taken over. *OverlapError if
// another entry is in the way.
//
// A way by which the bucket notifies the intake already stays: S3 takes minutes
// to begin with another, and what comes both ways is claimed once.
func (n *Notifications) Connect(ctx context.Context, w Wiring) (*Change, error) {
	c, err := n.change(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.Via == ViaEventBridge {
		c.rule = on
		c.after.EventBridgeConfiguration = &types.EventBridgeConfiguration{}
		return c, nil
	}
	return c, connected(w, c.after)
}

// Disconnect returns the change that takes our entry off w's bucket and turns
// the rule off. The bucket goes on notifying EventBridge, because others may
// rely on it; and the entries that Change.Left names stay.
func (n *Notifications) Disconnect(ctx context.Context, w Wiring) (*Change, error) {
	c, err := n.change(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.Via != ViaQueue {
		c.rule = off
	}
	if w.Via != ViaEventBridge {
		withoutOwn(w, c.after)
	}
	return c, nil
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

// None reports whether nothing is to change.
func (c *Change) None() bool { return same(c.before, c.after) }

// Lines describe the configuration, one line per entry: + before one that is
// added, - before one that goes, and the others as they stay.
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

// Left are the entries that still notify the queue after the change and are not
// ours, such as the one of a bucket that the stack's template made.
func (c *Change) Left() []string {
	var left []string
	for _, e := range entries(c.after) {
		if e.target == c.Queue && !c.owns(e) {
			left = append(left, e.String())
		}
	}
	return left
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

// errOverwritten: somebody else wrote at the same moment.
var errOverwritten = errors.New("the configuration is not what was written: somebody else is changing it: check it, and try again")

// Apply makes the change. The rule is turned on before its events come.
func (n *Notifications) Apply(ctx context.Context, c *Change) error {
	if err := n.turn(ctx, c.Rule, c.rule); err != nil || c.None() {
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

func (n *Notifications) turn(ctx context.Context, rule string, t turn) (err error) {
	switch {
	case rule == "" || t == leave:
		return nil
	case t == on:
		_, err = n.rules.EnableRule(ctx, &eventbridge.EnableRuleInput{Name: &rule})
	default:
		_, err = n.rules.DisableRule(ctx, &eventbridge.DisableRuleInput{Name: &rule})
	}
	return awsfailure.Classify(ctx, err, "turn rule "+rule+" "+string(t), nil)
}
