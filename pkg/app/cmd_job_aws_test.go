package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/report"
)

// parts is a stack that has no functions.
const parts = `{"Resources":{
"Queue":{"Type":"AWS::SQS::Queue"},"Dead":{"Type":"AWS::SQS::Queue"},"Reports":{"Type":"AWS::S3::Bucket"},
"Table":{"Type":"AWS::DynamoDB::Table","Properties":{"BillingMode":"PAY_PER_REQUEST",
 "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],
 "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}}},
"Outputs":{"JobTable":{"Value":{"Ref":"Table"}},"FeedQueueUrl":{"Value":{"Ref":"Queue"}},"DeadLetterQueueUrl":{"Value":{"Ref":"Dead"}},
 "ReportUrl":{"Value":{"Fn::Sub":"s3://${Reports}/jobs"}},"ListerFunction":{"Value":"spate-no-lister"},"FinalizerFunction":{"Value":"spate-no-finalizer"}}}`

// deployed makes a stack of parts and returns its name and outputs. It leaves it.
func deployed(t *testing.T, cfg aws.Config) (name string, outputs map[string]string) {
	t.Helper()
	client := cloudformation.NewFromConfig(cfg)
	name = fmt.Sprintf("spate-app-%08x", rand.Uint32())
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(parts)})
	if _, there := errors.AsType[*types.AlreadyExistsException](err); err != nil && !there { // there: the SDK asked twice, the name is nobody else's
		t.Fatal(err)
	}
	describe := &cloudformation.DescribeStacksInput{StackName: &name}
	if err := cloudformation.NewStackCreateCompleteWaiter(client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	}).Wait(t.Context(), describe, time.Minute); err != nil {
		t.Fatal(err)
	}
	out, err := client.DescribeStacks(t.Context(), describe)
	if err != nil {
		t.Fatal(err)
	}
	outputs = map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	return name, outputs
}

func TestJobCommandsReachAStackByItsName(t *testing.T) {
	cfg := awstest.Config(t, "")
	name, outputs := deployed(t, cfg)
	l := dynamoledger.New(dynamodb.NewFromConfig(cfg), outputs["JobTable"], dynamoledger.Options{})
	meta, err := l.Start(t.Context(), "logs", ledger.Start{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	spate := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		got, stdout, stderr := cliTo(t, connectAWS, append(args, "--stack", name)...)
		if got != code {
			t.Errorf("spate %s: code %d: %s%s", strings.Join(args, " "), got, stdout, stderr)
		}
		return stdout, stderr
	}
	if text, _ := spate(exitOK, "job", "list"); !strings.Contains(text, "\nlogs   1     listing") {
		t.Errorf("list: %s", text)
	}
	if text, _ := spate(exitOK, "job", "status", "logs"); !strings.Contains(text, "feed      0 waiting, 0 in flight, 0 dead letters, of all jobs\n") {
		t.Errorf("status: %s", text)
	}
	if _, text := spate(exitIncomplete, "job", "start", "logs"); !strings.Contains(text, "invoke function spate-no-lister: ") || strings.Count(text, "\n") != 1 {
		t.Errorf("start: %s", text)
	}
	if out, text := spate(exitOK, "job", "cancel", "logs"); !strings.Contains(out, "job logs, run 1 is cancelled") || !strings.Contains(text, "the finalizer could not be called") {
		t.Errorf("cancel: %s%s", out, text)
	}
	if text, _ := spate(exitOK, "job", "report", "logs"); !strings.Contains(text, "run 1: cancelled") {
		t.Errorf("a report of the ledger: %s", text)
	}
	wrote, err := json.Marshal(report.Report{Job: "logs", Run: 1, State: report.Cancelled, Reason: "as it was written"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := s3object.NewClient(t.Context(), s3object.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bucket := strings.Split(outputs["ReportUrl"], "/")[2]
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &bucket, Key: aws.String("jobs/" + report.Key("logs", 1, meta.Generation)), Body: bytes.NewReader(wrote),
	}); err != nil {
		t.Fatal(err)
	}
	if text, _ := spate(exitOK, "job", "report", "logs"); !strings.Contains(text, "as it was written") {
		t.Errorf("the finalizer's report: %s", text)
	}
}

func TestAStackThatIsNotInTheAccountIsAnError(t *testing.T) {
	awstest.Config(t, "")
	code, _, stderr := cliTo(t, connectAWS, "job", "list", "--stack", "spate-no-such-stack")
	if code != exitIncomplete || stderr != "spate: no such stack: spate-no-such-stack: check its name, AWS_REGION and AWS_PROFILE\n" {
		t.Errorf("code %d: %s", code, stderr)
	}
}
