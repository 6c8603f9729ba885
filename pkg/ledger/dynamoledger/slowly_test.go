package dynamoledger_test

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

// slowly calls around each request that may come with others.
type slowly struct {
	dynamoledger.API
	around func() (after func())
}

func (s slowly) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	defer s.around()()
	return s.API.UpdateItem(ctx, in, o...)
}

func (s slowly) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	defer s.around()()
	return s.API.Query(ctx, in, o...)
}
