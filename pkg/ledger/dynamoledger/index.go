package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// The place of a unit in the index is its run, its state and a time: when it was
// entered or, for a dead one, when it died. So what is asked for stands together,
// the oldest first, and nothing that a reader writes during its work moves it.
func placeAt(prefix string, at time.Time) string {
	return fmt.Sprintf("%s%019d", prefix, at.UnixNano())
}

// ofIndex is the prefix of the places of a run, indexPrefix that of a state in
// it.
func ofIndex(run int) string { return fmt.Sprintf("%08d#", run) }

func indexPrefix(run int, s ledger.UnitState) string { return ofIndex(run) + string(s) + "#" }

func openPlace(run int, entered time.Time) string {
	return placeAt(indexPrefix(run, ledger.Open), entered)
}

func deadPlace(run int, ended time.Time) string { return placeAt(indexPrefix(run, ledger.Dead), ended) }

// indexed is a query for the places of a shard that begin with prefix; with
// upTo, for those from prefix up to it.
func indexed(job string, shard int, prefix, upTo string) dynamodb.QueryInput {
	where := "#pk = :pk AND begins_with(#unfinished, :prefix)"
	if upTo != "" {
		where = "#pk = :pk AND #unfinished BETWEEN :prefix AND :upto"
	}
	v := attributes{"pk": str(shardPartition(job, shard)), "prefix": str(prefix), "upto": str(upTo)}
	return dynamodb.QueryInput{
		IndexName: aws.String(Index), KeyConditionExpression: &where,
		ExpressionAttributeNames: names(where), ExpressionAttributeValues: v.used(where),
	}
}

// indexedItems calls yield for the items that q finds in the index, by id, as a
// consistent read returns them. The index may be behind: they may be done by
// now.
func (l *Ledger) indexedItems(ctx context.Context, do op, q dynamodb.QueryInput, wanted string, yield func(attributes) error) error {
	var found []string
	pk := q.ExpressionAttributeValues[":pk"]
	err := l.query(ctx, do, q, func(a attributes) error {
		f := fields{of: a}
		found = append(found, f.text("sk"))
		return f.err
	})
	if err != nil {
		return err
	}
	slices.Sort(found)
	for chunk := range slices.Chunk(slices.Compact(found), batchKeys) {
		keys := make([]attributes, len(chunk))
		for i, sk := range chunk {
			keys[i] = attributes{"pk": pk, "sk": str(sk)}
		}
		items, err := l.batch(ctx, do, keys, wanted)
		if err != nil {
			return err
		}
		slices.SortFunc(items, func(a, b attributes) int { return strings.Compare(sortKey(a), sortKey(b)) })
		for _, a := range items {
			if err := yield(a); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortKey(a attributes) string { f := fields{of: a}; return f.text("sk") }

// unindexed reports whether a query was refused for the index that it names.
func unindexed(err error) bool {
	refused, is := errors.AsType[smithy.APIError](err)
	return is && refused.ErrorCode() == "ValidationException" && strings.Contains(refused.ErrorMessage(), "index")
}

// noIndex is the error for a query without its index. It says what to do: to
// wait, while the index is being made.
func (l *Ledger) noIndex(err error, do op) error {
	if strings.Contains(err.Error(), "backfilling") {
		return failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s: index %s of table %s is being made: try again: %w", do, Index, l.table, err)
	}
	return failure.Errorf(failure.Job, failure.Config,
		"%s: table %s has no index %s, which continuous jobs need: deploy the template of this release, or add a global secondary index of that name"+
			" with partition key %s and sort key %s, both strings, of keys only: %w", do, l.table, Index, PartitionKey, IndexKey, err)
}
