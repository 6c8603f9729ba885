package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/tests/lambdakit"
)

// The calls that ledger and feed make at once, by default. All others come one
// after another.
const (
	writesAtOnce = 32
	sendsAtOnce  = 8
)

// bare makes the calls of a recording on a stack of its own: the same inputs,
// made before, in the same order and as many at once.
func (b bench) bare(ctx context.Context, r *recording) (usage, error) {
	s, err := b.stack(ctx)
	if err != nil {
		return usage{}, err
	}
	l := dynamoledger.New(s.Dynamo, s.Name, dynamoledger.Options{})
	if _, err := l.Start(ctx, job, ledger.Start{Token: "bench"}); err != nil {
		return usage{}, err
	}
	for i := range r.calls {
		r.calls[i].input = onto(s, r.calls[i].input)
	}
	took, err := measure(func() error { return replay(ctx, s, r.calls) })
	if err != nil {
		return took, err
	}
	return took, complete(ctx, l, sqsfeed.New(s.SQS, s.Feed, sqsfeed.Options{}), r.units())
}

// replay makes calls. Those of a kind that are made at once wait for one another
// before the next kind begins, as they do in the lister.
func replay(ctx context.Context, s *lambdakit.Stack, calls []call) error {
	for len(calls) > 0 {
		n, limit := alike(calls)
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(limit)
		for _, c := range calls[:n] {
			g.Go(func() error { return do(gctx, s, c.input) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// alike is how many calls at the front may be under way together, and how many of
// them at once.
func alike(calls []call) (n, limit int) {
	is := func(c call) bool { return c.unit }
	limit = writesAtOnce
	if _, send := calls[0].input.(sqs.SendMessageBatchInput); send {
		is = func(c call) bool { _, send := c.input.(sqs.SendMessageBatchInput); return send }
		limit = sendsAtOnce
	}
	for n < len(calls) && is(calls[n]) {
		n++
	}
	return max(n, 1), limit
}

func do(ctx context.Context, s *lambdakit.Stack, input any) (err error) {
	switch in := input.(type) {
	case dynamodb.GetItemInput:
		_, err = s.Dynamo.GetItem(ctx, &in)
	case dynamodb.UpdateItemInput:
		_, err = s.Dynamo.UpdateItem(ctx, &in)
		if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); refused {
			err = nil // its answer was lost, and the SDK asked again
		}
	case dynamodb.TransactWriteItemsInput:
		_, err = s.Dynamo.TransactWriteItems(ctx, &in)
	case sqs.SendMessageBatchInput:
		var out *sqs.SendMessageBatchOutput
		if out, err = s.SQS.SendMessageBatch(ctx, &in); err == nil && len(out.Failed) > 0 {
			err = fmt.Errorf("%d messages were not sent: %s", len(out.Failed), aws.ToString(out.Failed[0].Message))
		}
	default:
		err = fmt.Errorf("%T was recorded and cannot be made", input)
	}
	return err
}

// onto is the input of the same call on s.
func onto(s *lambdakit.Stack, input any) any {
	switch in := input.(type) {
	case dynamodb.GetItemInput:
		in.TableName = &s.Name
		return in
	case dynamodb.UpdateItemInput:
		in.TableName = &s.Name
		return in
	case dynamodb.TransactWriteItemsInput:
		in.TransactItems = append([]types.TransactWriteItem(nil), in.TransactItems...)
		for i, t := range in.TransactItems {
			in.TransactItems[i] = ontoTable(s, t)
		}
		return in
	case sqs.SendMessageBatchInput:
		in.QueueUrl = &s.Feed
		return in
	}
	return input
}

func ontoTable(s *lambdakit.Stack, t types.TransactWriteItem) types.TransactWriteItem {
	if t.Update != nil {
		u := *t.Update
		u.TableName = &s.Name
		t.Update = &u
	}
	if t.Put != nil {
		p := *t.Put
		p.TableName = &s.Name
		t.Put = &p
	}
	if t.ConditionCheck != nil {
		c := *t.ConditionCheck
		c.TableName = &s.Name
		t.ConditionCheck = &c
	}
	return t
}
