package dynamoledger

import (
	"context"

	"github.com/spate-go/spate/pkg/ledger"
)

// Done implements [ledger.Worker]. The counter is written after the item, so
// that it is never ahead of it. The item names the call that made it done, so
// that a call whose answer was lost still counts.
func (l *Ledger) Done(ctx context.Context, r ledger.Ref, c ledger.Counts) (ledger.Tally, error) {
	do := op{"finish", r}
	by := nonce()
	entered := l.continuous(r.Job)
	for {
		w := l.done(r, c, by, entered)
		w.when += " AND #state = :open"
		a, ok, err := l.update(ctx, do, w)
		if err != nil {
			return ledger.Tally{}, err
		}
		e, err := l.found(ctx, do, a)
		switch {
		case err != nil:
			return ledger.Tally{}, err
		case ok || e.State == ledger.Done && a.wrote(by):
			return l.counted(ctx, do, e.Run, doneTally(e))
		case e.State == ledger.Done:
			return l.look(ctx, do, e.Run)
		case e.State == ledger.Open:
			entered = e.entered() // or a redrive was quicker
			continue
		}
		out, ok, err := l.undie(ctx, do, e, l.done(r, c, by, e.entered()))
		if err != nil || ok {
			return out, err
		}
	}
}

// done makes a unit done that was entered, or else listed. One that was entered
// gets a time to live, and loses its body.
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

// How an item shows whether its unit was listed or announced.
const (
	listed    = "attribute_not_exists(#entered)"
	announced = "attribute_exists(#entered)"
)

// undie makes a dead unit done. The generation rises in the same transaction: a
// verdict that was proved while the unit was dead must be refused.
func (l *Ledger) undie(ctx context.Context, do op, e entry, w write) (ledger.Tally, bool, error) {
	w.when += " AND #state = :dead"
	refused, err := l.transact(ctx, do,
		l.part(w),
		l.part(write{key: metaKey(do.Job), set: "SET #generation = #generation + :one", when: "attribute_exists(#pk)", values: attributes{"one": num(1)}}))
	if err != nil || refused != nil {
		return ledger.Tally{}, false, err
	}
	a, err := l.entry(ctx, do) // it may have changed runs since
	if err != nil {
		return ledger.Tally{}, false, err
	}
	t := doneTally(a)
	if a.Run == e.Run {
		t.dead = -1
	}
	out, err := l.counted(ctx, do, a.Run, t)
	return out, true, err
}

// Dead implements [ledger.Worker].
func (l *Ledger) Dead(ctx context.Context, r ledger.Ref, serial int, c ledger.Cause) (ledger.Tally, error) {
	do := op{"give up", r}
	by := nonce()
	entered := l.continuous(r.Job)
	for {
		a, ok, err := l.update(ctx, do, l.dead(r, serial, c, by, entered))
		if err != nil {
			return ledger.Tally{}, err
		}
		if !ok {
			e, err := l.found(ctx, do, a)
			switch {
			case err != nil:
				return ledger.Tally{}, err
			case e.State == ledger.Open && e.Run == r.Run && e.Serial == serial && e.entered() != entered:
				entered = e.entered()
				continue
			case e.State != ledger.Dead || e.Run != r.Run || e.Serial != serial:
				return ledger.Tally{}, e.refuse(do, serial)
			case !a.wrote(by):
				return l.look(ctx, do, r.Run)
			}
		}
		return l.counted(ctx, do, r.Run, tally{dead: 1, beat: 1})
	}
}

// dead makes a unit dead that was entered, or else listed. One that was entered
// keeps its body, for a redrive to send, and may never have been begun.
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

// counted counts a unit that ended and returns how far its shard is.
func (l *Ledger) counted(ctx context.Context, do op, run int, t tally) (ledger.Tally, error) {
	sum, err := l.count(ctx, do, run, do.ID.Shard(), t)
	if err != nil {
		return ledger.Tally{}, err
	}
	return l.said(ctx, do, run, sum)
}
