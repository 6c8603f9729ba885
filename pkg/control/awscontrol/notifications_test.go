package awscontrol_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/control/awscontrol"
)

// fakeBucket keeps a configuration, and the state of a rule.
type fakeBucket struct {
	config types.NotificationConfiguration
	rule   string
	puts   int
	// other changes the configuration right after each put.
	other func(*types.NotificationConfiguration)
	calls []string
}

func (b *fakeBucket) GetBucketNotificationConfiguration(context.Context, *s3.GetBucketNotificationConfigurationInput, ...func(*s3.Options)) (*s3.GetBucketNotificationConfigurationOutput, error) {
	return &s3.GetBucketNotificationConfigurationOutput{
		QueueConfigurations: b.config.QueueConfigurations, TopicConfigurations: b.config.TopicConfigurations,
		LambdaFunctionConfigurations: b.config.LambdaFunctionConfigurations, EventBridgeConfiguration: b.config.EventBridgeConfiguration,
	}, nil
}

func (b *fakeBucket) PutBucketNotificationConfiguration(_ context.Context, in *s3.PutBucketNotificationConfigurationInput, _ ...func(*s3.Options)) (*s3.PutBucketNotificationConfigurationOutput, error) {
	b.puts++
	b.calls = append(b.calls, "put")
	b.config = *in.NotificationConfiguration
	if b.other != nil {
		b.other(&b.config)
	}
	return &s3.PutBucketNotificationConfigurationOutput{}, nil
}

func (b *fakeBucket) EnableRule(_ context.Context, in *eventbridge.EnableRuleInput, _ ...func(*eventbridge.Options)) (*eventbridge.EnableRuleOutput, error) {
	b.rule = *in.Name + " on"
	b.calls = append(b.calls, "on")
	return nil, nil
}

func (b *fakeBucket) DisableRule(_ context.Context, in *eventbridge.DisableRuleInput, _ ...func(*eventbridge.Options)) (*eventbridge.DisableRuleOutput, error) {
	b.rule = *in.Name + " off"
	b.calls = append(b.calls, "off")
	return nil, nil
}

const (
	queueARN = "arn:aws:sqs:eu-west-1:1:logs-intake"
	ownID    = "spate-1-logs-intake"
)

func wiring(via awscontrol.Via) awscontrol.Wiring {
	return awscontrol.Wiring{Bucket: "logs", Prefix: "in/", Queue: queueARN, Rule: "r", Via: via}
}

func filter(rules ...string) *types.NotificationConfigurationFilter {
	f := &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{}}
	for i := 0; i < len(rules); i += 2 {
		f.Key.FilterRules = append(f.Key.FilterRules, types.FilterRule{Name: types.FilterRuleName(rules[i]), Value: &rules[i+1]})
	}
	return f
}

func queue(id, arn string, f *types.NotificationConfigurationFilter, events ...types.Event) types.QueueConfiguration {
	return types.QueueConfiguration{Id: &id, QueueArn: &arn, Events: events, Filter: f}
}

// foreign is a configuration of every kind that does not overlap with ours.
func foreign() types.NotificationConfiguration {
	return types.NotificationConfiguration{
		QueueConfigurations: []types.QueueConfiguration{queue("a", "arn:q", filter("prefix", "other/"), created)},
		TopicConfigurations: []types.TopicConfiguration{{Id: aws.String("b"), TopicArn: aws.String("arn:t"), Events: []types.Event{"s3:ObjectRemoved:*"}}},
		LambdaFunctionConfigurations: []types.LambdaFunctionConfiguration{{
			Id: aws.String("c"), LambdaFunctionArn: aws.String("arn:f"), Events: []types.Event{"s3:ObjectCreated:Put"}, Filter: filter("Prefix", "out/", "Suffix", ".csv"),
		}},
		EventBridgeConfiguration: &types.EventBridgeConfiguration{},
	}
}

const created = "s3:ObjectCreated:*"

func equal(t *testing.T, got, want types.NotificationConfiguration) {
	t.Helper()
	ignore := cmpopts.IgnoreUnexported(types.NotificationConfiguration{}, types.QueueConfiguration{}, types.TopicConfiguration{}, types.LambdaFunctionConfiguration{},
		types.EventBridgeConfiguration{}, types.NotificationConfigurationFilter{}, types.S3KeyFilter{}, types.FilterRule{})
	if d := cmp.Diff(want, got, ignore, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// apply makes a change that is expected to succeed.
func apply(t *testing.T, n *awscontrol.Notifications, c *awscontrol.Change, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestABucketIsConnectedAndDisconnectedAndNothingElseChanges(t *testing.T) {
	for _, via := range []awscontrol.Via{awscontrol.ViaQueue, awscontrol.ViaEventBridge} {
		b := &fakeBucket{config: foreign()}
		n := awscontrol.NewNotifications(b, b)
		for range 2 { // again: it is taken over
			c, err := n.Connect(t.Context(), wiring(via))
			apply(t, n, c, err)
		}
		want, rule := foreign(), "r on"
		if via == awscontrol.ViaQueue {
			rule = ""
			want.QueueConfigurations = append(want.QueueConfigurations, queue(ownID, queueARN, filter("prefix", "in/"), created))
		}
		equal(t, b.config, want)
		if b.rule != rule {
			t.Errorf("via %s: rule %q", via, b.rule)
		}
		c, err := n.Disconnect(t.Context(), wiring(""))
		apply(t, n, c, err)
		equal(t, b.config, foreign())
		if b.rule != "r off" {
			t.Errorf("via %s, disconnected: rule %q", via, b.rule)
		}
	}
}

func TestAWayStaysUntilItIsTakenOffByItsName(t *testing.T) {
	both := foreign()
	both.QueueConfigurations = append(both.QueueConfigurations, queue(ownID, queueARN, filter("prefix", "in/"), created))
	for _, ways := range [][]awscontrol.Via{{awscontrol.ViaQueue, awscontrol.ViaEventBridge}, {awscontrol.ViaEventBridge, awscontrol.ViaQueue}} {
		b := &fakeBucket{}
		b.config = foreign()
		b.config.EventBridgeConfiguration = nil
		n := awscontrol.NewNotifications(b, b)
		for _, via := range ways {
			c, err := n.Connect(t.Context(), wiring(via))
			apply(t, n, c, err)
		}
		if equal(t, b.config, both); b.rule != "r on" {
			t.Errorf("%v: rule %q", ways, b.rule)
		}
		c, err := n.Disconnect(t.Context(), wiring(ways[0]))
		apply(t, n, c, err)
		want, rule := foreign(), "r on"
		if ways[0] == awscontrol.ViaEventBridge {
			want, rule = both, "r off"
		}
		if equal(t, b.config, want); b.rule != rule {
			t.Errorf("%v without the first: rule %q", ways, b.rule)
		}
		if left := c.Left(); len(left) > 0 {
			t.Errorf("%v without the first: left is our own %v", ways, left)
		}
	}
	t.Run("and a rule is on before the bucket is told", func(t *testing.T) {
		b := &fakeBucket{}
		n := awscontrol.NewNotifications(b, b)
		c, err := n.Connect(t.Context(), wiring(awscontrol.ViaEventBridge))
		apply(t, n, c, err)
		if !slices.Equal(b.calls, []string{"on", "put"}) {
			t.Errorf("calls %v", b.calls)
		}
	})
}

func TestTwoStacksAreToldByOneBucket(t *testing.T) {
	b := &fakeBucket{}
	n := awscontrol.NewNotifications(b, b)
	one, two := wiring(awscontrol.ViaQueue), wiring(awscontrol.ViaQueue)
	two.Prefix, two.Queue = "on/", "arn:aws:sqs:eu-west-1:2:logs-intake"
	for _, w := range []awscontrol.Wiring{one, two} {
		c, err := n.Connect(t.Context(), w)
		apply(t, n, c, err)
	}
	want := types.NotificationConfiguration{QueueConfigurations: []types.QueueConfiguration{
		queue(ownID, queueARN, filter("prefix", "in/"), created), queue("spate-2-logs-intake", two.Queue, filter("prefix", "on/"), created),
	}}
	equal(t, b.config, want)
	c, err := n.Disconnect(t.Context(), one)
	apply(t, n, c, err)
	want.QueueConfigurations = want.QueueConfigurations[1:]
	equal(t, b.config, want)
	if left := c.Left(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestAnEntryThatIsNotOursStaysAndIsNamed(t *testing.T) {
	b := &fakeBucket{config: foreign()}
	b.config.QueueConfigurations = append(b.config.QueueConfigurations, queue("x", queueARN, nil, created))
	n := awscontrol.NewNotifications(b, b)
	c, err := n.Disconnect(t.Context(), wiring(""))
	apply(t, n, c, err)
	if left := c.Left(); len(left) != 1 || !strings.HasPrefix(left[0], "x: ") || !c.None() || b.puts != 0 {
		t.Errorf("left %v after %d puts", left, b.puts)
	}
}

func TestWhatChangesIsShownBeforeItIsWritten(t *testing.T) {
	b := &fakeBucket{config: foreign()}
	b.config.EventBridgeConfiguration = nil
	b.config.QueueConfigurations = append(b.config.QueueConfigurations, queue("spate-logs", queueARN, filter("prefix", "old/"), created))
	n := awscontrol.NewNotifications(b, b)
	c, err := n.Connect(t.Context(), wiring(awscontrol.ViaQueue))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`  a: s3:ObjectCreated:* to queue arn:q, prefix "other/"`,
		`- spate-logs: s3:ObjectCreated:* to queue ` + queueARN + `, prefix "old/"`,
		`  b: s3:ObjectRemoved:* to topic arn:t`,
		`  c: s3:ObjectCreated:Put to function arn:f, prefix "out/", suffix ".csv"`,
		`+ ` + ownID + `: s3:ObjectCreated:* to queue ` + queueARN + `, prefix "in/"`,
	}
	if got := c.Lines(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.None() || b.puts != 0 {
		t.Errorf("None is %v after %d puts", c.None(), b.puts)
	}
}

func TestOverlappingEntriesAreSeen(t *testing.T) {
	for name, c := range map[string]struct {
		other types.QueueConfiguration
		want  bool
	}{
		"the same prefix":                 {queue("x", "arn", filter("prefix", "in/"), created), true},
		"no filter":                       {queue("x", "arn", nil, created), true},
		"a prefix above":                  {queue("x", "arn", filter("prefix", "i"), created), true},
		"a prefix below":                  {queue("x", "arn", filter("prefix", "in/2026/"), created), true},
		"a suffix":                        {queue("x", "arn", filter("suffix", ".gz"), created), true},
		"one event of many":               {queue("x", "arn", nil, "s3:ObjectRemoved:*", "s3:ObjectCreated:Copy"), true},
		"a prefix beside":                 {queue("x", "arn", filter("prefix", "on/"), created), false},
		"other events":                    {queue("x", "arn", nil, "s3:ObjectRemoved:*", "s3:ObjectRestore:Completed"), false},
		"to our queue, by another's name": {queue("x", queueARN, filter("prefix", "i"), created), false},
		"to our queue, but not all":       {queue("x", queueARN, filter("prefix", "in/2026/"), created), true},
		"to our queue, with a suffix":     {queue("x", queueARN, filter("prefix", "in/", "suffix", ".gz"), created), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &fakeBucket{config: types.NotificationConfiguration{QueueConfigurations: []types.QueueConfiguration{c.other}}}
			_, err := awscontrol.NewNotifications(b, b).Connect(t.Context(), wiring(awscontrol.ViaQueue))
			over, got := errors.AsType[*awscontrol.OverlapError](err)
			if got != c.want || !got && err != nil {
				t.Errorf("got %v", err)
			}
			if got && (!strings.Contains(over.Error(), "x: s3:") || !strings.Contains(over.Error(), "--via eventbridge") || !strings.Contains(over.Error(), "SNS")) {
				t.Errorf("%q does not say what to do", over)
			}
			if _, err := awscontrol.NewNotifications(b, b).Connect(t.Context(), wiring(awscontrol.ViaEventBridge)); err != nil {
				t.Errorf("by EventBridge: %v", err)
			}
		})
	}
}

func TestAWriteBySomebodyElseAtTheSameMomentIsSeen(t *testing.T) {
	b := &fakeBucket{other: func(c *types.NotificationConfiguration) { c.QueueConfigurations = nil }}
	n := awscontrol.NewNotifications(b, b)
	c, err := n.Connect(t.Context(), wiring(awscontrol.ViaQueue))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Apply(t.Context(), c); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("got %v", err)
	}
}
