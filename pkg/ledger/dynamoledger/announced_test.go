package dynamoledger_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/unit"
)

// streaming is a continuous job with n units, each of one object.
func streaming(t *testing.T, n int) (*table, *teller) {
	api := newTable()
	s := &teller{T: t, Ledger: alone(api)}
	s.open("t1")
	for u := range n {
		s.enter(entry(1, u, 0, u))
	}
	return api, s
}

func unitAt(job string, u int) [2]string {
	return [2]string{"job#" + job + "#" + strconv.Itoa(id(u).Shard()), string(id(u))}
}

// lives checks how long an item of the table lives: for that time from now, or
// without an end.
func (t *table) lives(test *testing.T, what string, at [2]string, want time.Duration) {
	test.Helper()
	v, ok := t.items[at]["expires"].(*types.AttributeValueMemberN)
	if !ok {
		if want != 0 {
			test.Errorf("%s has no end", what)
		}
		return
	}
	n, _ := strconv.ParseInt(v.Value, 10, 64)
	if off := time.Until(time.Unix(n, 0)) - want; want == 0 || off < -time.Minute || off > time.Minute {
		test.Errorf("%s expires in %v, want %v", what, time.Until(time.Unix(n, 0)), want)
	}
}

func TestLifetimes(t *testing.T) {
	api, s := streaming(t, 4)
	claim := func(n int) [2]string {
		return [2]string{"job#j#" + strconv.Itoa(objectID(n).Shard()), string(objectID(n))}
	}
	s.begin(1, 0)
	s.done(1, 1)
	s.dead(1, 2)
	s.dead(1, 3)
	s.done(1, 3)
	api.lives(t, "an open unit", unitAt("j", 0), 0)
	api.lives(t, "a done unit", unitAt("j", 1), ledger.DoneTime)
	api.lives(t, "a dead unit", unitAt("j", 2), 0)
	api.lives(t, "a unit done late", unitAt("j", 3), ledger.DoneTime)
	api.lives(t, "a claim", claim(0), ledger.DoneTime)
	for u, holds := range []bool{true, false, true, false} {
		a := api.items[unitAt("j", u)]
		if (a["body"] != nil) != holds || (a["unfinished"] != nil) != holds {
			t.Errorf("unit %d: %v", u, a)
		}
	}
	for u, shows := range []bool{true, false, false, false} {
		it := tell(s, func() (ledger.Item, error) { return s.Look(t.Context(), ref(1, u)) })
		if (it.Body != nil) != shows {
			t.Errorf("unit %d is %s, with the body %q", u, it.State, it.Body)
		}
	}
	t.Run("what a listing takes over stays, and is in no index", func(t *testing.T) {
		s.fail(1)
		s.list(2, page(0, 4))
		for u := range 4 {
			api.lives(t, "a unit that was listed", unitAt("j", u), 0)
			for _, name := range []string{"body", "entered", "ended", "repeats", "unfinished"} {
				if a := api.items[unitAt("j", u)]; a[name] != nil {
					t.Errorf("unit %d has %s: %v", u, name, a)
				}
			}
		}
		census := tell(s, func() (ledger.Census, error) { return s.Prove(t.Context(), "j", 2) })
		if census.Done != 2 || census.Open != 2 {
			t.Errorf("%+v", census)
		}
		serial := s.begin(2, 0)
		s.ok(func() error { return s.Pause(t.Context(), ref(2, 0), serial, ledger.Cursor{}, counts) })
		s.done(2, 0)
		api.lives(t, "a listed unit that is done", unitAt("j", 0), 0)
		for _, name := range []string{"touched", "repeats", "ended"} {
			if a := api.items[unitAt("j", 0)]; a[name] != nil {
				t.Errorf("a listed unit that is done has %s: %v", name, a)
			}
		}
	})
}

// TestWhoeverHasNotReadTheJob ends units all the same: what kind of job it is, the
// items say.
func TestWhoeverHasNotReadTheJob(t *testing.T) {
	// each call is made by somebody else, and none has read more than there was
	writes := func(t *testing.T, api *table, run int, by []*teller, entered bool) {
		t.Helper()
		first := time.Now()
		by[0].ok(func() error { return by[0].Touch(t.Context(), ref(run, 0)) })
		by[1].dead(run, 1)
		by[2].done(run, 1)
		by[3].dead(run, 2)
		by[4].done(run, 3)
		for u, ended := range []bool{false, true, true, true} {
			it := tell(by[5], func() (ledger.Item, error) { return by[5].Look(t.Context(), ref(run, u)) })
			a := api.items[unitAt("j", u)]
			if it.Ended.IsZero() == (ended && entered) || (a["unfinished"] != nil) != (entered && it.State != ledger.Done) {
				t.Errorf("unit %d: %v", u, a)
			}
			if u == 0 && it.Touched.Before(first) == entered {
				t.Errorf("touched %v", it.Touched)
			}
			if it.State == ledger.Done && (a["expires"] != nil) != entered {
				t.Errorf("unit %d: %v", u, a)
			}
		}
	}
	readers := func(t *testing.T, api *table, read bool) (all []*teller) {
		for range 6 {
			s := &teller{T: t, Ledger: alone(api)}
			if all = append(all, s); read {
				s.meta()
			}
		}
		return all
	}
	t.Run("a continuous one", func(t *testing.T) {
		api, _ := streaming(t, 4)
		writes(t, api, 1, readers(t, api, false), true)
	})
	t.Run("a continuous one that was listed", func(t *testing.T) {
		api := newTable()
		s := &teller{T: t, Ledger: alone(api)}
		s.list(1, page(0, 0))
		s.fail(1)
		by := readers(t, api, true)
		s.open("t2")
		for u := range 4 {
			s.enter(entry(2, u, 0, u))
		}
		writes(t, api, 2, by, true)
	})
	t.Run("a listed one that was continuous", func(t *testing.T) {
		api, s := streaming(t, 0)
		by := readers(t, api, true)
		s.fail(1)
		s.list(2, page(0, 4))
		writes(t, api, 2, by, false)
	})
}

// TestAnEarlierRunOfAnotherKind is found whole, whatever the job has become.
func TestAnEarlierRunOfAnotherKind(t *testing.T) {
	shows := func(t *testing.T, s *teller, run, unfinished int, bodies ...string) {
		t.Helper()
		n, got := 0, []string(nil)
		s.ok(func() error { return s.Unfinished(t.Context(), "j", run, func(ledger.Item) error { n++; return nil }) })
		s.ok(func() error {
			return s.Pending(t.Context(), "j", run, func(p ledger.Planned) error { got = append(got, string(p.Body)); return nil })
		})
		slices.Sort(got)
		differ(t, "pending", got, bodies)
		if n != unfinished {
			t.Errorf("%d unfinished, want %d", n, unfinished)
		}
	}
	body := func(u int) string { return "body of " + key(u) }
	t.Run("a listed one", func(t *testing.T) {
		s := &teller{T: t, Ledger: alone(newTable())}
		s.list(1, page(0, 3))
		s.dead(1, 0)
		s.fail(1)
		s.open("t2")
		s.enter(entry(2, 5, 0, 5))
		shows(t, s, 1, 3, body(1), body(2))
		shows(t, s, 2, 1, body(5))
	})
	t.Run("a continuous one", func(t *testing.T) {
		_, s := streaming(t, 3)
		s.dead(1, 0)
		s.fail(1)
		s.list(2, page(0, 0))
		shows(t, s, 1, 3, body(1), body(2))
		shows(t, s, 2, 0)
	})
}

func TestAnIndexThatIsBehind(t *testing.T) {
	behind := func(t *testing.T, n int) (*table, *teller) {
		api, s := streaming(t, n)
		api.behind = maps.Clone(api.items)
		return api, s
	}
	stale := func(s *teller) (found []unit.ID) {
		s.ok(func() error {
			found = nil
			return s.Stale(s.Context(), "j", 1, time.Now().Add(time.Hour), func(it ledger.Item) error {
				found = append(found, it.ID)
				return nil
			})
		})
		return found
	}
	t.Run("names units that are done, and nobody takes them for open", func(t *testing.T) {
		api, s := behind(t, 3)
		s.done(1, 0)
		s.dead(1, 1)
		differ(t, "stale", stale(s), []unit.ID{id(2)})
		var pending, unfinished []unit.ID
		s.ok(func() error {
			return s.Pending(t.Context(), "j", 1, func(p ledger.Planned) error { pending = append(pending, p.ID); return nil })
		})
		differ(t, "pending", pending, []unit.ID{id(2)})
		s.ok(func() error {
			return s.Unfinished(t.Context(), "j", 1, func(it ledger.Item) error { unfinished = append(unfinished, it.ID); return nil })
		})
		if len(unfinished) != 2 {
			t.Errorf("unfinished: %v", unfinished)
		}
		delete(api.items, unitAt("j", 2)) // which no unit ever is
		differ(t, "stale", stale(s), []unit.ID(nil))
	})
	t.Run("names units that a later run took over", func(t *testing.T) {
		_, s := behind(t, 1)
		s.fail(1)
		s.list(2, page(0, 1))
		differ(t, "stale", stale(s), []unit.ID(nil))
	})
	t.Run("names units that are open again, and a redrive leaves them", func(t *testing.T) {
		api, s := streaming(t, 2)
		s.dead(1, 0)
		s.dead(1, 1)
		api.behind = maps.Clone(api.items)
		if n := tell(s, func() (int, error) { return s.Redrive(t.Context(), "j", 1) }); n != 2 {
			t.Errorf("%d opened", n)
		}
		serial := s.begin(1, 0)
		if n := tell(s, func() (int, error) { return s.Redrive(t.Context(), "j", 1) }); n != 0 {
			t.Errorf("%d opened", n)
		}
		s.ok(func() error { return s.GiveBack(t.Context(), ref(1, 0), serial) })
	})
	t.Run("does not name units yet, and they are found once it does", func(t *testing.T) {
		api, s := behind(t, 0)
		s.enter(entry(1, 0, 0, 0))
		differ(t, "stale", stale(s), []unit.ID(nil))
		if b := tell(s, func() (ledger.Backlog, error) { return s.Backlog(t.Context(), "j", 1) }); b != (ledger.Backlog{}) {
			t.Errorf("%+v", b)
		}
		api.behind = nil
		differ(t, "stale", stale(s), []unit.ID{id(0)})
	})
}

// TestATransactionNamesOneOfItsConditions shows that nothing depends on the service
// to name all of those that do not hold.
func TestATransactionNamesOneOfItsConditions(t *testing.T) {
	api, s := streaming(t, 2)
	s.enter(entry(1, 5, 0, 10, 11, 12))
	api.shy = true
	s.enter(entry(1, 5, 0, 10, 11, 12)) // is its own
	e := entry(1, 6, 0, 1, 20, 0, 21)
	for range 2 {
		held := tell(s, func() ([]ledger.Held, error) { return s.Enter(t.Context(), e) })
		if len(held) != 1 {
			t.Fatalf("held: %+v", held)
		}
		e.Claims = append(e.Claims[:held[0].Index:held[0].Index], e.Claims[held[0].Index+1:]...)
	}
	s.enter(e)
	h := tell(s, func() (ledger.Held, error) { return s.Claimed(t.Context(), "j", objectID(21)) })
	if h.Unit != id(6) {
		t.Errorf("%+v", h)
	}
}

// TestWhatIsMissingIsEnteredAgain has parts of an entry go, as what expires does.
func TestWhatIsMissingIsEnteredAgain(t *testing.T) {
	api, s := streaming(t, 0)
	e := entry(1, 0, 0, 0, 1, 2)
	s.enter(e)
	whole := maps.Clone(api.items)
	for at := range whole {
		if !strings.HasPrefix(at[1], "s3-") && !strings.HasPrefix(at[1], "o-") {
			continue
		}
		delete(api.items, at)
		s.enter(e)
		if len(api.items) != len(whole) || api.items[at] == nil {
			t.Errorf("%v is not entered again", at)
		}
	}
}

func TestATableWithoutTheIndex(t *testing.T) {
	api, s := streaming(t, 1)
	api.bare = true
	s.done(1, 0)
	refused := func(what string, err error) {
		t.Helper()
		if scope, reason := failure.Of(err); scope != failure.Job || reason != failure.Config {
			t.Errorf("%s: %v", what, err)
			return
		}
		for _, word := range []string{"table ledger", "no index unfinished", "deploy", "sort key unfinished"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s does not say %q: %v", what, word, err)
			}
		}
	}
	_, backlog := s.Backlog(t.Context(), "j", 1)
	refused("backlog", backlog)
	_, redrive := s.Redrive(t.Context(), "j", 1)
	refused("redrive", redrive)
	refused("pending", s.Pending(t.Context(), "j", 1, func(ledger.Planned) error { return nil }))
	refused("unfinished", s.Unfinished(t.Context(), "j", 1, func(ledger.Item) error { return nil }))
	refused("stale", s.Stale(t.Context(), "j", 1, time.Now(), func(ledger.Item) error { return nil }))
	t.Run("being made is waited for", func(t *testing.T) {
		api.fault = func(_ int, call string) (bool, error) {
			if call != "Query" {
				return false, nil
			}
			return false, &smithy.GenericAPIError{Code: "ValidationException", Message: "Cannot read from backfilling global secondary index: unfinished"}
		}
		if err := s.Stale(t.Context(), "j", 1, time.Now(), nil); !failure.Is(err, failure.Transient) {
			t.Error(err)
		}
	})
	t.Run("does for jobs that list", func(t *testing.T) {
		api := newTable()
		api.bare = true
		told(t, api, lives["listed"])
	})
	t.Run("at the endpoint", func(t *testing.T) {
		client, name := endpointOf(t, func(table string) *dynamodb.CreateTableInput {
			in := dynamoledger.Schema(table)
			in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:2]
			return in
		})
		l := dynamoledger.New(client, name, dynamoledger.Options{})
		if _, err := l.Open(t.Context(), "j", ledger.Start{}); err != nil {
			t.Fatal(err)
		}
		_, err := l.Backlog(t.Context(), "j", 1)
		if !failure.Is(err, failure.Job) || !strings.Contains(err.Error(), "no index unfinished") {
			t.Error(err)
		}
	})
}

func TestAReaderThatFinishesMeetsASchedule(t *testing.T) {
	t.Run("whose redrive opened the unit meanwhile", func(t *testing.T) {
		api, s := streaming(t, 1)
		reader := &teller{T: t, Ledger: alone(api)}
		s.dead(1, 0)
		api.between("TransactWriteItems", 1, func() {
			tell(s, func() (int, error) { return s.Redrive(t.Context(), "j", 1) })
		})
		reader.done(1, 0)
		api.lives(t, "the unit", unitAt("j", 0), ledger.DoneTime)
	})
	t.Run("whose repeat comes late", func(t *testing.T) {
		_, s := streaming(t, 1)
		s.done(1, 0)
		if err := s.Repeat(t.Context(), ref(1, 0), 0); !errors.Is(err, ledger.ErrFenced) {
			t.Error(err)
		}
	})
}

// TestAnOverwrittenMemberAmongMany keeps the item small, as other faults do.
func TestAnOverwrittenMemberAmongMany(t *testing.T) {
	api, s := streaming(t, 1)
	serial := s.begin(1, 0)
	long := strings.Repeat("x", 4000)
	for m := range ledger.MaxClaims {
		f := ledger.Fault{Member: m, Record: 3, Reason: failure.ETagDrift, Detail: long, Overwritten: true}
		for range 2 {
			s.ok(func() error { return s.Overwritten(t.Context(), ref(1, 0), serial, f, object(m)) })
		}
	}
	it := tell(s, func() (ledger.Item, error) { return s.Look(t.Context(), ref(1, 0)) })
	if len(it.Faults) != ledger.MaxClaims || size(api.items[unitAt("j", 0)]) > 64<<10 {
		t.Errorf("%d faults in %d bytes", len(it.Faults), size(api.items[unitAt("j", 0)]))
	}
	for _, f := range it.Faults {
		if !f.Overwritten || f.Record != 3 {
			t.Errorf("%+v", f)
		}
	}
	s.overwritten(0, serial, 70, object(70)) // at a lower record
	it = tell(s, func() (ledger.Item, error) { return s.Look(t.Context(), ref(1, 0)) })
	if f := it.Faults[70]; f.Member != 70 || f.Record != 0 {
		t.Errorf("%+v", f)
	}
	h := tell(s, func() (ledger.Held, error) { return s.Claimed(t.Context(), "j", objectID(0)) })
	if !h.Overwritten {
		t.Errorf("%+v", h)
	}
}

// TestTheOldest has units of one shard and of others entered a minute apart.
func TestTheOldest(t *testing.T) {
	api, now := newTable(), someDay
	s := &teller{T: t, Ledger: dynamoledger.New(api, "ledger", dynamoledger.Options{Concurrency: 1, Now: func() time.Time { return now }})}
	s.open("t1")
	units := oneShard(batchKeys + 20)
	slices.Reverse(units)
	for _, u := range units { // the highest id first
		e := entry(1, 0, 0)
		e.Units[0] = u
		s.enter(e)
		now = now.Add(time.Minute)
	}
	other := 0
	for id(other).Shard() > units[0].ID.Shard() {
		other++
	}
	s.enter(entry(1, other, 0))
	oldest := func(want time.Time) {
		t.Helper()
		b := tell(s, func() (ledger.Backlog, error) { return s.Backlog(t.Context(), "j", 1) })
		if !b.Oldest.Equal(want) {
			t.Errorf("%+v, want %v", b, want)
		}
	}
	oldest(someDay)
	tell(s, func() (ledger.Tally, error) {
		return s.Done(t.Context(), ledger.Ref{Job: "j", Run: 1, ID: units[0].ID}, counts)
	})
	oldest(someDay.Add(time.Minute))
	t.Run("is not before a time that is its own", func(t *testing.T) {
		for off, want := range map[time.Duration]int{0: 0, 1: 1} {
			n := 0
			s.ok(func() error {
				return s.Stale(t.Context(), "j", 1, someDay.Add(time.Minute+off), func(ledger.Item) error { n++; return nil })
			})
			if n != want {
				t.Errorf("%d stale, want %d", n, want)
			}
		}
	})
	t.Run("comes where its id does", func(t *testing.T) {
		var got []unit.ID
		s.ok(func() error {
			return s.Unfinished(t.Context(), "j", 1, func(it ledger.Item) error {
				if it.ID.Shard() == units[0].ID.Shard() {
					got = append(got, it.ID)
				}
				return nil
			})
		})
		if !slices.IsSorted(got) || len(got) < batchKeys {
			t.Errorf("%d in no order: %v", len(got), got)
		}
	})
}

// batchKeys is how many items are read at a time.
const batchKeys = 100

func TestAContinuousJobIsNeverCompleted(t *testing.T) {
	_, s := streaming(t, 1)
	s.done(1, 0)
	if err := s.Conclude(t.Context(), "j", 1, s.meta().Generation, ledger.Completed); !errors.Is(err, ledger.ErrState) {
		t.Error(err)
	}
}
