package aws_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is what of a unit's item the tests look at.
type item struct {
	state         string
	run, attempts int
}

// items are those of a job's units, by id, as the table has them.
func (s *stack) items(t *testing.T, job string) map[string]item {
	t.Helper()
	items := map[string]item{}
	pages := dynamodb.NewScanPaginator(s.dynamo, &dynamodb.ScanInput{
		TableName:        aws.String(s.outputs["JobTable"]),
		ConsistentRead:   aws.Bool(true),
		FilterExpression: aws.String("begins_with(pk, :job) AND begins_with(sk, :unit)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":job": text("job#" + job + "#"), ":unit": text("s3-"),
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Items {
			items[textOf(a["sk"])] = item{textOf(a["state"]), number(t, a["run"]), number(t, a["attempts"])}
		}
	}
	return items
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func number(t *testing.T, v types.AttributeValue) int {
	t.Helper()
	s, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("%v is no number", v)
	}
	n, err := strconv.Atoi(s.Value)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
