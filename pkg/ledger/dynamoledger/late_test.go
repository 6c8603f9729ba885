package dynamoledger_test

import (
	"errors"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

func TestALateEndOfAnEarlierRunSaysNothingOfTheNext(t *testing.T) {
	api := newTable()
	s := &teller{T: t, Ledger: alone(api)}
	s.list(1, page(0, 1))
	serial := s.begin(1, 0)
	s.fail(1)
	other := page(5, 6)
	other.After = ""
	s.list(2, other) // without the unit, and to its end marker
	s.dead(2, 5)
	dead := tell(s, func() (ledger.Tally, error) {
		return s.Dead(t.Context(), ref(1, 0), serial, ledger.Cause{Reason: failure.Deadline, Record: -1})
	})
	for _, tally := range []ledger.Tally{dead, s.done(1, 0), s.done(1, 0)} {
		if tally.Listed || tally.Planned > 0 {
			t.Errorf("%+v speaks of the next run", tally)
		}
	}
	p := tell(s, func() (ledger.Progress, error) { return s.Progress(t.Context(), "j", 1) })
	if p.Done != 1 || p.Dead != 0 || p.Planned != 0 || p.Listed {
		t.Errorf("progress of run 1: %+v", p)
	}
}

func TestADoneUnitIsSmall(t *testing.T) {
	api := newTable()
	s := &teller{T: t, Ledger: alone(api)}
	s.list(1, page(0, 1))
	serial := s.begin(1, 0)
	s.ok(func() error { return s.Fault(t.Context(), ref(1, 0), serial, ledger.Fault{Member: 1}) })
	s.ok(func() error { return s.RestDone(t.Context(), ref(1, 0), serial, counts) })
	s.ok(func() error { return s.Pause(t.Context(), ref(1, 0), serial, ledger.Cursor{Segment: 4}, counts) })
	s.dead(1, 0)
	s.done(1, 0)
	for at, a := range api.items {
		if at[1] != string(id(0)) {
			continue
		}
		for _, name := range []string{"faults", "rest", "cursor", "last", "counted", "cause"} {
			if _, is := a[name]; is && a["state"] != nil {
				t.Errorf("a done unit's item has %q", name)
			}
		}
	}
}

func TestAJobIsNotCompletedBeforeItsEndMarker(t *testing.T) {
	s := &teller{T: t, Ledger: alone(newTable())}
	s.start(1)
	if err := s.Conclude(t.Context(), "j", 1, 0, ledger.Completed); !errors.Is(err, ledger.ErrState) {
		t.Error(err)
	}
	if m := s.meta(); m.State != ledger.Listing {
		t.Errorf("state %s", m.State)
	}
}
