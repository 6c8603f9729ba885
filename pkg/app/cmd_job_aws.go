package app

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/awsconfig"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/control/awscontrol"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// connectAWS reaches a stack on AWS.
func connectAWS(ctx context.Context, name string, given control.Stack) (*control.Control, error) {
	cfg, err := awsconfig.Load(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	if name != "" {
		found, err := awscontrol.Find(ctx, cloudformation.NewFromConfig(cfg), name)
		if err != nil {
			return nil, &exitError{err, exitIncomplete}
		}
		given = given.Or(found)
	}
	o := control.Options{
		Functions: awscontrol.NewFunctions(lambda.NewFromConfig(cfg)),
		Lister:    given.Lister, Finalizer: given.Finalizer, Intake: given.Intake,
		IntakeARN: given.IntakeARN, Rule: given.Rule, Stat: statS3,
	}
	if given.ReportURL != "" {
		client, err := s3object.NewClient(ctx, s3object.ClientOptions{})
		if err != nil {
			return nil, err
		}
		if o.Reports, err = awscontrol.NewReports(client, given.ReportURL); err != nil {
			return nil, err
		}
	}
	if given.FeedURL != "" {
		o.Feed = sqsfeed.New(sqs.NewFromConfig(cfg), given.FeedURL, sqsfeed.Options{DeadLetterURL: given.DeadLetterURL})
	}
	return control.New(dynamoledger.New(dynamodb.NewFromConfig(cfg), given.Table, dynamoledger.Options{}), o), nil
}

// statS3 looks up the current version of an object.
func statS3(ctx context.Context, bucket, key string) (unit.Object, error) {
	client, err := s3object.NewClient(ctx, s3object.ClientOptions{})
	if err != nil {
		return unit.Object{}, err
	}
	return s3object.New(client, bucket, "", s3object.Options{}).Stat(ctx, key)
}

// notificationsAWS wires buckets on AWS.
func notificationsAWS(ctx context.Context) (*awscontrol.Notifications, error) {
	cfg, err := awsconfig.Load(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	client, err := s3object.NewClient(ctx, s3object.ClientOptions{})
	if err != nil {
		return nil, err
	}
	return awscontrol.NewNotifications(client, eventbridge.NewFromConfig(cfg)), nil
}
