package ledgertest

import (
	"errors"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var stales = []sharedTest{
	{"what nothing has worked on since then is stale, with its item", func(b bench, s ledger.Shared) {
		b.streams(s, 6)
		entered := b.item(1, 0).Entered
		b.stales(s, 1, entered.Add(-aWhile/2))
		b.stales(s, 1, entered.Add(aWhile/2), 0, 1, 2, 3, 4, 5)
		serial := b.begun(1, 3).Serial
		b.lapse(aWhile)
		b.begun(1, 0)
		b.ok(b.Touch(b.ctx, b.ref(1, 1)))
		b.ok(s.Repeat(b.ctx, b.ref(1, 2), 0))
		b.paused(1, 3, serial, place)
		b.done(1, 4)
		b.enters(s, b.entry(1, 6, 6))
		b.stales(s, 1, entered.Add(aWhile/2), 5)
		b.stales(s, 1, entered.Add(3*aWhile/2), 0, 1, 2, 3, 5, 6)
		b.ok(s.Stale(b.ctx, b.job, 1, entered.Add(3*aWhile/2), func(it ledger.Item) error {
			want := b.look(s, unitOf(it.ID))
			it.Body, want.Body = nil, nil
			b.equal("item", it, want)
			return nil
		}))
	}},
	{"begun, touched, paused and repeated units say when", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.equal("touched", b.look(s, 0).Touched, time.Time{})
		serial := 0
		for i, touch := range []func(){
			func() { b.ok(b.Touch(b.ctx, b.ref(1, 0))) },
			func() { serial = b.begun(1, 0).Serial },
			func() { b.ok(b.Touch(b.ctx, b.ref(1, 0))) },
			func() { b.paused(1, 0, serial, place) },
			func() { b.ok(s.Repeat(b.ctx, b.ref(1, 0), 0)) },
		} {
			b.lapse(aWhile)
			touch()
			it := b.look(s, 0)
			b.recent("touched", it.Touched, time.Duration(i+1)*aWhile)
			b.recent("entered", it.Entered, 0)
		}
		b.equal("beginning gives it too", b.begun(1, 0).Touched.IsZero(), false)
	}},
	{"what gives a unit back, marks faults or asks for sends touches nothing", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		serial := b.begun(1, 0).Serial
		touched := b.look(s, 0).Touched
		b.lapse(aWhile)
		b.faulty(1, 0, serial, ledger.Fault{Member: 1})
		b.overwrites(s, 0, serial, version(0, 0))
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), serial, one))
		b.ok(b.Recovered(b.ctx, b.ref(1, 0), serial, 1, one))
		b.ok(b.GiveBack(b.ctx, b.ref(1, 0), serial))
		b.redriven(1, 0)
		b.equal("touched", b.look(s, 0).Touched, touched)
	}},
	{"a touch of a unit that ended leaves it as it is", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.killed(1, 0)
		b.done(1, 1)
		dead, done := b.look(s, 0), b.look(s, 1)
		b.lapse(aWhile)
		b.ok(b.Touch(b.ctx, b.ref(1, 0)))
		b.ok(b.Touch(b.ctx, b.ref(1, 1)))
		b.equal("dead", b.look(s, 0), dead)
		b.equal("done", b.look(s, 1), done)
	}},
	{"Stale ends with the error of yield, which may use the ledger", func(b bench, s ledger.Shared) {
		b.streams(s, 3)
		then := time.Now().Add(aWhile)
		b.stales(s, 1, then, 0, 1, 2)
		stop, n := errors.New("enough"), 0
		b.is(s.Stale(b.ctx, b.job, 1, then, func(it ledger.Item) error {
			n++
			if err := s.Repeat(b.ctx, ledger.Ref{Job: b.job, Run: 1, ID: it.ID}, it.Repeats); err != nil || n < 2 {
				return err
			}
			return stop
		}), stop)
		b.equal("calls", n, 2)
		repeats := 0
		for u := range 3 {
			repeats += b.look(s, u).Repeats
		}
		b.equal("repeats", repeats, 2)
	}},
}

// unitOf is the number of a unit of a test.
func unitOf(want unit.ID) int {
	n := 0
	for id(n) != want {
		n++
	}
	return n
}

var repeats = []sharedTest{
	{"each is counted, by the count that it goes on from", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		for n := range 3 {
			b.is(s.Repeat(b.ctx, b.ref(1, 0), n+1), ledger.ErrFenced)
			b.ok(s.Repeat(b.ctx, b.ref(1, 0), n))
			b.is(s.Repeat(b.ctx, b.ref(1, 0), n), ledger.ErrFenced) // two looks at once count once
			b.equal("repeats", b.look(s, 0).Repeats, n+1)
		}
		b.equal("attempts", b.look(s, 0).Attempts, 0)
		b.equal("serial", b.look(s, 0).Serial, 0)
	}},
	{"one that nobody ever began is given up at serial 0, and else at none that low", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		_, err := s.Dead(b.ctx, b.ref(1, 0), 0, cause)
		b.ok(err)
		_, err = s.Dead(b.ctx, b.ref(1, 0), 0, cause) // its answer was lost
		b.ok(err)
		b.equal("state", b.look(s, 0).State, ledger.Dead)
		b.begun(1, 1)
		_, err = s.Dead(b.ctx, b.ref(1, 1), 0, cause)
		b.is(err, ledger.ErrFenced)
		b.equal("state", b.look(s, 1).State, ledger.Open)
	}},
	{"a start of work leaves the count, and a pause and a redrive set it to 0", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.ok(s.Repeat(b.ctx, b.ref(1, 0), 0))
		it := b.begun(1, 0)
		b.equal("repeats, begun", it.Repeats, 1)
		b.ok(b.GiveBack(b.ctx, b.ref(1, 0), it.Serial))
		b.equal("repeats, given back", b.look(s, 0).Repeats, 1)
		b.ok(s.Repeat(b.ctx, b.ref(1, 0), 1))
		b.paused(1, 0, it.Serial, place)
		b.equal("repeats, paused", b.look(s, 0).Repeats, 0)
		b.ok(s.Repeat(b.ctx, b.ref(1, 0), 0))
		b.killed(1, 0)
		b.redriven(1, 1)
		b.equal("repeats, redriven", b.look(s, 0).Repeats, 0)
		b.ok(s.Repeat(b.ctx, b.ref(1, 0), 0))
	}},
	{"what is not open, of another run or unknown is not repeated", func(b bench, s ledger.Shared) {
		b.streams(s, 3)
		b.done(1, 0)
		b.killed(1, 1)
		for _, r := range []ledger.Ref{b.ref(1, 0), b.ref(1, 1), b.ref(2, 2)} {
			before, err := s.Look(b.ctx, r)
			b.ok(err)
			err = s.Repeat(b.ctx, r, 0)
			b.is(err, ledger.ErrFenced)
			b.names(err, string(r.ID))
			after, err := s.Look(b.ctx, r)
			b.ok(err)
			b.equal("item", after, before)
		}
		b.is(s.Repeat(b.ctx, b.ref(1, 7), 0), ledger.ErrNoUnit)
	}},
	{"of many that repeat a unit at once, one does", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.equal("repeated by", b.race(6, func(int) (bool, error) {
			err := s.Repeat(b.ctx, b.ref(1, 0), 0)
			if errors.Is(err, ledger.ErrFenced) {
				return false, nil
			}
			return err == nil, err
		}), 1)
		b.equal("repeats", b.look(s, 0).Repeats, 1)
	}},
}
