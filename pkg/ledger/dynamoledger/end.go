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
	entered := l.continuous(r.Job)
	for {
		w := l.done(r, c, by, entered)
		w.when += " AND #state = :open"
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
			entered = e.entered() // or a redrive was quicker
			continue
		}
		out, ok, err := l.undie(ctx, verb, r, e, l.done(r, c, by, e.entered()))
		if err != nil || ok {
			return out, err
		}
	}
}

// done makes a unit done that was entered, or listed. One that was entered may go
// in time, and needs no body any more.
func (l *Ledger) done(r ledger.Ref, c ledger.Counts, by []byte, entered bool) write {
	now := l.clock()
	w := write{
		key:  unitKey(r.Job, r.ID),
		set:  "SET #state = :done, #counts = :counts, #by = :by REMOVE #cursor, #faults, #rest, #last, #counted, #cause, #touched, #repeats",
		when: listed,
		values: attributes{
			"done": str(ledger.Done), "open": str(ledger.Open), "dead": str(ledger.Dead), "counts": countsValue(c), "by": bin(by),
			"now": when(now), "expires": num(now.Add(ledger.DoneTime).Unix()),
		},
		now: true,
	}
	if entered {
		w.set = "SET #state = :done, #counts = :counts, #by = :by, #ended = :now, #expires = :expires" +
			" REMOVE #cursor, #faults, #rest, #last, #counted, #cause, #repeats, #body, #unfinished"
		w.when = announced
	}
	return w
}

// What an item says of how its unit came.
const (
	listed    = "attribute_not_exists(#entered)"
	announced = "attribute_exists(#entered)"
)

// undie makes a dead unit done. In the same step the generation rises: a verdict
// that was proved with the unit dead must not pass.
func (l *Ledger) undie(ctx context.Context, verb string, r ledger.Ref, e entry, w write) (ledger.Tally, bool, error) {
	w.when += " AND #state = :dead"
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
	entered := l.continuous(r.Job)
	for {
		a, ok, err := l.update(ctx, about(verb, r), l.dead(r, serial, c, by, entered))
		if err != nil {
			return ledger.Tally{}, err
		}
		if !ok {
			e, err := l.found(ctx, verb, r, a)
			switch {
			case err != nil:
				return ledger.Tally{}, err
			case e.State == ledger.Open && e.Run == r.Run && e.Serial == serial && e.entered() != entered:
				entered = e.entered()
				continue
			case e.State != ledger.Dead || e.Run != r.Run || e.Serial != serial:
				return ledger.Tally{}, e.refuse(verb, r, serial)
			case !a.wrote(by):
				return l.look(ctx, verb, r, r.Run)
			}
		}
		return l.counted(ctx, verb, r, r.Run, tally{dead: 1, beat: 1})
	}
}

// dead makes a unit dead that was entered, or listed. One that was entered keeps
// its body, for a redrive to send, and may never have been begun.
func (l *Ledger) dead(r ledger.Ref, serial int, c ledger.Cause, by []byte, entered bool) write {
	now := l.clock()
	v := fence(r, serial)
	v["dead"], v["cause"], v["by"] = str(ledger.Dead), l.press.cause(c), bin(by)
	v["now"], v["place"] = when(now), str(deadPlace(r.Run, now))
	w := write{
		key:    unitKey(r.Job, r.ID),
		set:    "SET #state = :dead, #cause = :cause, #by = :by",
		when:   held + " AND " + listed,
		values: v,
	}
	if entered {
		w.set += ", #ended = :now, #unfinished = :place"
		w.when = "#state = :open AND #run = :run AND #serial = :serial AND " + announced
	}
	return w
}

// counted counts a unit that ended and says how far its shard is.
func (l *Ledger) counted(ctx context.Context, verb string, r ledger.Ref, run int, t tally) (ledger.Tally, error) {
	sum, err := l.count(ctx, about(verb, r), r.Job, run, r.ID.Shard(), t)
	if err != nil {
		return ledger.Tally{}, err
	}
	return l.said(ctx, verb, r, run, sum)
}
