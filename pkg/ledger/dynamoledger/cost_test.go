package dynamoledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/unit"
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

func TestCostsOfAnnouncedUnits(t *testing.T) {
	api := newTable()
	s := &teller{T: t, Ledger: dynamoledger.New(api, "ledger", dynamoledger.Options{})}
	s.open("t1")
	// units of the same objects as an intake has them: with keys of 60 bytes
	packed := func(u, from, n int) ledger.Entry {
		e := entry(1, u, 0)
		d := unit.Unit{Job: "j", Run: 1, Bucket: "bucket", Origin: unit.FromEvent}
		r := random{rand.New(rand.NewPCG(1, uint64(from)))}
		for i := range n {
			o := unit.Object{
				Key:  fmt.Sprintf("logs/tenant=%03d/date=2026-11-30/hour=%02d/part-%05d.json.gz", i%7, i%24, from+i),
				ETag: fmt.Sprintf("%q", fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())), Size: 1 << 18, LastModified: time.Unix(1_800_000_000, 0),
			}
			d.Objects = append(d.Objects, o)
			e.Claims = append(e.Claims, ledger.Claim{ID: o.ID(), Unit: id(u)})
		}
		unit.Sort(d.Objects)
		body, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		e.Units[0].Body, e.Units[0].Objects = body, n
		return e
	}
	t.Run("looking at a job that runs is one read", func(t *testing.T) {
		differ(t, "calls", api.since(func() { s.open("t1") }), map[string]int{"GetItem": 1})
	})
	t.Run("looking for a unit that is not there is one read, where the job was seen", func(t *testing.T) {
		differ(t, "calls", api.since(func() {
			if _, err := s.Look(t.Context(), ref(1, 77)); !errors.Is(err, ledger.ErrNoUnit) {
				t.Error(err)
			}
		}), map[string]int{"GetItem": 1})
	})
	for _, c := range []struct{ u, objects, enters, reads int }{{0, 1, 5, 4}, {1, 99, 0, 0}} {
		t.Run(fmt.Sprintf("a unit of %d objects costs its intake one transaction, and its reader what a listed one does", c.objects), func(t *testing.T) {
			e := packed(c.u, 1000*c.u, c.objects)
			cost := api.cost
			differ(t, "calls", api.since(func() { s.enter(e) }), map[string]int{"GetItem": 1, "TransactWriteItems": 1})
			entered := api.cost - cost
			got := api.since(func() {
				s.meta()
				s.begin(1, c.u)
				s.done(1, c.u)
			})
			differ(t, "calls", got, map[string]int{"GetItem": 2, "UpdateItem": 3})
			t.Logf("body %d bytes; write units: %d entered, %d read", len(e.Units[0].Body), entered, api.cost-cost-entered)
			if c.enters > 0 && (entered != c.enters || api.cost-cost-entered != c.reads) {
				t.Errorf("%d write units entered, %d read", entered, api.cost-cost-entered)
			}
		})
	}
	t.Run("an event that comes again is a read and a transaction", func(t *testing.T) {
		e := packed(0, 0, 1)
		differ(t, "calls", api.since(func() { s.enter(e) }), map[string]int{"GetItem": 1, "TransactWriteItems": 1})
	})
	t.Run("an object in many units costs a write for each", func(t *testing.T) {
		e := packed(200, 5000, 1)
		for u := range 150 {
			e.Units = append(e.Units, entry(1, 201+u, 0).Units...)
		}
		differ(t, "calls", api.since(func() { s.enter(e) }), map[string]int{"GetItem": 2, "TransactWriteItems": 1, "UpdateItem": 151})
	})
	t.Run("bodies that no transaction holds are written each for itself", func(t *testing.T) {
		e, r := packed(400, 6000, 1), random{rand.New(rand.NewPCG(1, 8))}
		for u := range 22 {
			more := entry(1, 401+u, 0).Units
			more[0].Body = r.bytes(200 << 10)
			e.Units = append(e.Units, more...)
		}
		differ(t, "calls", api.since(func() { s.enter(e) }), map[string]int{"GetItem": 2, "TransactWriteItems": 1, "UpdateItem": 23})
	})
	t.Run("the backlog is 64 queries, and reads what is not done", func(t *testing.T) {
		read := api.read
		got := api.since(func() {
			if b, err := s.Backlog(t.Context(), "j", 1); err != nil || b.Open != 174 {
				t.Errorf("%+v, %v", b, err)
			}
		})
		differ(t, "calls", got, map[string]int{"GetItem": 1, "Query": 64})
		differ(t, "read", api.read-read, 174)
	})
	t.Run("a proof reads no claims and no counters", func(t *testing.T) {
		read := api.read
		if c, err := s.Prove(t.Context(), "j", 1); err != nil || c.Done != 2 {
			t.Errorf("%+v, %v", c, err)
		}
		differ(t, "read", api.read-read, 176)
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
