package lambdakit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/awsconfig"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

// Stack is what functions share, made on the endpoint without a template: a
// table, a feed and an intake's queue, each with a dead-letter queue, and a
// bucket that sends no notifications by itself (Announce).
type Stack struct {
	Endpoint string
	Name     string // of the table, the bucket and the queues, in part
	Feed     string // URLs
	Dead     string
	Intake   string
	Refused  string // the intake's dead letters
	SQS      *sqs.Client
	Dynamo   *dynamodb.Client
	S3       *s3.Client

	receives int
}

// Endpoint is the AWS endpoint for stacks. Without one the test is skipped, or
// fails if SPATE_TEST_AWS says that it must run.
func Endpoint(t testing.TB) string {
	t.Helper()
	url := os.Getenv("AWS_ENDPOINT_URL")
	if url != "" {
		return url
	}
	if os.Getenv("SPATE_TEST_AWS") == "required" {
		t.Fatal("SPATE_TEST_AWS=required, and AWS_ENDPOINT_URL is not set")
	}
	t.Skip("AWS_ENDPOINT_URL is not set")
	return ""
}

// StackOptions are what stacks differ in.
type StackOptions struct {
	MaxReceives int // of the feed, before a message is a dead letter; 0: 5
	// Visibility is that of both queues; 0: 1 min. It also bounds from below
	// when a delivery is due again whose response was lost on its way to the
	// test.
	Visibility time.Duration
}

// NewStack makes a stack under a name that is new.
func NewStack(ctx context.Context, endpoint string, o StackOptions) (*Stack, error) {
	if o.MaxReceives == 0 {
		o.MaxReceives = 5
	}
	if o.Visibility == 0 {
		o.Visibility = time.Minute
	}
	cfg, err := awsconfig.Load(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	s := &Stack{
		Endpoint: endpoint, Name: "t" + strings.ToLower(rand.Text()), receives: o.MaxReceives,
		SQS: sqs.NewFromConfig(cfg), Dynamo: dynamodb.NewFromConfig(cfg),
		S3: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
	}
	if _, err := s.S3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.Name}); err != nil {
		return nil, err
	}
	if err := s.table(ctx); err != nil {
		return nil, err
	}
	return s, s.queues(ctx, o)
}

func (s *Stack) table(ctx context.Context) error {
	_, err := s.Dynamo.CreateTable(ctx, dynamoledger.Schema(s.Name))
	if _, there := errors.AsType[*dynamotypes.ResourceInUseException](err); there {
		return nil // created by the SDK's first try: nobody else has this name
	}
	return err
}

// receivesOfIntake is the template's maxReceiveCount of the intake's queue.
const receivesOfIntake = 10

func (s *Stack) queues(ctx context.Context, o StackOptions) (err error) {
	if s.Feed, s.Dead, err = s.queue(ctx, s.Name, o.Visibility, o.MaxReceives); err != nil {
		return err
	}
	s.Intake, s.Refused, err = s.queue(ctx, s.Name+"-intake", o.Visibility, receivesOfIntake)
	return err
}

// queue makes a queue and that of its dead letters.
func (s *Stack) queue(ctx context.Context, name string, visibility time.Duration, receives int) (url, letters string, err error) {
	dead, err := s.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name + "-dead")})
	if err != nil {
		return "", "", err
	}
	arn, err := s.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: dead.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", "", err
	}
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": arn.Attributes["QueueArn"], "maxReceiveCount": receives})
	if err != nil {
		return "", "", err
	}
	made, err := s.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
		"VisibilityTimeout": strconv.Itoa(int(visibility.Seconds())),
		"RedrivePolicy":     string(redrive),
	}})
	if err != nil {
		return "", "", err
	}
	return *made.QueueUrl, *dead.QueueUrl, nil
}

// Env is the environment of the stack's functions.
func (s *Stack) Env() map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL": s.Endpoint, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"FEED_QUEUE_URL": s.Feed, "FEED_MAX_RECEIVES": strconv.Itoa(s.receives), "DEAD_LETTER_QUEUE_URL": s.Dead,
		"INTAKE_QUEUE_URL": s.Intake, "INTAKE_DEAD_LETTER_QUEUE_URL": s.Refused,
		"JOB_TABLE": s.Name, "REPORT_URL": "s3://" + s.Name + "/reports/",
		"LISTER_FUNCTION": s.Name + "-lister", "FINALIZER_FUNCTION": s.Name + "-finalizer",
		"SOURCE_URL": "s3://" + s.Name + "/in/", "OUTPUT_URL": "s3://" + s.Name + "/out/",
	}
}

// Deploy makes a directory with the binary and the pipeline file beside it,
// like a function's package, and starts a function of it, behind the proxy if
// there is one.
func (s *Stack) Deploy(dir, binary, pipeline string, p *Proxy, o Options) (*Function, error) {
	if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(pipeline), 0o644); err != nil {
		return nil, err
	}
	o.Binary = filepath.Join(dir, "bootstrap")
	if err := os.Link(binary, o.Binary); err != nil {
		return nil, fmt.Errorf("deploy %s: %w", binary, err)
	}
	env := s.Env()
	if p != nil {
		env["AWS_ENDPOINT_URL"] = p.URL
	}
	maps.Copy(env, o.Env)
	o.Env = env
	return Start(o)
}
