package dynamoledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// object is the nth object of a continuous job.
func object(n int) unit.Object {
	return unit.Object{Key: key(n), ETag: fmt.Sprintf(`"%032x"`, n), Size: int64(n)}
}

func objectID(n int) unit.ObjectID { o := object(n); return o.ID() }

// entry is that of unit u and the objects, at a take.
func entry(run, u, take int, objects ...int) ledger.Entry {
	e := ledger.Entry{Job: "j", Run: run, Units: []ledger.Planned{{ID: id(u), FirstKey: key(u), Objects: len(objects), Body: []byte("body of " + key(u))}}}
	for _, n := range objects {
		e.Claims = append(e.Claims, ledger.Claim{ID: objectID(n), Unit: id(u), Take: take})
	}
	return e
}

// large is an entry of an object in n units from u on, which no transaction holds.
func large(run, u, n int) ledger.Entry {
	e := entry(run, u, 0, u)
	e.Units = nil
	for i := range n {
		e.Units = append(e.Units, ledger.Planned{ID: id(u + i), FirstKey: key(u), Objects: 1, Body: bytes.Repeat([]byte{byte(i)}, 800<<10)})
	}
	return e
}

func (t *teller) open(token string) ledger.Meta {
	return tell(t, func() (ledger.Meta, error) {
		return t.Open(t.Context(), "j", ledger.Start{Token: token, Digests: ledger.Digests{Read: "r1"}, Cutoff: time.Unix(1_700_000_000, 0).UTC()})
	})
}

// enter enters e, of which others hold the claims at those places.
func (t *teller) enter(e ledger.Entry, held ...int) {
	t.Helper()
	var places []int
	for _, h := range tell(t, func() ([]ledger.Held, error) { return t.Enter(t.Context(), e) }) {
		places = append(places, h.Index)
	}
	differ(t.T, "held", places, held)
}

// overwritten finds object n overwritten, which is member m of unit u.
func (t *teller) overwritten(u, serial, m int, o unit.Object) {
	f := ledger.Fault{Member: m, Reason: failure.ETagDrift, Overwritten: true}
	t.ok(func() error { return t.Overwritten(t.Context(), ref(1, u), serial, f, o) })
}

func (t *teller) keys() []ledger.KeyTodo {
	return tell(t, func() (all []ledger.KeyTodo, err error) {
		err = t.Keys(t.Context(), "j", func(d ledger.KeyTodo) error { all = append(all, d); return nil })
		return all, err
	})
}

// stream is the life of a continuous job in which every method does something.
func (t *teller) stream() {
	ctx := t.Context()
	t.open("t1")
	t.enter(entry(1, 0, 0, 0, 1))
	t.enter(entry(1, 1, 0, 2))
	t.enter(entry(1, 2, 0, 1, 3), 0)
	t.enter(entry(1, 2, 0, 3))
	t.enter(large(1, 20, 3))
	s := t.begin(1, 0)
	t.ok(func() error { return t.Touch(ctx, ref(1, 0)) })
	t.overwritten(0, s, 1, object(1))
	t.overwritten(0, s, 0, object(99)) // which nobody claimed
	again := object(1)
	again.Again = 1
	t.ok(func() error { return t.Again(ctx, "j", again) })
	t.ok(func() error { return t.Again(ctx, "j", object(5)) })
	t.done(1, 0)
	t.enter(entry(1, 3, 1, 1))
	for _, k := range t.keys() {
		if k.Object.Key == key(1) {
			t.ok(func() error { return t.KeySent(ctx, "j", k) })
		}
	}
	s = t.begin(1, 1)
	t.ok(func() error { return t.Pause(ctx, ref(1, 1), s, ledger.Cursor{Segment: 4}, counts) })
	t.ok(func() error {
		if err := t.Repeat(ctx, ref(1, 1), 0); !errors.Is(err, ledger.ErrFenced) {
			return err
		}
		return nil // the answer to the one that counted was lost
	})
	t.dead(1, 2)
	t.done(1, 2) // late
	t.dead(1, 3)
	tell(t, func() (int, error) { return t.Redrive(ctx, "j", 1) })
	t.dead(1, 20)
	tell(t, func() (bool, error) { return t.Halt(ctx, "j", ledger.Halt{Reason: failure.Fingerprint}) })
	tell(t, func() (bool, error) { return t.Resume(ctx, "j", failure.Fingerprint) })
	tell(t, func() (string, error) { return t.Adopt(ctx, "j", 1, "r2") })
	t.ok(func() error { return t.Watched(ctx, "j", ledger.Watch{Run: 1, Flow: ledger.Flow{Units: 3}}) })
	m := t.meta()
	t.ok(func() error { return t.Conclude(ctx, "j", 1, m.Generation, ledger.Cancelled) })
	t.open("t2")
	t.enter(entry(2, 4, 0, 6))
}

// flow is what shows of a continuous job besides what does of any.
type flow struct {
	Looked  []ledger.Item
	Claims  []ledger.Held
	Keys    []ledger.KeyTodo
	Backlog []ledger.Backlog
	Stale   []ledger.Item
}

// start is the start of a body, which takes less time to compare.
func start(body []byte) []byte { return body[:min(len(body), 64)] }

func (t *teller) flow() (f flow) {
	ctx := t.Context()
	f.Keys = t.keys()
	for i := range f.Keys {
		if f.Keys[i].Number == 0 {
			t.Error("a todo without a number")
		}
		f.Keys[i].Number = 0 // no two are alike
	}
	for u := range 23 {
		if it, err := t.Look(ctx, ref(1, u)); !errors.Is(err, ledger.ErrNoUnit) {
			t.ok(func() error { return err })
			it.Body = start(it.Body)
			f.Looked = append(f.Looked, it)
		}
	}
	for n := range 23 {
		if h, err := t.Claimed(ctx, "j", objectID(n)); !errors.Is(err, ledger.ErrNoClaim) {
			t.ok(func() error { return err })
			f.Claims = append(f.Claims, h)
		}
	}
	for run := 1; run < 3; run++ {
		f.Backlog = append(f.Backlog, tell(t, func() (ledger.Backlog, error) { return t.Backlog(ctx, "j", run) }))
		f.Stale = append(f.Stale, tell(t, func() (all []ledger.Item, err error) {
			err = t.Stale(ctx, "j", run, someDay.Add(time.Hour), func(it ledger.Item) error { all = append(all, it); return nil })
			return all, err
		})...)
	}
	return f
}
