package dynamoledger_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

// since are the calls that f makes, by name.
func (t *table) since(f func()) map[string]int {
	from := len(t.calls)
	f()
	n := map[string]int{}
	for _, call := range t.calls[from:] {
		n[call]++
	}
	return n
}

func TestCosts(t *testing.T) {
	api := newTable()
	s := &teller{T: t, Ledger: dynamoledger.New(api, "ledger", dynamoledger.Options{})}
	s.list(1, page(0, 200))

	t.Run("a unit that goes well costs its reader three writes and two reads", func(t *testing.T) {
		got := api.since(func() {
			s.meta()
			s.begin(1, 0)
			s.done(1, 0)
		})
		differ(t, "calls", got, map[string]int{"GetItem": 2, "UpdateItem": 3})
	})
	t.Run("the last attempt costs no more, where the message says that it is", func(t *testing.T) {
		got := api.since(func() {
			if it, err := s.Begin(t.Context(), ref(1, 1), 5, 5); err != nil || !it.Last {
				t.Error(it, err)
			}
		})
		differ(t, "calls", got, map[string]int{"UpdateItem": 1})
	})
	t.Run("a unit that is done already costs one read more than its check", func(t *testing.T) {
		got := api.since(func() { s.begin(1, 0) })
		differ(t, "calls", got, map[string]int{"UpdateItem": 1})
	})
	t.Run("a proof is 64 queries", func(t *testing.T) {
		got := api.since(func() {
			if _, err := s.Prove(t.Context(), "j", 1); err != nil {
				t.Error(err)
			}
		})
		differ(t, "calls", got, map[string]int{"GetItem": 1, "Query": 64})
	})
	t.Run("progress is two requests", func(t *testing.T) {
		got := api.since(func() {
			if _, err := s.Progress(t.Context(), "j", 1); err != nil {
				t.Error(err)
			}
		})
		differ(t, "calls", got, map[string]int{"GetItem": 1, "BatchGetItem": 1})
	})
	t.Run("what is pending costs a request for a hundred units", func(t *testing.T) {
		got := api.since(func() {
			if err := s.Pending(t.Context(), "j", 1, func(ledger.Planned) error { return nil }); err != nil {
				t.Error(err)
			}
		})
		differ(t, "calls", got, map[string]int{"GetItem": 1, "Query": 1, "BatchGetItem": 2})
	})
}

func TestCostsOfAListing(t *testing.T) {
	const units = 300
	api := newTable()
	s := &teller{T: t, Ledger: dynamoledger.New(api, "ledger", dynamoledger.Options{})}
	listed := func(run int, page ledger.Page) map[string]int {
		t.Helper()
		tell(s, func() (ledger.Meta, error) { return s.Start(t.Context(), "j", ledger.Start{}) })
		tell(s, func() (ledger.Meta, error) { return s.Lease(t.Context(), lister(run)) })
		n := api.since(func() {
			if _, _, err := s.Publish(t.Context(), lister(run), page); err != nil {
				t.Error(err)
			}
			if err := s.Advance(t.Context(), lister(run), page); err != nil {
				t.Error(err)
			}
		})
		s.ok(func() error { return s.Finish(t.Context(), lister(run)) })
		return n
	}
	t.Run("a unit costs its lister one write, and a page four requests", func(t *testing.T) {
		differ(t, "calls", listed(1, page(0, units)), map[string]int{"GetItem": 2, "TransactWriteItems": 1, "UpdateItem": units + 1})
	})
	t.Run("a page that is repeated is stored once", func(t *testing.T) {
		api := newTable()
		s := &teller{T: t, Ledger: alone(api)}
		tell(s, func() (ledger.Meta, error) { return s.Start(t.Context(), "j", ledger.Start{}) })
		tell(s, func() (ledger.Meta, error) { return s.Lease(t.Context(), lister(1)) })
		again := func() {
			if _, _, err := s.Publish(t.Context(), lister(1), page(0, units)); err != nil {
				t.Error(err)
			}
		}
		again()
		differ(t, "calls", api.since(again), map[string]int{"GetItem": 1, "Query": 1, "UpdateItem": units})
	})
	for n := range units {
		s.done(1, n)
	}
	s.fail(1)
	t.Run("taking a unit over costs two, and a shard one", func(t *testing.T) {
		differ(t, "calls", listed(2, page(0, units)), map[string]int{"GetItem": 2, "TransactWriteItems": 1, "UpdateItem": 2*units + 1 + shardsOf(units)})
	})
	if p, err := s.Progress(t.Context(), "j", 2); err != nil || !p.Settled() || p.Done != units {
		t.Errorf("%+v, %v", p, err)
	}
}

func shardsOf(n int) int {
	shards := map[int]bool{}
	for i := range n {
		shards[id(i).Shard()] = true
	}
	return len(shards)
}

func TestConcurrency(t *testing.T) {
	for given, want := range map[int]int64{0: 32, 3: 3} {
		t.Run(fmt.Sprint("a call makes at most ", want, " requests at a time"), func(t *testing.T) {
			var now, most atomic.Int64
			api := newTable()
			slow := slowly{api, func() func() {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Millisecond)
				return func() { now.Add(-1) }
			}}
			s := &teller{T: t, Ledger: dynamoledger.New(slow, "ledger", dynamoledger.Options{Concurrency: given})}
			s.list(1, page(0, 200))
			if got := most.Load(); got > want || got < want*2/3 {
				t.Errorf("publish: %d at a time", got)
			}
			most.Store(0)
			if _, err := s.Prove(t.Context(), "j", 1); err != nil || most.Load() > want || most.Load() < want*2/3 {
				t.Errorf("prove: %v, %d at a time", err, most.Load())
			}
		})
	}
}
