package dynamoledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// table is DynamoDB in memory, with what a local endpoint does not do: it leaves
// keys unprocessed, pages its answers short, meets other transactions, and loses
// requests and answers. It knows one table, and refuses what the service refuses:
// names without a placeholder, values that nobody uses, items that are too large.
type table struct {
	mu       sync.Mutex
	items    map[[2]string]item
	calls    []string           // by name, in order
	writes   int                // items written, as the service counts: two transactions or one write
	cost     int                // write units of all that, those of the index among them
	read     int                // items that queries looked at
	shy      bool               // of conditions that do not hold, a transaction names one
	perPage  int                // items a query looks at for an answer; 0: all
	perBatch int                // items that a batch gives; 0: all, below: none
	bare     bool               // it has no index
	behind   map[[2]string]item // what the index has, where it is behind; nil: it is not
	largest  int                // bytes of the largest item so far
	repeat   int                // the call that comes twice: its first answer was lost, and the SDK repeats it
	repeats  bool               // every call does

	// before is called ahead of each call, and may make calls of its own once it
	// has set itself to nil.
	before func(call string)
	// fault is asked before each call, by its number from 1. applied: the call is
	// carried out and its answer lost.
	fault func(n int, call string) (applied bool, err error)
}

func newTable() *table { return &table{items: map[[2]string]item{}} }

func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

func place(key item) [2]string { return [2]string{text(key["pk"]), text(key["sk"])} }

// call counts a call and says whether it comes to pass.
func (t *table) call(ctx context.Context, name string, of *string, do func() error) error {
	if t.before != nil {
		t.before(name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	t.calls = append(t.calls, name)
	if of != nil && *of != "ledger" {
		return &types.ResourceNotFoundException{Message: aws.String("Requested resource not found")}
	}
	if (t.repeats || len(t.calls) == t.repeat) && name != "TransactWriteItems" { // which has a token
		_ = do()
	}
	if t.fault == nil {
		return do()
	}
	applied, err := t.fault(len(t.calls), name)
	if err == nil {
		return do()
	}
	if applied {
		_ = do()
	}
	return err
}

func (t *table) holds(when *string, names map[string]string, values item, of item, seen map[string]bool) bool {
	if when == nil {
		return true
	}
	e := &expression{words: words(*when), names: names, values: values, seen: seen, of: of}
	is := e.or()
	if len(e.words) > 0 {
		panic(fmt.Sprintf("left over: %q of %q", e.words, *when))
	}
	return is
}

// tidy panics where a name or value was given that no expression uses.
func tidy(names map[string]string, values item, seen map[string]bool) {
	for _, given := range [][]string{slices.Collect(maps.Keys(names)), slices.Collect(maps.Keys(values))} {
		for _, name := range given {
			if !seen[name] {
				panic(name + " is not used")
			}
		}
	}
}

// charge counts the write units of an item that becomes another, each so many
// times, and once for each place in the index that it leaves or takes.
func (t *table) charge(was, now item, times int) {
	t.cost += times * max(1, (max(size(was), size(now))+1023)/1024)
	before, after := was["unfinished"], now["unfinished"]
	if before != nil && after != nil && text(before) == text(after) {
		return
	}
	for _, place := range []types.AttributeValue{before, after} {
		if place != nil {
			t.cost++
		}
	}
}

func (t *table) store(a item) {
	n := size(a)
	if t.largest = max(t.largest, n); n > 400<<10 {
		panic(fmt.Sprintf("an item of %d bytes: %v", n, place(a)))
	}
	t.items[place(a)] = a
	t.writes++
}

// size is that of an item as the service counts it, nearly.
func size(a item) (n int) {
	for name, v := range a {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value)/2 + 2
		case *types.AttributeValueMemberM:
			n += 3 + len(v.Value) + size(v.Value)
		case *types.AttributeValueMemberSS:
			n += 3 + len(strings.Join(v.Value, "."))
		default:
			n++
		}
	}
	return n
}

func (t *table) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	err = t.call(ctx, "GetItem", in.TableName, func() error {
		if !aws.ToBool(in.ConsistentRead) {
			panic("not consistent")
		}
		out = &dynamodb.GetItemOutput{}
		if a, ok := t.items[place(in.Key)]; ok {
			out.Item = clone(a)
		}
		return nil
	})
	return out, err
}

func (t *table) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.BatchGetItemOutput, err error) {
	err = t.call(ctx, "BatchGetItem", nil, func() error {
		out = &dynamodb.BatchGetItemOutput{Responses: map[string][]item{}, UnprocessedKeys: map[string]types.KeysAndAttributes{}}
		for name, ask := range in.RequestItems {
			seen := map[[2]string]bool{}
			if len(ask.Keys) > 100 || !aws.ToBool(ask.ConsistentRead) {
				panic("not a batch as it should be")
			}
			if n := max(0, t.perBatch); t.perBatch != 0 && n < len(ask.Keys) {
				rest := ask
				rest.Keys = ask.Keys[n:]
				out.UnprocessedKeys[name], ask.Keys = rest, ask.Keys[:n]
			}
			for _, k := range slices.Backward(ask.Keys) { // in no order
				if seen[place(k)] {
					panic("a key twice")
				}
				seen[place(k)] = true
				if a, ok := t.items[place(k)]; ok {
					out.Responses[name] = append(out.Responses[name], clone(a))
				}
			}
		}
		return nil
	})
	return out, err
}

func (t *table) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = t.call(ctx, "Query", in.TableName, func() error {
		if aws.ToBool(in.ConsistentRead) == (in.IndexName != nil) {
			panic("consistent of an index, or not of the table")
		}
		found, key := t.in(text(in.ExpressionAttributeValues[":pk"])), []string{"pk", "sk"}
		if in.IndexName != nil {
			if t.bare || *in.IndexName != "unfinished" {
				return &smithy.GenericAPIError{Code: "ValidationException", Message: "The table does not have the specified index: " + *in.IndexName}
			}
			found, key = t.indexed(text(in.ExpressionAttributeValues[":pk"])), []string{"pk", "sk", "unfinished"}
		}
		if in.ExclusiveStartKey != nil {
			if len(in.ExclusiveStartKey) != len(key) {
				panic("starts at a key of something else")
			}
			for len(found) > 0 && order(found[0], in.ExclusiveStartKey) <= 0 {
				found = found[1:]
			}
		}
		out = &dynamodb.QueryOutput{}
		looked, seen := 0, map[string]bool{}
		_ = t.holds(in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, item{}, seen)
		for _, a := range found {
			if !t.holds(in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, a, seen) {
				continue
			}
			if t.perPage > 0 && looked == t.perPage {
				break
			}
			looked++
			t.read++
			if t.holds(in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, a, seen) {
				out.Items = append(out.Items, clone(a))
			}
			if looked == t.perPage {
				out.LastEvaluatedKey = only(a, key...)
			}
		}
		return nil
	})
	return out, err
}

// in are the items of a partition, in order.
func (t *table) in(pk string) (found []item) {
	for _, at := range t.keys(pk) {
		found = append(found, t.items[at])
	}
	return found
}

// indexed are those of the index: keys only.
func (t *table) indexed(pk string) (found []item) {
	index := t.items
	if t.behind != nil {
		index = t.behind
	}
	for at, a := range index {
		if at[0] == pk && a["unfinished"] != nil {
			found = append(found, only(a, "pk", "sk", "unfinished"))
		}
	}
	slices.SortFunc(found, order)
	return found
}

// order is that of items of a partition, or of the index.
func order(a, b item) int {
	if a["unfinished"] != nil && b["unfinished"] != nil && text(a["unfinished"]) != text(b["unfinished"]) {
		return strings.Compare(text(a["unfinished"]), text(b["unfinished"]))
	}
	return strings.Compare(text(a["sk"]), text(b["sk"]))
}

func only(a item, names ...string) item {
	out := item{}
	for _, name := range names {
		out[name] = a[name]
	}
	return out
}

// keys are those of a partition, in order.
func (t *table) keys(pk string) (keys [][2]string) {
	for at := range t.items {
		if at[0] == pk {
			keys = append(keys, at)
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[1], b[1]) })
	return keys
}

func (t *table) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = t.call(ctx, "UpdateItem", in.TableName, func() error {
		out = &dynamodb.UpdateItemOutput{}
		now, was, ok := t.updated(in.Key, in.UpdateExpression, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if !ok {
			t.writes++ // it costs all the same
			t.charge(was, was, 1)
			return &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed"), Item: was}
		}
		t.charge(was, now, 1)
		t.store(now)
		if in.ReturnValues == types.ReturnValueAllNew {
			out.Attributes = clone(now)
		}
		return nil
	})
	return out, err
}

// updated is an item as an update would leave it; was is as it stands, nil for
// none.
func (t *table) updated(key item, set, when *string, names map[string]string, values item) (now, was item, ok bool) {
	if a, there := t.items[place(key)]; there {
		was = clone(a)
	}
	seen := map[string]bool{}
	ok = t.holds(when, names, values, was, seen)
	e := &expression{names: names, values: values, seen: seen, of: clone(was)}
	if set != nil && (ok || was == nil) {
		e.words = words(*set)
	}
	if ok {
		maps.Copy(e.of, key)
		now = e.apply()
		tidy(names, values, seen)
	}
	return now, was, ok
}

func (t *table) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	err = t.call(ctx, "DeleteItem", in.TableName, func() error {
		seen := map[string]bool{}
		if !t.holds(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, t.items[place(in.Key)], seen) {
			return &types.ConditionalCheckFailedException{}
		}
		delete(t.items, place(in.Key))
		return nil
	})
	return &dynamodb.DeleteItemOutput{}, err
}

func (t *table) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = t.call(ctx, "TransactWriteItems", nil, func() error {
		if len(in.TransactItems) > 100 {
			panic("more than 100 actions")
		}
		reasons := make([]types.CancellationReason, len(in.TransactItems))
		var apply []func()
		bytes, failed, seen := 0, false, map[[2]string]bool{}
		for i, p := range in.TransactItems {
			at, do, was, ok := t.action(p)
			if seen[at] {
				panic("two actions on one item")
			}
			seen[at] = true
			reasons[i].Code = aws.String("None")
			if !ok && failed && t.shy {
				continue
			}
			if !ok {
				failed = true
				reasons[i] = types.CancellationReason{Code: aws.String("ConditionalCheckFailed"), Item: was}
			}
			bytes += size(was)
			if p.Put != nil {
				bytes += size(p.Put.Item)
			}
			if p.Update != nil {
				bytes += size(p.Update.ExpressionAttributeValues)
			}
			apply = append(apply, do)
		}
		if bytes > 4<<20 {
			return errors.New("ValidationException: more than 4 MB")
		}
		if failed {
			return &types.TransactionCanceledException{CancellationReasons: reasons}
		}
		for _, do := range apply {
			do()
		}
		return nil
	})
	return &dynamodb.TransactWriteItemsOutput{}, err
}

func (t *table) action(p types.TransactWriteItem) (at [2]string, do func(), was item, ok bool) {
	switch {
	case p.Update != nil:
		u := p.Update
		now, was, ok := t.updated(u.Key, u.UpdateExpression, u.ConditionExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues)
		return place(u.Key), func() { t.charge(was, now, 2); t.store(now) }, was, ok
	case p.Put != nil:
		at, seen := place(p.Put.Item), map[string]bool{}
		ok := t.holds(p.Put.ConditionExpression, p.Put.ExpressionAttributeNames, p.Put.ExpressionAttributeValues, t.items[at], seen)
		return at, func() { t.store(clone(p.Put.Item)) }, t.items[at], ok
	case p.ConditionCheck != nil:
		c, seen := p.ConditionCheck, map[string]bool{}
		ok := t.holds(c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues, t.items[place(c.Key)], seen)
		tidy(c.ExpressionAttributeNames, c.ExpressionAttributeValues, seen)
		return place(c.Key), func() {}, t.items[place(c.Key)], ok
	default:
		return place(p.Delete.Key), func() { delete(t.items, place(p.Delete.Key)) }, nil, true
	}
}
