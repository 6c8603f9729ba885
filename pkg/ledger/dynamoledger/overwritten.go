package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// Overwritten implements [ledger.Announced]. The item is told of the fault, if
// there is none or one of a higher record; if there is another, that one becomes
// overwritten. Which of them it is, the first write that is refused shows.
func (l *Ledger) Overwritten(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault, o unit.Object) error {
	const verb = "mark a member overwritten in"
	f.Overwritten = true
	fault := faulty(r, serial, f, false)
	claim := []types.TransactWriteItem{l.part(write{
		key:    claimKey(r.Job, o.ID()),
		set:    "SET #overwritten = :yes",
		when:   "#take = :take",
		values: attributes{"yes": flag(true), "take": num(o.Take)},
	})}
	for {
		refused, err := l.transact(ctx, about(verb, r), append([]types.TransactWriteItem{l.part(fault)}, claim...)...)
		if err != nil || refused == nil {
			return err
		}
		a, is := refused.of(0)
		if !is {
			claim = nil // there is none, or it was taken again
			continue
		}
		e, err := l.found(ctx, verb, r, a)
		switch {
		case err != nil:
			return err
		case !e.holds(r, serial):
			return e.refuse(verb, r, serial)
		case e.recorded(f):
			fault = overwriting(r, serial, f)
		default:
			fault = faulty(r, serial, f, true)
		}
	}
}

// recorded reports whether a fault of f's member is there that f does not
// replace.
func (e *entry) recorded(f ledger.Fault) bool {
	for _, is := range e.Faults {
		if is.Member == f.Member {
			return is.Record <= f.Record
		}
	}
	return false
}

// overwriting makes a fault that is there one for f's reason. It goes on from the
// record where it did.
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
