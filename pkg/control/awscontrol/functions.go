package awscontrol

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// FunctionAPI is the part of *lambda.Client that Functions calls.
type FunctionAPI interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// longest is how long one call may take. A function answers in a second, or in
// a few if it has to be loaded first.
const longest = time.Minute

// Functions calls functions with Lambda.
type Functions struct{ api FunctionAPI }

var _ control.Invoker = (*Functions)(nil)

// NewFunctions returns Functions that calls them with api.
func NewFunctions(api FunctionAPI) *Functions { return &Functions{api} }

// Call invokes the function and waits for its answer.
func (f *Functions) Call(ctx context.Context, function string, payload []byte) ([]byte, error) {
	out, err := f.invoke(ctx, function, payload, types.InvocationTypeRequestResponse)
	if err != nil {
		return nil, err
	}
	if out.FunctionError != nil {
		return nil, failed(function, out.Payload)
	}
	return out.Payload, nil
}

// Queue invokes the function asynchronously.
func (f *Functions) Queue(ctx context.Context, function string, payload []byte) error {
	_, err := f.invoke(ctx, function, payload, types.InvocationTypeEvent)
	return err
}

func (f *Functions) invoke(ctx context.Context, function string, payload []byte, how types.InvocationType) (*lambda.InvokeOutput, error) {
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	out, err := f.api.Invoke(limited, &lambda.InvokeInput{FunctionName: aws.String(function), Payload: payload, InvocationType: how})
	return out, awsfailure.Classify(ctx, err, "invoke function "+function, nil)
}

// failed is the error that a function ended with. If the function could not
// speak for itself, Lambda or its runtime did.
func failed(function string, payload []byte) error {
	var said struct {
		Message string            `json:"errorMessage"`
		Type    string            `json:"errorType"`
		Stack   []json.RawMessage `json:"stackTrace"` // of a panic
	}
	if err := json.Unmarshal(payload, &said); err != nil || said.Message == "" {
		said.Message, said.Type = string(payload), ""
	}
	return &control.FunctionError{
		Function: function, Type: said.Type, Message: said.Message,
		Crashed: said.Type == "" || len(said.Stack) > 0 || strings.HasPrefix(said.Type, "Runtime.") || strings.HasPrefix(said.Type, "Sandbox."),
	}
}
