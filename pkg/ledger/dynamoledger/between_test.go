package dynamoledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

// between calls f once, ahead of the nth of the calls by that name from here.
func (t *table) between(call string, n int, f func()) {
	t.before = func(name string) {
		if name != call {
			return
		}
		if n--; n == 0 {
			t.before = nil
			f()
		}
	}
}

// two are ledgers of one table, the second's clock being far ahead: to it every
// lease of the first has lapsed.
func two(t *testing.T) (*table, *teller, *teller) {
	api := newTable()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	second := dynamoledger.New(api, "ledger", dynamoledger.Options{Concurrency: 1, Now: later})
	return api, &teller{T: t, Ledger: alone(api)}, &teller{T: t, Ledger: second}
}

func other(run int) ledger.Lease { return ledger.Lease{Job: "j", Run: run, Holder: "other"} }

func (t *teller) start(run int) {
	t.Helper()
	tell(t, func() (ledger.Meta, error) { return t.Start(t.Context(), "j", ledger.Start{}) })
	tell(t, func() (ledger.Meta, error) { return t.Lease(t.Context(), lister(run)) })
}

func TestAListerThatFroze(t *testing.T) {
	t.Run("before it entered its page enters none", func(t *testing.T) {
		api, s, second := two(t)
		s.start(1)
		api.between("TransactWriteItems", 1, func() {
			tell(second, func() (ledger.Meta, error) { return second.Lease(t.Context(), other(1)) })
		})
		if _, _, err := s.Publish(t.Context(), lister(1), page(0, 3)); !errors.Is(err, ledger.ErrLeased) {
			t.Error(err)
		}
		if n := len(api.keys("job#j#plan#1")); n > 0 {
			t.Errorf("%d parts", n)
		}
	})
	t.Run("before it entered its page sends the one that another entered", func(t *testing.T) {
		api, s, _ := two(t)
		twin := &teller{T: t, Ledger: alone(api)} // the same invocation, called twice
		s.start(1)
		api.between("TransactWriteItems", 1, func() {
			if _, _, err := twin.Publish(t.Context(), lister(1), page(0, 2)); err != nil {
				t.Error(err)
			}
		})
		got, due, err := s.Publish(t.Context(), lister(1), page(0, 3))
		if err != nil || len(got.Units) != 2 || len(due) != 2 || got.Last != page(0, 2).Last {
			t.Errorf("%+v, %v, %v", got, due, err)
		}
	})
	t.Run("in the middle of its units does not take them out of a later run", func(t *testing.T) {
		api, s, second := two(t)
		s.start(1)
		api.between("UpdateItem", 2, func() {
			second.fail(1)
			second.list(2, page(0, 3))
			second.begin(2, 2)
		})
		if _, _, err := s.Publish(t.Context(), lister(1), page(0, 3)); !errors.Is(err, ledger.ErrState) {
			t.Error(err)
		}
		census := tell(s, func() (ledger.Census, error) { return s.Prove(t.Context(), "j", 2) })
		differ(t, "census of run 2", census, ledger.Census{Open: 3})
	})
	t.Run("before it advanced does not advance", func(t *testing.T) {
		api, s, second := two(t)
		s.start(1)
		if _, _, err := s.Publish(t.Context(), lister(1), page(0, 3)); err != nil {
			t.Fatal(err)
		}
		api.between("UpdateItem", 1, func() {
			tell(second, func() (ledger.Meta, error) { return second.Lease(t.Context(), other(1)) })
		})
		if err := s.Advance(t.Context(), lister(1), page(0, 3)); !errors.Is(err, ledger.ErrLeased) || s.meta().Planned != 0 {
			t.Errorf("%v, %d planned", err, s.meta().Planned)
		}
		api.between("UpdateItem", 1, func() {
			second.ok(func() error { return second.Advance(t.Context(), other(1), page(0, 3)) })
		})
		if err := second.Advance(t.Context(), other(1), page(0, 3)); err != nil || s.meta().Planned != 3 {
			t.Errorf("%v, %d planned", err, s.meta().Planned)
		}
	})
}

func TestARedriveMeetsALateReader(t *testing.T) {
	api, s, reader := two(t)
	s.list(1, page(0, 1), page(1, 2), ledger.Page{After: key(2), Last: key(30), Units: oneShard(25)})
	units := oneShard(25)
	for _, u := range units {
		r := ledger.Ref{Job: "j", Run: 1, ID: u.ID}
		it := tell(s, func() (ledger.Item, error) { return s.Begin(t.Context(), r, 1, 9) })
		tell(s, func() (ledger.Tally, error) {
			return s.Dead(t.Context(), r, it.Serial, ledger.Cause{Reason: failure.Deadline, Record: -1})
		})
	}
	api.between("TransactWriteItems", 2, func() {
		for _, n := range []int{12, 15} {
			r := ledger.Ref{Job: "j", Run: 1, ID: units[n].ID}
			tell(reader, func() (ledger.Tally, error) { return reader.Done(t.Context(), r, counts) })
		}
	})
	generation := s.meta().Generation
	opened, err := s.Redrive(t.Context(), "j", 1)
	if err != nil || opened != 23 {
		t.Errorf("%d opened, %v", opened, err)
	}
	if m := s.meta(); m.Generation < generation+26 {
		t.Errorf("generation %d, was %d", m.Generation, generation)
	}
	census := tell(s, func() (ledger.Census, error) { return s.Prove(t.Context(), "j", 1) })
	if census.Done != 2 || census.Open != 25 || census.Dead != 0 {
		t.Errorf("%+v", census)
	}
	p := tell(s, func() (ledger.Progress, error) { return s.Progress(t.Context(), "j", 1) })
	if p.Done != 2 || p.Dead != 0 {
		t.Errorf("%+v", p)
	}
}

// oneShard are units that share a shard, in the order of their ids.
func oneShard(n int) (units []ledger.Planned) {
	for i := 100; len(units) < n; i++ {
		if id(i).Shard() == 7 {
			units = append(units, ledger.Planned{ID: id(i), FirstKey: key(i), Objects: 1, Body: []byte(key(i))})
		}
	}
	sortByID(units)
	return units
}

func TestARunBeginsBesideALateReader(t *testing.T) {
	api, s, reader := two(t)
	s.list(1, page(0, 2))
	s.dead(1, 0)
	s.fail(1)
	generation := s.meta().Generation
	api.between("TransactWriteItems", 1, func() { reader.done(1, 0) })
	m := tell(s, func() (ledger.Meta, error) { return s.Start(t.Context(), "j", ledger.Start{}) })
	if m.Generation <= generation || s.meta().Generation != m.Generation || m.Run != 2 {
		t.Errorf("run %d at generation %d, was %d", m.Run, m.Generation, generation)
	}
}

func TestAReaderIsLateForAReaderWhoIsLater(t *testing.T) {
	t.Run("two make a dead unit done", func(t *testing.T) {
		api, s, second := two(t)
		s.list(1, page(0, 1))
		s.dead(1, 0)
		api.between("TransactWriteItems", 1, func() { second.done(1, 0) })
		if tally := s.done(1, 0); tally.Done != 1 || tally.Dead != 0 || !tally.Settled() {
			t.Errorf("%+v", tally)
		}
		if m := s.meta(); m.Generation != 1 {
			t.Errorf("generation %d", m.Generation)
		}
	})
	t.Run("a redrive opens it first", func(t *testing.T) {
		api, s, second := two(t)
		s.list(1, page(0, 1))
		s.dead(1, 0)
		api.between("TransactWriteItems", 1, func() {
			tell(second, func() (int, error) { return second.Redrive(t.Context(), "j", 1) })
		})
		if tally := s.done(1, 0); tally.Done != 1 || tally.Dead != 0 {
			t.Errorf("%+v", tally)
		}
	})
	t.Run("its attempts are forgiven while it begins for the last time", func(t *testing.T) {
		api, s, second := two(t)
		s.list(1, page(0, 1))
		serial := 0
		for range 2 {
			it := tell(s, func() (ledger.Item, error) { return s.Begin(t.Context(), ref(1, 0), 1, 3) })
			serial = it.Serial
		}
		api.between("UpdateItem", 2, func() {
			second.ok(func() error { return second.Pause(t.Context(), ref(1, 0), serial, ledger.Cursor{Segment: 1}, counts) })
		})
		it := tell(s, func() (ledger.Item, error) { return s.Begin(t.Context(), ref(1, 0), 1, 3) })
		if it.Last || it.Attempts != 1 || it.Serial != serial+1 {
			t.Errorf("%+v", it)
		}
		s.begin(1, 0)
		api.between("UpdateItem", 2, func() {
			second.ok(func() error { return second.Pause(t.Context(), ref(1, 0), serial+2, ledger.Cursor{Segment: 2}, counts) })
			api.between("UpdateItem", 1, func() { // ahead of what follows the one that the pause forgave
				second.begin(1, 0)
				second.begin(1, 0)
			})
		})
		if it, err := s.Begin(t.Context(), ref(1, 0), 1, 3); err != nil || !it.Last || it.Attempts != 3 {
			t.Errorf("%+v, %v", it, err)
		}
	})
}

func sortByID(units []ledger.Planned) {
	slices.SortFunc(units, func(a, b ledger.Planned) int { return strings.Compare(string(a.ID), string(b.ID)) })
}
