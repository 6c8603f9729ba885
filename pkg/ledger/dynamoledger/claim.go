package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

func claimKey(job string, id unit.ObjectID) attributes {
	return key(shardPartition(job, id.Shard()), string(id))
}

// claimed enters a claim if there is none, or one that may be taken again.
func (l *Ledger) claimed(job string, c ledger.Claim) write {
	now := l.clock()
	return write{
		key:  claimKey(job, c.ID),
		set:  "SET #unit = :unit, #take = :take, #since = :now, #expires = :expires REMOVE #overwritten",
		when: "attribute_not_exists(#pk) OR (#overwritten = :yes AND #take = :before)",
		values: attributes{
			"unit": str(c.Unit), "take": num(c.Take), "before": num(c.Take - 1), "yes": flag(true),
			"now": when(now), "expires": num(now.Add(ledger.DoneTime).Unix()),
		},
	}
}

func decodeClaim(a attributes) (ledger.Held, error) {
	f := fields{of: a}
	h := ledger.Held{
		Claim:       ledger.Claim{ID: unit.ObjectID(f.text("sk")), Unit: unit.ID(f.text("unit")), Take: f.int("take")},
		Overwritten: f.flag("overwritten"), Since: f.time("since"),
	}
	if f.err != nil {
		return ledger.Held{}, fmt.Errorf("read claim %s: %w", h.ID, f.err)
	}
	return h, nil
}

// bars reports whether the claim h keeps c from being entered.
func bars(h ledger.Held, c ledger.Claim) bool {
	return h.Unit != c.Unit && (!h.Overwritten || h.Take != c.Take-1)
}

// Claimed implements [ledger.Intaker].
func (l *Ledger) Claimed(ctx context.Context, job string, id unit.ObjectID) (ledger.Held, error) {
	do := onJob(fmt.Sprintf("look up object %s of", id), job)
	a, err := l.get(ctx, do, claimKey(job, id))
	if err != nil {
		return ledger.Held{}, err
	}
	if a == nil {
		if _, err := l.head(ctx, do); err != nil {
			return ledger.Held{}, err
		}
		return ledger.Held{}, fmt.Errorf("%s: %w", do, ledger.ErrNoClaim)
	}
	return decodeClaim(a)
}
