package dynamoledger

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
)

// Begin implements [ledger.Worker]. The job's run is the last one that this
// process has read: whoever begins a unit has read the job's meta before. A
// start whose answer was lost is not counted twice, unless another one came
// between.
func (l *Ledger) Begin(ctx context.Context, r ledger.Ref, receives, limit int) (ledger.Item, error) {
	do := op{"begin", r}
	if l.past(r.Job, r.Run) {
		e, err := l.entry(ctx, do)
		if err == nil && e.State == ledger.Open && e.Run == r.Run {
			return ledger.Item{}, fmt.Errorf("%s: the job has gone on from run %d: %w", do, r.Run, ledger.ErrState)
		}
		return e.Item, err
	}
	by := nonce()
	w := write{
		key:  unitKey(r.Job, r.ID),
		set:  "SET #serial = #serial + :one, #attempts = #attempts + :one, #counted = :yes, #last = :last, #touched = :now, #by = :by",
		when: "#state = :open AND #run = :run AND (attribute_not_exists(#by) OR #by <> :by)",
		values: attributes{
			"by": bin(by), "one": num(1), "yes": flag(true), "last": flag(receives >= limit), "open": str(ledger.Open), "run": num(r.Run), "most": num(limit - 1),
			"now": when(l.clock()),
		},
		now: true,
	}
	usual := w.when
	if receives < limit {
		w.when += " AND #attempts < :most"
	}
	for {
		a, ok, err := l.update(ctx, do, w)
		if err != nil {
			return ledger.Item{}, err
		}
		e, err := l.found(ctx, do, a)
		if err != nil || ok || a.wrote(by) || e.State != ledger.Open || e.Run != r.Run {
			return e.Item, err
		}
		// The attempts are used up: this one is the last.
		last := e.Attempts >= limit-1
		w.values["last"], w.when = flag(last || receives >= limit), usual+" AND #attempts < :most"
		if last {
			w.when = usual + " AND #attempts >= :most"
		}
	}
}

// Touch implements [ledger.Worker].
func (l *Ledger) Touch(ctx context.Context, r ledger.Ref) error {
	do := op{"touch", r}
	if !l.continuous(r.Job) {
		e, err := l.entry(ctx, do)
		if err != nil {
			return err
		}
		if !e.entered() {
			return l.beat(ctx, do)
		}
	}
	a, ok, err := l.update(ctx, do, write{
		key:    unitKey(r.Job, r.ID),
		set:    "SET #touched = :now",
		when:   "#state = :open AND #run = :run AND " + announced,
		values: attributes{"now": when(l.clock()), "open": str(ledger.Open), "run": num(r.Run)},
	})
	if err == nil && !ok {
		_, err = l.found(ctx, do, a)
	}
	if err != nil {
		return err
	}
	return l.beat(ctx, do)
}

// beat shows that something happened to the unit.
func (l *Ledger) beat(ctx context.Context, do op) error {
	_, err := l.count(ctx, do, do.Run, do.ID.Shard(), tally{beat: 1})
	return err
}

// held is the condition of a fenced write. No start has serial 0.
const held = "#state = :open AND #run = :run AND #serial = :serial AND #serial > :zero"

func fence(r ledger.Ref, serial int) attributes {
	return attributes{"open": str(ledger.Open), "run": num(r.Run), "serial": num(serial), "zero": num(0), "yes": flag(true), "no": flag(false)}
}

// holds reports whether the reader of that start of work still holds the item.
func (e *entry) holds(r ledger.Ref, serial int) bool {
	return serial > 0 && e.State == ledger.Open && e.Run == r.Run && e.Serial == serial
}

// fenced is a write by whoever still holds the unit. If the fence holds but
// another part of the condition does not, ok is false and e is the item.
func (l *Ledger) fenced(ctx context.Context, do op, serial int, w write) (e entry, ok bool, err error) {
	w.key = unitKey(do.Job, do.ID)
	a, ok, err := l.update(ctx, do, w)
	if err != nil || ok {
		return entry{}, ok, err
	}
	if e, err = l.found(ctx, do, a); err == nil && !e.holds(do.Ref, serial) {
		err = e.refuse(do, serial)
	}
	return e, false, err
}

// refuse says why a fenced write was not applied.
func (e *entry) refuse(do op, serial int) error {
	return fmt.Errorf("%s: serial %d of run %d wrote, the item is %s at %d of run %d: %w",
		do, serial, do.Run, e.State, e.Serial, e.Run, ledger.ErrFenced)
}

// Fault implements [ledger.Worker].
func (l *Ledger) Fault(ctx context.Context, r ledger.Ref, serial int, f ledger.Fault) error {
	do := op{"mark a member faulty in", r}
	e, ok, err := l.fenced(ctx, do, serial, faulty(r, serial, f, false))
	if err != nil || ok || len(e.Faults) < fewFaults {
		return err
	}
	_, _, err = l.fenced(ctx, do, serial, faulty(r, serial, f, true))
	return err
}

// faulty records a fault, unless the member has one with a Record as low. Only
// the first few faults of a unit keep long details: the write is refused when
// there are more already, unless crowded says so and the detail is cut.
func faulty(r ledger.Ref, serial int, f ledger.Fault, crowded bool) write {
	fault := "#faults.#" + faultName(f.Member)
	v := fence(r, serial)
	v["fault"], v["record"], v["few"] = faultValue(f, maxFaultDetail), num(f.Record), num(fewFaults)
	w := write{
		key:    unitKey(r.Job, r.ID),
		set:    "SET " + fault + " = :fault",
		when:   held + " AND (attribute_not_exists(" + fault + ") OR " + fault + ".#record > :record)",
		values: v,
	}
	if crowded {
		v["fault"] = faultValue(f, maxCrowdedDetail)
	} else {
		w.when += " AND size(#faults) < :few"
	}
	return w
}

// RestDone implements [ledger.Worker].
func (l *Ledger) RestDone(ctx context.Context, r ledger.Ref, serial int, c ledger.Counts) error {
	v := fence(r, serial)
	v["counts"] = countsValue(c)
	_, _, err := l.fenced(ctx, op{"mark the rest done of", r}, serial, write{set: "SET #rest = :yes, #counts = :counts REMOVE #cursor", when: held, values: v})
	return err
}

// Recovered implements [ledger.Worker].
func (l *Ledger) Recovered(ctx context.Context, r ledger.Ref, serial, member int, c ledger.Counts) error {
	do := op{"recover a member of", r}
	fault := "#faults.#" + faultName(member)
	v := fence(r, serial)
	v["counts"] = countsValue(c)
	w := write{
		set:    "SET #counts = :counts REMOVE " + fault,
		when:   held + " AND attribute_exists(" + fault + ")",
		values: v,
	}
	alone := w
	alone.when += " AND attribute_not_exists(#cursor)"
	e, ok, err := l.fenced(ctx, do, serial, alone)
	if err != nil || ok || e.Cursor == nil {
		return err
	}
	// The serial holds the cursor where it was just seen.
	if e.Cursor.Series == member+1 {
		w.set += ", #cursor"
	}
	_, _, err = l.fenced(ctx, do, serial, w)
	return err
}

// GiveBack implements [ledger.Worker].
func (l *Ledger) GiveBack(ctx context.Context, r ledger.Ref, serial int) error {
	v := fence(r, serial)
	v["one"] = num(1)
	_, _, err := l.fenced(ctx, op{"give back", r}, serial, write{
		set:    "SET #attempts = #attempts - :one REMOVE #counted, #last",
		when:   held + " AND #counted = :yes",
		values: v,
	})
	return err
}

// Pause implements [ledger.Worker]. The todo's number is the serial: whoever
// pauses again has begun again before.
func (l *Ledger) Pause(ctx context.Context, r ledger.Ref, serial int, cur ledger.Cursor, c ledger.Counts) error {
	do := op{"pause", r}
	v := fence(r, serial)
	v["cursor"], v["counts"], v["now"] = cursorValue(cur), countsValue(c), when(l.clock())
	todo := todoKey(r.Job, r.ID)
	todo["run"], todo["number"], todo["expires"] = num(r.Run), num(serial), l.expires()
	refused, err := l.transact(ctx, do,
		l.part(write{
			key:    unitKey(r.Job, r.ID),
			set:    "SET #cursor = :cursor, #counts = :counts, #attempts = :zero, #touched = :now, #repeats = :zero REMOVE #counted, #last",
			when:   held,
			values: v,
		}),
		l.put(todo, write{}))
	if err != nil {
		return err
	}
	if refused == nil {
		return l.beat(ctx, do)
	}
	a, _ := refused.of(0)
	e, err := l.found(ctx, do, a)
	if err == nil {
		err = e.refuse(do, serial)
	}
	return err
}
