package ledgertest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// What subtests of continuous jobs are made of.

// aWhile is longer than clocks differ and than a subtest takes.
const aWhile = 20 * time.Minute

// version is the nth object version of a test, taken so many times before.
func version(n, take int) *unit.Object {
	return &unit.Object{Key: fmt.Sprintf("in/%d", n), ETag: `"e"`, Take: take}
}

// object is the id of the nth object version.
func object(n int) unit.ObjectID { return version(n, 0).ID() }

// claim is the first claim on object n, for unit u.
func claim(u, n int) ledger.Claim { return ledger.Claim{ID: object(n), Unit: id(u)} }

// taking is the entry of unit u with the objects in it, each claimed at that
// take.
func (b bench) taking(run, take, u int, objects ...int) ledger.Entry {
	e := ledger.Entry{Job: b.job, Run: run, Units: []ledger.Planned{published(u)}}
	for _, n := range objects {
		c := claim(u, n)
		c.Take = take
		e.Claims = append(e.Claims, c)
	}
	return e
}

// entry is the entry of unit u with the objects in it, each claimed for the
// first time.
func (b bench) entry(run, u int, objects ...int) ledger.Entry { return b.taking(run, 0, u, objects...) }

// cut is the entry of object u as n units. Unit u is the first of them, and has
// the claim.
func (b bench) cut(run, u, n int) ledger.Entry {
	e := b.entry(run, u, u)
	for i := 1; i < n; i++ {
		e.Units = append(e.Units, published(u+i))
	}
	return e
}

// opened opens the job.
func (b bench) opened(s ledger.Shared, token string) ledger.Meta {
	b.Helper()
	m, err := s.Open(b.ctx, b.job, ledger.Start{Token: token, Digests: digests})
	b.ok(err)
	return m
}

// enters enters e, whose objects nobody has claimed.
func (b bench) enters(s ledger.Shared, e ledger.Entry) {
	b.Helper()
	held, err := s.Enter(b.ctx, e)
	b.ok(err)
	b.equal("held by others", held, []ledger.Held(nil))
}

// streams opens the job with n units, each of one object of its own.
func (b bench) streams(s ledger.Shared, n int) ledger.Meta {
	b.Helper()
	m := b.opened(s, "t1")
	for u := range n {
		b.enters(s, b.entry(m.Run, u, u))
	}
	return m
}

// refused checks which of e's claims come back, and that nothing was entered.
func (b bench) refused(s ledger.Shared, e ledger.Entry, want ...ledger.Held) {
	b.Helper()
	before := b.items(e.Run)
	held, err := s.Enter(b.ctx, e)
	b.ok(err)
	for i := range held {
		held[i].Since = time.Time{}
	}
	b.equal("held by others", held, want)
	b.equal("items", b.items(e.Run), before)
	for i, c := range e.Claims {
		if !heldAt(want, i) {
			if is, err := s.Claimed(b.ctx, b.job, c.ID); err == nil && is.Unit == c.Unit {
				b.Errorf("claim %d was entered: %+v", i, is)
			}
		}
	}
}

func heldAt(held []ledger.Held, i int) bool {
	for _, h := range held {
		if h.Index == i {
			return true
		}
	}
	return false
}

// holds is the claim on an object, whatever its time.
func (b bench) holds(s ledger.Shared, n int) ledger.Held {
	b.Helper()
	is, err := s.Claimed(b.ctx, b.job, object(n))
	b.ok(err)
	is.Since = time.Time{}
	return is
}

// since is when an object was claimed.
func (b bench) since(s ledger.Shared, n int) time.Time {
	b.Helper()
	is, err := s.Claimed(b.ctx, b.job, object(n))
	b.ok(err)
	return is.Since
}

// look is the item of a unit, whole.
func (b bench) look(s ledger.Shared, n int) ledger.Item {
	b.Helper()
	it, err := s.Look(b.ctx, b.ref(0, n))
	b.ok(err)
	return it
}

// bare is an item without body and times.
func bare(it ledger.Item) ledger.Item {
	it.Body = nil
	it.Entered, it.Touched, it.Ended = time.Time{}, time.Time{}, time.Time{}
	return it
}

// overwrites marks an object overwritten, as member 0 of a unit of the run.
func (b bench) overwrites(s ledger.Shared, u, serial int, o *unit.Object) {
	b.Helper()
	b.ok(s.Overwritten(b.ctx, b.ref(1, u), serial, overwritten, *o))
}

// recent checks that a time is about that of the ledger's clock after so much
// was let pass.
func (b bench) recent(what string, t time.Time, passed time.Duration) {
	b.Helper()
	if off := t.Sub(time.Now().Add(passed)); off < -time.Minute || off > time.Minute {
		b.Errorf("%s is %v, which is off by %v", what, t, off)
	}
}

// soon waits for a value that may be some seconds old.
func (b bench) soon(what string, got func() any, want any) {
	b.Helper()
	for range 100 {
		if cmp.Equal(want, got(), cmpopts.EquateEmpty()) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.equal(what, got(), want)
}

// backlog waits for what the run's backlog counts.
func (b bench) backlog(s ledger.Shared, run, open, dead int) {
	b.Helper()
	b.soon("backlog", func() any {
		l, err := s.Backlog(b.ctx, b.job, run)
		b.ok(err)
		return [2]int{l.Open, l.Dead}
	}, [2]int{open, dead})
}

// stale returns the units that nothing has worked on since then, by id.
func (b bench) stale(s ledger.Shared, run int, then time.Time) []unit.ID {
	b.Helper()
	var found []unit.ID
	b.ok(s.Stale(b.ctx, b.job, run, then, func(it ledger.Item) error {
		found = append(found, it.ID)
		return nil
	}))
	return sorted(found)
}

// stales waits for the units to be those.
func (b bench) stales(s ledger.Shared, run int, then time.Time, want ...int) {
	b.Helper()
	b.soon("stale", func() any { return b.stale(s, run, then) }, ids(want...))
}
