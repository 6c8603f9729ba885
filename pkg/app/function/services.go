package function

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/awsconfig"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/control/awscontrol"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/object/s3object"
)

// services are what the functions of a stack share, as the environment names it.
// A client is made where it is used: a function pays at its start for no other.
type services struct {
	env    environment
	log    *slog.Logger
	config aws.Config
}

func connect(ctx context.Context, set setup) (*services, error) {
	cfg, err := awsconfig.Load(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	return &services{env: set.env, log: set.log, config: cfg}, nil
}

// open reads the pipeline file into s and opens what every function works with.
func (s *setup) open(ctx context.Context) (*services, *dynamoledger.Ledger, *sqsfeed.Feed, error) {
	if err := s.load(); err != nil {
		return nil, nil, nil, err
	}
	services, err := connect(ctx, *s)
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := services.ledger()
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := services.feed()
	return services, l, f, err
}

func (s *services) ledger() (*dynamoledger.Ledger, error) {
	table, err := s.env.need(envTable)
	if err != nil {
		return nil, err
	}
	return dynamoledger.New(dynamodb.NewFromConfig(s.config), table, dynamoledger.Options{}), nil
}

func (s *services) feed() (*sqsfeed.Feed, error) {
	queue, err := s.env.need(envFeed)
	if err != nil {
		return nil, err
	}
	limit, err := s.env.count(envMaxReceives)
	if err != nil {
		return nil, err
	}
	return sqsfeed.New(sqs.NewFromConfig(s.config), queue, sqsfeed.Options{
		MaxReceives: limit, DeadLetterURL: s.env.get(envDeadLetters), Log: s.log,
	}), nil
}

// finalize returns what asks the finalizer for a proof.
func (s *services) finalize() (func(ctx context.Context, job string) error, error) {
	name, err := s.env.need(envFinalizer)
	if err != nil {
		return nil, err
	}
	functions := s.functions()
	return func(ctx context.Context, job string) error {
		return queue(ctx, functions, name, control.FinalizeRequest{Job: job})
	}, nil
}

// list returns what starts a lister that goes on with a run.
func (s *services) list() (func(ctx context.Context, job string, run int) error, error) {
	name, err := s.env.need(envLister)
	if err != nil {
		return nil, err
	}
	functions := s.functions()
	return func(ctx context.Context, job string, run int) error {
		return queue(ctx, functions, name, control.ListRequest{Job: job, Run: run})
	}, nil
}

func (s *services) functions() *awscontrol.Functions {
	return awscontrol.NewFunctions(lambda.NewFromConfig(s.config))
}

// queue hands a function an event and does not wait for what it does with it.
func queue(ctx context.Context, f *awscontrol.Functions, name string, event any) error {
	payload, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("invoke %s: %w", name, err)
	}
	return f.Queue(ctx, name, payload)
}

// reports returns where reports are kept.
func (s *services) reports(ctx context.Context) (*awscontrol.Reports, error) {
	url, err := s.env.need(envReports)
	if err != nil {
		return nil, err
	}
	client, err := s3object.NewClient(ctx, s3object.ClientOptions{})
	if err != nil {
		return nil, err
	}
	return awscontrol.NewReports(client, url)
}

// invocation is the id of the event at hand, which is the same when the platform
// repeats it.
func invocation(ctx context.Context) string {
	if c, ok := lambdacontext.FromContext(ctx); ok {
		return c.AwsRequestID
	}
	return ""
}
