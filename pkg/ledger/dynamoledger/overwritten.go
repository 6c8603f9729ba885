package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Overwritten implements [ledger.Announced]. The fault is written if the member
// has none, or one with a higher record; otherwise the fault that is there
// becomes overwritten. Which of the two it is shows when the first write is
// refused.
func (l *Ledger) Overwritten(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault, o unit.Object) error {
	do := op{"mark a member overwritten in", r}
	f.Overwritten = true
	fault := faulty(r, serial, f, false)
	claim := []types.TransactWriteItem{l.part(write{
		key:    claimKey(r.Job, o.ID()),
		set:    "SET #overwritten = :yes",
		when:   "#take = :take",
		values: attributes{"yes": flag(true), "take": num(o.Take)},
	})}
	for {
		refused, err := l.transact(ctx, do, append([]types.TransactWriteItem{l.part(fault)}, claim...)...)
		if err != nil || refused == nil {
			return err
		}
		a, is := refused.of(0)
		if !is {
			claim = nil // there is no claim, or it was taken again
			continue
		}
		e, err := l.found(ctx, do, a)
		switch {
		case err != nil:
			return err
		case !e.holds(r, serial):
			return e.refuse(do, serial)
		case e.recorded(f):
			fault = overwriting(r, serial, f)
		default:
			fault = faulty(r, serial, f, true)
		}
	}
}

// recorded reports whether f's member has a fault that f does not replace.
func (e *entry) recorded(f ledger.Fault) bool {
	for _, is := range e.Faults {
		if is.Member == f.Member {
			return is.Record <= f.Record
		}
	}
	return false
}

// overwriting gives an existing fault f's reason and marks it overwritten. Its
// record stays.
func overwriting(r ledger.Ref, serial int, f ledger.Fault) write {
	fault := "#faults.#" + faultName(f.Member)
	v := fence(r, serial)
	v["reason"], v["detail"] = str(f.Reason), str(cut(f.Detail, maxCrowdedDetail))
	return write{
		key:    unitKey(r.Job, r.ID),
		set:    "SET " + fault + ".#reason = :reason, " + fault + ".#detail = :detail, " + fault + ".#overwritten = :yes",
		when:   held + " AND attribute_exists(" + fault + ")",
		values: v,
	}
}
