package awscontrol

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// StackAPI is the part of *cloudformation.Client that Find calls.
type StackAPI interface {
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
}

// ErrNoStack says that the account has no stack of that name in the region.
var ErrNoStack = errors.New("no such stack")

// Find reads from CloudFormation where the parts of the named stack are.
// ErrNoStack.
func Find(ctx context.Context, api StackAPI, name string) (control.Stack, error) {
	out, err := api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if a, ok := awsfailure.AnswerOf(err); ok && a.Code == "ValidationError" && strings.Contains(a.Message, "does not exist") {
		return control.Stack{}, noStack(name)
	}
	if err != nil {
		return control.Stack{}, awsfailure.Classify(ctx, err, "describe stack "+name, nil)
	}
	if len(out.Stacks) == 0 {
		return control.Stack{}, noStack(name)
	}
	values := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	s := control.Outputs(func(key string) string { return values[key] })
	if s.Table == "" {
		return s, fmt.Errorf("stack %s is %s and has no output JobTable: was it made from this project's template?", name, out.Stacks[0].StackStatus)
	}
	return s, nil
}

func noStack(name string) error {
	return fmt.Errorf("%w: %s: check its name, AWS_REGION and AWS_PROFILE", ErrNoStack, name)
}
