package aws_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	formationtypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/awsconfig"
)

// stack is one that was deployed.
type stack struct {
	name    string
	source  string // bucket, which the template makes
	outputs map[string]string
	others  map[string]string // ARNs of what is not the stack's
	mapping string            // id of the one from the feed to the reader

	config    aws.Config
	formation *cloudformation.Client
	functions *lambda.Client
	s3        *s3.Client
	sqs       *sqs.Client
	dynamo    *dynamodb.Client
	events    *eventbridge.Client
}

// deploy deploys a stack under a name that is new: an endpoint may keep the
// processes of an earlier one for a while.
func deploy(ctx context.Context) (*stack, error) {
	name := "t" + strings.ToLower(rand.Text())
	cfg, err := awsconfig.Load(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	s := &stack{
		name: name, source: name + "-source", config: cfg,
		formation: cloudformation.NewFromConfig(cfg), functions: lambda.NewFromConfig(cfg),
		sqs: sqs.NewFromConfig(cfg), dynamo: dynamodb.NewFromConfig(cfg), events: eventbridge.NewFromConfig(cfg),
		s3: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
	}
	if s.others, err = s.form(ctx, name+"-others", others); err != nil {
		return nil, err
	}
	// Two deliveries: the second one comes 15 s after a failure.
	c := exec.CommandContext(ctx, "localstack/stack", "deploy", name,
		"SourceBucket="+s.source, "CreateSourceBucket=true", "NotificationTopicArn="+s.others["Topic"], "BatchingWindow=1",
		"ReaderTimeout=60", "MaximumConcurrency=4", "MaxReceives=2")
	c.Dir = root
	c.Env = append(os.Environ(), "PIPELINE=tests/aws/testdata/pipeline.yaml")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return s, s.find(ctx)
}

// others is what a bucket may notify besides the stack's queue: two topics, to the
// first of which the stack subscribes, and a queue of somebody else.
const others = `
Resources:
  Topic: {Type: "AWS::SNS::Topic"}
  Wrapping: {Type: "AWS::SNS::Topic"}
  Queue: {Type: "AWS::SQS::Queue"}
  Topics:
    Type: AWS::SNS::TopicPolicy
    Properties:
      Topics: [!Ref Topic, !Ref Wrapping]
      PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: s3.amazonaws.com}, Action: "sns:Publish", Resource: "*"}]}
  Queues:
    Type: AWS::SQS::QueuePolicy
    Properties:
      Queues: [!Ref Queue]
      PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: s3.amazonaws.com}, Action: "sqs:SendMessage", Resource: "*"}]}
Outputs:
  Topic: {Value: !Ref Topic}
  Wrapping: {Value: !Ref Wrapping}
  Queue: {Value: !GetAtt Queue.Arn}
`

// form makes what a template says, and returns its outputs.
func (s *stack) form(ctx context.Context, name, template string) (map[string]string, error) {
	_, err := s.formation.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template})
	if _, there := errors.AsType[*formationtypes.AlreadyExistsException](err); err != nil && !there { // there: the SDK asked twice, the name is nobody else's
		return nil, err
	}
	made := cloudformation.NewStackCreateCompleteWaiter(s.formation, func(o *cloudformation.StackCreateCompleteWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	out, err := made.WaitForOutput(ctx, &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("stack %s: %w", name, err)
	}
	return outputs(out), nil
}

func outputs(out *cloudformation.DescribeStacksOutput) map[string]string {
	all := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		all[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return all
}

// find reads what was deployed.
func (s *stack) find(ctx context.Context) error {
	found, err := s.formation.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.name})
	if err != nil {
		return err
	}
	s.outputs = outputs(found)
	mappings, err := s.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(s.name + "-reader")})
	if err != nil {
		return err
	}
	if n := len(mappings.EventSourceMappings); n != 1 {
		return fmt.Errorf("the reader has %d mappings", n)
	}
	s.mapping = aws.ToString(mappings.EventSourceMappings[0].UUID)
	return nil
}

func (s *stack) delete(ctx context.Context) error {
	for _, name := range []string{s.name, s.name + "-others"} {
		if _, err := s.formation.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
			return err
		}
	}
	return nil
}

// place splits an output that is s3://bucket/prefix/.
func (s *stack) place(output string) (bucket, prefix string) {
	bucket, prefix, _ = strings.Cut(strings.TrimPrefix(s.outputs[output], "s3://"), "/")
	return bucket, prefix
}

// reading says whether the queue is polled for the reader.
func (s *stack) reading(t *testing.T, on bool) {
	t.Helper()
	_, err := s.functions.UpdateEventSourceMapping(t.Context(), &lambda.UpdateEventSourceMappingInput{UUID: &s.mapping, Enabled: &on})
	if err != nil {
		t.Fatal(err)
	}
}

// pause keeps the queue from being polled until resume or the test's end.
func (s *stack) pause(t *testing.T) (resume func()) {
	t.Helper()
	s.reading(t, false)
	resume = func() { s.reading(t, true) }
	t.Cleanup(func() {
		on := true
		_, err := s.functions.UpdateEventSourceMapping(context.WithoutCancel(t.Context()), &lambda.UpdateEventSourceMappingInput{UUID: &s.mapping, Enabled: &on})
		if err != nil {
			t.Error(err)
		}
	})
	return resume
}

// configure deploys a function with a variable set, which its pipeline file
// refers to; back deploys it as it was.
func (s *stack) configure(t *testing.T, function, name, value string) (back func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // back is for cleanups, too
	function = s.name + "-" + function
	was, err := s.functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	if err != nil {
		t.Fatal(err)
	}
	set := func(vars map[string]string) {
		t.Helper()
		_, err := s.functions.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
			FunctionName: &function, Environment: &types.Environment{Variables: vars},
		})
		if err == nil {
			err = lambda.NewFunctionUpdatedV2Waiter(s.functions, func(o *lambda.FunctionUpdatedV2WaiterOptions) { o.MinDelay = 100 * time.Millisecond }).
				Wait(ctx, &lambda.GetFunctionInput{FunctionName: &function}, time.Minute)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{name: value}
	for k, v := range was.Environment.Variables {
		vars[k] = v
	}
	set(vars)
	return func() { set(was.Environment.Variables) }
}

// invoke calls a function and returns its answer.
func (s *stack) invoke(t *testing.T, function, event string) string {
	t.Helper()
	out, err := s.functions.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(s.name + "-" + function), Payload: []byte(event)})
	if err != nil {
		t.Fatal(err)
	}
	if out.FunctionError != nil {
		t.Fatalf("%s: %s", function, out.Payload)
	}
	return string(out.Payload)
}

// tick does what the schedule does each minute.
func (s *stack) tick(t *testing.T) {
	t.Helper()
	s.invoke(t, "finalizer", "{}")
}
