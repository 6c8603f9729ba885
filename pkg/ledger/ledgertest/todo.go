package ledgertest

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// due are the todos of a run, by id.
func (b bench) due(s ledger.Shared, run int) (out []ledger.Todo) {
	b.Helper()
	b.ok(s.Due(b.ctx, b.job, run, func(t ledger.Todo) error {
		out = append(out, t)
		return nil
	}))
	slices.SortFunc(out, func(a, b ledger.Todo) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func named(todos []ledger.Todo) (out []unit.ID) {
	for _, t := range todos {
		out = append(out, t.ID)
	}
	return out
}

var todo = []sharedTest{
	{"a paused unit is due, and no other", func(b bench, s ledger.Shared) {
		b.running("t1", 4)
		b.equal("due", len(b.due(s, 1)), 0)
		for _, n := range []int{0, 2} {
			b.paused(1, n, b.begun(1, n).Serial, place)
		}
		b.begun(1, 1)
		b.killed(1, 3)
		b.equal("due", named(b.due(s, 1)), ids(0, 2))
		b.equal("due of another run", len(b.due(s, 2)), 0)
	}},
	{"a pause that is refused puts no todo", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		first := b.begun(1, 0).Serial
		b.begun(1, 0)
		b.is(b.Pause(b.ctx, b.ref(1, 0), first, place, one), ledger.ErrFenced)
		b.equal("due", len(b.due(s, 1)), 0)
	}},
	{"a pause that is repeated puts one", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		serial := b.begun(1, 0).Serial
		for range 2 {
			b.paused(1, 0, serial, place)
		}
		due := b.due(s, 1)
		b.equal("due", named(due), ids(0))
		b.ok(s.Sent(b.ctx, b.job, due[0]))
		b.equal("due", len(b.due(s, 1)), 0)
	}},
	{"Sent removes the todo that was sent, and may be repeated", func(b bench, s ledger.Shared) {
		b.running("t1", 2)
		for n := range 2 {
			b.paused(1, n, b.begun(1, n).Serial, place)
		}
		first := b.due(s, 1)[0]
		for range 2 {
			b.ok(s.Sent(b.ctx, b.job, first))
			b.equal("due", named(b.due(s, 1)), ids(1))
		}
		b.ok(s.Sent(b.ctx, b.job, ledger.Todo{ID: id(9), Number: 1}))
		b.equal("due", named(b.due(s, 1)), ids(1))
	}},
	{"each todo of a unit has a number of its own", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		seen := map[int]bool{}
		for n := range 5 {
			b.paused(1, 0, b.begun(1, 0).Serial, place)
			t := b.due(s, 1)[0]
			if seen[t.Number] {
				b.Errorf("number %d came twice", t.Number)
			}
			seen[t.Number] = true
			if n%2 == 0 {
				b.ok(s.Sent(b.ctx, b.job, t))
			}
		}
	}},
	{"a start of work leaves a todo that is not sent yet", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		due := b.due(s, 1)
		b.begun(1, 0) // by a second message
		b.equal("due", b.due(s, 1), due)
	}},
	{"Due ends with the error of yield, which may use the ledger", func(b bench, s ledger.Shared) {
		b.running("t1", 3)
		for n := range 3 {
			b.paused(1, n, b.begun(1, n).Serial, place)
		}
		stop, n := errors.New("enough"), 0
		b.is(s.Due(b.ctx, b.job, 1, func(t ledger.Todo) error {
			n++
			if err := s.Sent(b.ctx, b.job, t); err != nil || n < 2 {
				return err
			}
			return stop
		}), stop)
		b.equal("calls", n, 2)
		b.equal("due", len(b.due(s, 1)), 1)
	}},
	{"Body is what the unit was published with, whatever became of it", func(b bench, s ledger.Shared) {
		b.listing("t1")
		b.sent(1, page(0, 2))
		b.entered(1, page(2, 4))
		b.paused(1, 0, b.begun(1, 0).Serial, place)
		b.killed(1, 1)
		for n := range 4 {
			for range 2 {
				body, err := s.Body(b.ctx, b.ref(1, n))
				b.ok(err)
				b.equal("body", string(body), string(published(n).Body))
				clear(body)
			}
		}
	}},
	{"the body of a unit that no page held is not there, which is named", func(b bench, s ledger.Shared) {
		b.running("t1", 1)
		_, err := s.Body(b.ctx, b.ref(1, 7))
		b.is(err, ledger.ErrNoUnit)
		if err == nil || !strings.Contains(err.Error(), string(id(7))) || !strings.Contains(err.Error(), b.job) {
			b.Errorf("the error does not name unit and job: %v", err)
		}
	}},
}
