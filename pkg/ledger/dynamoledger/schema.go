package dynamoledger

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What a table has to have. Templates use these names too.
const (
	PartitionKey = "pk"
	SortKey      = "sk"
	Lifetime     = "expires" // its TTL attribute
	// Index is the global secondary index of the units of continuous jobs that are
	// not done. Its partition key is PartitionKey, its sort key IndexKey, and it
	// projects keys only.
	Index    = "unfinished"
	IndexKey = "unfinished"
)

// Schema is the request that makes such a table, with on-demand billing. Time
// to live takes a request of its own, for the attribute Lifetime.
func Schema(table string) *dynamodb.CreateTableInput {
	element := func(name string, t types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: t}
	}
	in := &dynamodb.CreateTableInput{
		TableName:   &table,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   []types.KeySchemaElement{element(PartitionKey, types.KeyTypeHash), element(SortKey, types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(Index),
			KeySchema:  []types.KeySchemaElement{element(PartitionKey, types.KeyTypeHash), element(IndexKey, types.KeyTypeRange)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
	for _, name := range []string{PartitionKey, SortKey, IndexKey} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
	}
	return in
}
