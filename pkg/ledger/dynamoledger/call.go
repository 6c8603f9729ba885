package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
)

// write is a conditional write of one item. Its expressions always write an
// attribute as #name, because a reserved word would be refused, and a value as
// :name.
type write struct {
	key    attributes
	set    string // update expression
	when   string // condition
	values attributes
	now    bool // return the item as it is afterwards
}

// names maps the #names in the expressions to attributes.
func names(expressions ...string) map[string]string {
	m := map[string]string{}
	for name := range tokens('#', expressions...) {
		m["#"+name] = name
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// used is those of the values that the expressions use: DynamoDB refuses values
// that none uses.
func (a attributes) used(expressions ...string) attributes {
	m := attributes{}
	for name := range tokens(':', expressions...) {
		m[":"+name] = a[name]
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// tokens are the words that follow the mark.
func tokens(mark byte, expressions ...string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range expressions {
			for i := 0; i < len(e); i++ {
				if e[i] != mark {
					continue
				}
				start := i + 1
				for i++; i < len(e) && (e[i] >= 'a' && e[i] <= 'z' || e[i] >= '0' && e[i] <= '9'); i++ {
				}
				if !yield(e[start:i]) {
					return
				}
			}
		}
	}
}

func text(expression string) *string {
	if expression == "" {
		return nil
	}
	return &expression
}

// failed classifies the error of a call.
func (l *Ledger) failed(ctx context.Context, err error, action string, do op) error {
	call := fmt.Sprintf("%s: dynamodb:%s on table %s", do, action, l.table)
	if failed := awsfailure.Classify(ctx, err, call, nil); failure.Marked(failed) {
		return failed
	}
	return fmt.Errorf("%s: %w", do, err)
}

// get reads an item strongly consistently; nil if there is none.
func (l *Ledger) get(ctx context.Context, do op, key attributes) (attributes, error) {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, l.failed(ctx, err, "GetItem", do)
	}
	return out.Item, nil
}

// update carries out w. If its condition does not hold, ok is false and now is
// the item that it does not hold for, nil if there is none.
func (l *Ledger) update(ctx context.Context, do op, w write) (now attributes, ok bool, err error) {
	in := &dynamodb.UpdateItemInput{
		TableName:                           &l.table,
		Key:                                 w.key,
		UpdateExpression:                    text(w.set),
		ConditionExpression:                 text(w.when),
		ExpressionAttributeNames:            names(w.set, w.when),
		ExpressionAttributeValues:           w.values.used(w.set, w.when),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if w.now {
		in.ReturnValues = types.ReturnValueAllNew
	}
	var out *dynamodb.UpdateItemOutput
	err = calm(ctx, func() (err error) {
		out, err = l.client.UpdateItem(ctx, in)
		return err
	})
	if refused, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return refused.Item, false, nil
	}
	if err != nil {
		return nil, false, l.failed(ctx, err, "UpdateItem", do)
	}
	return out.Attributes, true, nil
}

// remove deletes an item if the condition of w holds.
func (l *Ledger) remove(ctx context.Context, do op, w write) error {
	err := calm(ctx, func() error {
		_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &l.table, Key: w.key, ConditionExpression: text(w.when),
			ExpressionAttributeNames: names(w.when), ExpressionAttributeValues: w.values.used(w.when),
		})
		return err
	})
	if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); err == nil || refused {
		return nil
	}
	return l.failed(ctx, err, "DeleteItem", do)
}

// part is w as part of a transaction.
func (l *Ledger) part(w write) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                           &l.table,
		Key:                                 w.key,
		UpdateExpression:                    text(w.set),
		ConditionExpression:                 text(w.when),
		ExpressionAttributeNames:            names(w.set, w.when),
		ExpressionAttributeValues:           w.values.used(w.set, w.when),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// check is a part of a transaction that only has a condition.
func (l *Ledger) check(w write) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:                           &l.table,
		Key:                                 w.key,
		ConditionExpression:                 text(w.when),
		ExpressionAttributeNames:            names(w.when),
		ExpressionAttributeValues:           w.values.used(w.when),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// put is a part of a transaction that writes a whole item, on w's condition if
// it has one.
func (l *Ledger) put(item attributes, w write) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName:                 &l.table,
		Item:                      item,
		ConditionExpression:       text(w.when),
		ExpressionAttributeNames:  names(w.when),
		ExpressionAttributeValues: w.values.used(w.when),
	}}
}

// refusal says which parts of a transaction had a condition that did not hold.
type refusal []types.CancellationReason

const unmet = "ConditionalCheckFailed"

// of reports whether that part was refused, and returns the item that its
// condition did not hold for.
func (r refusal) of(part int) (attributes, bool) {
	if part >= len(r) || aws.ToString(r[part].Code) != unmet {
		return nil, false
	}
	return r[part].Item, true
}

// transact carries out all parts or none. The refusal is nil if it carried them
// out; otherwise nothing is known of the conditions that it does not name. The
// SDK gives the transaction a token, so that one whose answer was lost is not
// carried out twice.
func (l *Ledger) transact(ctx context.Context, do op, parts ...types.TransactWriteItem) (refusal, error) {
	err := calm(ctx, func() error {
		_, err := l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})
		return err
	})
	if err == nil {
		return nil, nil
	}
	if cancelled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		if reasons := refusal(cancelled.CancellationReasons); reasons.any(unmet) {
			return reasons, nil
		} else if crowded(err) {
			return nil, failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s: dynamodb:TransactWriteItems on table %s: %w", do, l.table, err)
		}
	}
	return nil, l.failed(ctx, err, "TransactWriteItems", do)
}

func (r refusal) any(codes ...string) bool {
	return slices.ContainsFunc(r, func(c types.CancellationReason) bool { return slices.Contains(codes, aws.ToString(c.Code)) })
}

// calm repeats a call that ran into another's transaction, or that was
// cancelled for load. The SDK does not: it takes both for answers.
func calm(ctx context.Context, call func() error) error {
	p := backoff.Policy{Base: 20 * time.Millisecond, Max: time.Second, Retries: 9}
	return backoff.Retry(ctx, p, crowded, call)
}

func crowded(err error) bool {
	if _, is := errors.AsType[*types.TransactionConflictException](err); is {
		return true
	}
	c, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		return false
	}
	reasons := refusal(c.CancellationReasons)
	return !reasons.any(unmet) && reasons.any("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded")
}

// query calls yield for the items of a partition, in the order of their keys.
// It reads strongly consistently, except from an index. One page of at most 1
// MB is held.
func (l *Ledger) query(ctx context.Context, do op, q dynamodb.QueryInput, yield func(attributes) error) error {
	q.TableName, q.ConsistentRead = &l.table, aws.Bool(q.IndexName == nil)
	for {
		out, err := l.client.Query(ctx, &q)
		if err != nil && q.IndexName != nil && unindexed(err) {
			return l.noIndex(err, do)
		}
		if err != nil {
			return l.failed(ctx, err, "Query", do)
		}
		for _, item := range out.Items {
			if err := yield(item); err != nil {
				return err
			}
		}
		if q.ExclusiveStartKey = out.LastEvaluatedKey; len(q.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// batchKeys is how many items a batch may ask for.
const batchKeys = 100

// batch reads items by their keys, in no order. Keys without an item are left
// out.
func (l *Ledger) batch(ctx context.Context, do op, keys []attributes, attributesWanted string) (items []attributes, err error) {
	for chunk := range slices.Chunk(keys, batchKeys) {
		ask := types.KeysAndAttributes{
			ConsistentRead:           aws.Bool(true),
			ProjectionExpression:     text(attributesWanted),
			ExpressionAttributeNames: names(attributesWanted),
		}
		for _, k := range chunk {
			ask.Keys = append(ask.Keys, k)
		}
		if items, err = l.fill(ctx, do, ask, items); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// fill asks until nothing is left unprocessed. Unprocessed keys are how a batch
// says that it was throttled.
func (l *Ledger) fill(ctx context.Context, do op, ask types.KeysAndAttributes, items []attributes) ([]attributes, error) {
	const idle = 8 // answers in a row that process nothing
	for n := 0; len(ask.Keys) > 0; n++ {
		if n > idle {
			return nil, failure.Errorf(failure.Transient, failure.RetriesExhausted,
				"%s: dynamodb:BatchGetItem on table %s: %d items stay unprocessed: the table is throttled", do, l.table, len(ask.Keys))
		}
		if n > 0 {
			if err := backoff.Wait(ctx, backoff.Delay(25*time.Millisecond, 2*time.Second, n)); err != nil {
				return nil, fmt.Errorf("%s: %w", do, err)
			}
		}
		out, err := l.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{l.table: ask}})
		if err != nil {
			return nil, l.failed(ctx, err, "BatchGetItem", do)
		}
		for _, item := range out.Responses[l.table] {
			items = append(items, item)
		}
		left := out.UnprocessedKeys[l.table].Keys
		if len(left) < len(ask.Keys) {
			n = 0 // keys without an item count as processed too
		}
		ask.Keys = left
	}
	return items, nil
}
