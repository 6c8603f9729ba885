package dynamoledger

import (
	"context"

	"github.com/spate-go/spate/pkg/ledger"
)

// Done implements [ledger.Worker]. The counter is written after the item, so that
// it never is ahead; the item names the call that made it done, so that one whose
// answer was lost counts all the same.
func (l *Ledger) Done(ctx context.Context, r ledger.Ref, c ledger.Counts) (ledger.Tally, error) {
	const verb = "finish"
	do := about(verb, r)
	by := nonce()
	w := write{
		key:    unitKey(r.Job, r.ID),
		set:    "SET #state = :done, #counts = :counts, #by = :by REMOVE #cursor, #faults, #rest, #last, #counted, #cause",
		when:   "#state = :open",
		values: attributes{"done": str(ledger.Done), "open": str(ledger.Open), "dead": str(ledger.Dead), "counts": countsValue(c), "by": bin(by)},
		now:    true,
	}
	for {
		a, ok, err := l.update(ctx, do, w)
		if err != nil {
			return ledger.Tally{}, err
		}
		e, err := l.found(ctx, verb, r, a)
		switch {
		case err != nil:
			return ledger.Tally{}, err
		case ok || e.State == ledger.Done && a.wrote(by):
			return l.counted(ctx, verb, r, e.Run, doneTally(e))
		case e.State == ledger.Done:
			return l.look(ctx, verb, r, e.Run)
		case e.State == ledger.Open:
			continue // a redrive was quicker
		}
		out, ok, err := l.undie(ctx, verb, r, e, w)
		if err != nil || ok {
			return out, err
		}
	}
}

// undie makes a dead unit done. In the same step the generation rises: a verdict
// that was proved with the unit dead must not pass.
func (l *Ledger) undie(ctx context.Context, verb string, r ledger.Ref, e entry, w write) (ledger.Tally, bool, error) {
	w.when = "#state = :dead"
	refused, err := l.transact(ctx, about(verb, r),
		l.part(w),
		l.part(write{key: metaKey(r.Job), set: "SET #generation = #generation + :one", when: "attribute_exists(#pk)", values: attributes{"one": num(1)}}))
	if err != nil || refused != nil {
		return ledger.Tally{}, false, err
	}
	a, err := l.entry(ctx, verb, r) // it may have changed runs since
	if err != nil {
		return ledger.Tally{}, false, err
	}
	t := doneTally(a)
	if a.Run == e.Run {
		t.dead = -1
	}
	out, err := l.counted(ctx, verb, r, a.Run, t)
	return out, true, err
}

// Dead implements [ledger.Worker].
func (l *Ledger) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	const verb = "give up"
	by := nonce()
	v := fence(r, serial)
	v["dead"], v["cause"], v["by"] = str(ledger.Dead), l.press.cause(c), bin(by)
	a, ok, err := l.update(ctx, about(verb, r), write{
		key:    unitKey(r.Job, r.ID),
		set:    "SET #state = :dead, #cause = :cause, #by = :by",
		when:   held,
		values: v,
	})
	if err != nil {
		return ledger.Tally{}, err
	}
	if !ok {
		e, err := l.found(ctx, verb, r, a)
		if err != nil {
			return ledger.Tally{}, err
		}
		if e.State != ledger.Dead || e.Run != r.Run || e.Serial != serial {
			return ledger.Tally{}, e.refuse(verb, r, serial)
		}
		if !a.wrote(by) {
			return l.look(ctx, verb, r, r.Run)
		}
	}
	return l.counted(ctx, verb, r, r.Run, tally{dead: 1, beat: 1})
}

// counted counts a unit that ended and says how far its shard is.
func (l *Ledger) counted(ctx context.Context, verb string, r ledger.Ref, run int, t tally) (ledger.Tally, error) {
	sum, err := l.count(ctx, about(verb, r), r.Job, run, r.ID.Shard(), t)
	if err != nil {
		return ledger.Tally{}, err
	}
	return l.said(ctx, verb, r, run, sum)
}
