package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// together is how many units leave dead in one transaction: its items may have
// 4 MB in all, and one with the longest cause has a third of 1 MB.
const together = 10

// revival takes units out of dead. The job's generation rises in the same
// transaction by as many, so that no verdict that was proved before can pass.
type revival struct {
	*Ledger
	do     op
	when   string // condition of the job's item
	values attributes
	// refuse returns the error for a job that the condition does not hold for.
	refuse func(*head) error
	// opened is called with how many units of a chunk were opened, by shard.
	opened func(context.Context, map[int]int64) error
}

// revive carries out the units' writes, whose condition includes that the unit
// is dead, and returns the units for which it did not hold.
func (r *revival) revive(ctx context.Context, units []place, writeOf func(place) write) (left []place, err error) {
	for len(units) > 0 {
		chunk := units[:min(together, len(units))]
		units = units[len(chunk):]
		for len(chunk) > 0 {
			parts := []types.TransactWriteItem{r.part(r.generation(len(chunk)))}
			for _, p := range chunk {
				parts = append(parts, r.part(writeOf(p)))
			}
			refused, err := r.transact(ctx, r.do, parts...)
			if err != nil {
				return nil, err
			}
			if refused == nil {
				break
			}
			if a, is := refused.of(0); is {
				h, err := r.known(r.do, a)
				if err == nil {
					err = r.refuse(&h)
				}
				return nil, err
			}
			var again []place
			for i, p := range chunk {
				if _, is := refused.of(i + 1); is {
					left = append(left, p)
				} else {
					again = append(again, p)
				}
			}
			chunk = again
		}
		if r.opened != nil && len(chunk) > 0 {
			shards := map[int]int64{}
			for _, p := range chunk {
				shards[p.unit.ID.Shard()]++
			}
			if err := r.opened(ctx, shards); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

func (r *revival) generation(n int) write {
	v := attributes{"n": num(n)}
	for name, of := range r.values {
		v[name] = of
	}
	return write{key: metaKey(r.do.Job), set: "SET #generation = #generation + :n", when: r.when, values: v}
}
