package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// objects is how many objects the units of a history of a continuous job are made
// of. A unit's number says which of them it holds, and at which takes, as its id
// would.
const (
	objects = 3
	takes   = 3
)

// flows compares random histories of one continuous job with the model's.
func flows(t *testing.T, shared ledger.Shared, harness Harness) {
	tell(t, harness, func(h *history) {
		h.bench, h.shared = newBench(t, shared, harness), shared
		h.model = newModel(h.job)
		h.next, h.also = h.flow, h.compareFlow
		h.do("open", func() { h.openJob(ledger.Start{Token: "t0", Digests: digests}) })
	})
}

func (h *history) openJob(s ledger.Start) {
	m, err := h.shared.Open(h.ctx, h.job, s)
	h.same(err, h.model.open(s))
	if h.model.base.IsZero() {
		h.model.base = m.Started
	}
}

func (h *history) flow() {
	run := h.model.meta.Run - h.r.IntN(12)/11 // now and then the one before
	r := h.known(run)
	serial := 0
	if u := h.model.units[r.ID]; u != nil {
		serial = u.Serial - h.r.IntN(4)/3
	}
	switch k := h.r.IntN(24); {
	case k < 6:
		h.enter(run)
	case k < 9:
		h.work(r)
	case k < 12:
		h.write(r, serial)
	case k < 15:
		h.overwrite(r, serial)
	case k < 17:
		h.finishUnit(r)
	case k < 20:
		h.mind(r)
	case k < 21:
		h.rekey()
	case k < 22:
		h.pass()
	case k < 23:
		h.steer(run)
	default:
		h.dispatch(run)
	}
}

// known is a unit that was entered, or now and then one of the job that was
// not.
func (h *history) known(run int) ledger.Ref {
	all := slices.Sorted(maps.Keys(h.model.units))
	if len(all) == 0 || h.r.IntN(12) == 0 {
		return h.ref(run, 7777)
	}
	return ledger.Ref{Job: h.job, Run: run, ID: all[h.r.IntN(len(all))]}
}

// enter enters a unit of some objects, mostly at the take at which their claims
// let it pass.
func (h *history) enter(run int) {
	u, e := 0, ledger.Entry{Job: h.job, Run: run}
	for n := range objects {
		u *= takes + 1
		if h.r.IntN(2) == 0 {
			continue
		}
		take := h.r.IntN(takes)
		if is := h.model.claims[object(n)]; h.r.IntN(3) > 0 {
			take = is.Take
			if is.Overwritten && take < takes-1 {
				take++
			}
		}
		u += take + 1
		e.Claims = append(e.Claims, ledger.Claim{ID: object(n), Take: take})
	}
	if len(e.Claims) == 0 {
		return
	}
	for i := range e.Claims {
		e.Claims[i].Unit = id(u)
	}
	e.Units = []ledger.Planned{published(u)}
	e.Units[0].Body = fmt.Appendf(e.Units[0].Body, " entered as %d", h.r.Int())
	h.do(fmt.Sprintf("enter %d in run %d: %+v", u, run, e.Claims), func() {
		got, err := h.shared.Enter(h.ctx, e)
		want, wantErr := h.model.enterAll(e)
		h.same(err, wantErr)
		for i := range got {
			got[i].Since = h.rounded(got[i].Since)
		}
		h.equal("held", got, want)
	})
}

func (h *history) overwrite(r ledger.Ref, serial int) {
	o := *version(h.r.IntN(objects), h.r.IntN(takes))
	if is := h.model.claims[o.ID()]; h.r.IntN(3) > 0 {
		o.Take = is.Take
	}
	f := ledger.Fault{Member: h.r.IntN(3), Record: int64(h.r.IntN(4)), Framed: int64(h.r.IntN(9)), Reason: failure.ETagDrift, Overwritten: true}
	h.do(fmt.Sprintf("overwritten %+v at serial %d: %s at take %d, %+v", r, serial, o.Key, o.Take, f), func() {
		h.same(h.shared.Overwritten(h.ctx, r, serial, f, o), h.model.overwritten(r, serial, f, o))
	})
}

// mind is what readers and the schedule do in addition.
func (h *history) mind(r ledger.Ref) {
	switch h.r.IntN(4) {
	case 0:
		h.do(fmt.Sprintf("touch %+v", r), func() { h.same(h.Touch(h.ctx, r), h.model.touched(r)) })
	case 1:
		read := fmt.Sprint("read-", h.r.IntN(3))
		h.do(fmt.Sprintf("adopt %s in run %d", read, r.Run), func() {
			got, err := h.shared.Adopt(h.ctx, h.job, r.Run, read)
			want, wantErr := h.model.adopt(r.Run, read)
			h.same(err, wantErr)
			h.equal("read digest", got, want)
		})
	default:
		repeats := 0
		if u := h.model.units[r.ID]; u != nil {
			repeats = u.Repeats + h.r.IntN(4)/3
		}
		h.do(fmt.Sprintf("repeat %+v after %d", r, repeats), func() {
			h.same(h.shared.Repeat(h.ctx, r, repeats), h.model.repeat(r, repeats))
		})
	}
}

// rekey puts a todo for a key, or says of one that it was sent, by its present
// number or an earlier one.
func (h *history) rekey() {
	key := fmt.Sprint("k", h.r.IntN(2))
	if numbers := h.puts[key]; len(numbers) > 0 && h.r.IntN(2) == 0 {
		n := numbers[max(0, len(numbers)-1-h.r.IntN(2))]
		h.do(fmt.Sprintf("sent key %s at %d", key, n), func() {
			h.ok(h.shared.KeySent(h.ctx, h.job, ledger.KeyTodo{Object: unit.Object{Key: key}, Number: n}))
			if n == numbers[len(numbers)-1] {
				delete(h.model.keys, key)
			}
		})
		return
	}
	o := current(key, fmt.Sprint(h.r.IntN(2)), h.r.IntN(3))
	h.do(fmt.Sprintf("again %+v", o), func() {
		h.ok(h.shared.Again(h.ctx, h.job, o))
		h.model.keys[key] = o
		n := h.keyTodos(h.shared)[key].Number
		if slices.Contains(h.puts[key], n) {
			h.Errorf("number %d came twice", n)
		}
		h.puts[key] = append(h.puts[key], n)
	})
}

func (h *history) pass() {
	if h.harness.Lapse == nil {
		return
	}
	h.do(fmt.Sprintf("%v pass", aWhile), func() {
		h.lapse(aWhile)
		h.model.clock += aWhile
	})
}

// compareFlow compares what only a continuous job shows.
func (h *history) compareFlow() {
	h.Helper()
	m, run := h.model, h.model.meta.Run
	h.equal("keys", h.keysNow(), m.keys)
	for n := range objects {
		is, err := h.shared.Claimed(h.ctx, h.job, object(n))
		want, ok := m.claims[object(n)]
		if !ok {
			h.is(err, ledger.ErrNoClaim)
			continue
		}
		h.ok(err)
		is.Since = h.rounded(is.Since)
		h.equal("claim", is, want)
	}
	r := h.known(run)
	if u := m.units[r.ID]; u != nil {
		h.compareUnit(r, u)
	}
	h.soon("backlog", func() any {
		b, err := h.shared.Backlog(h.ctx, h.job, run)
		h.ok(err)
		b.Oldest = h.rounded(b.Oldest)
		return b
	}, m.backlog(run))
	then := m.now().Add(aWhile/2 - time.Duration(h.r.IntN(3))*aWhile)
	h.soon("stale", func() any { return h.stale(h.shared, run, then) }, m.stale(run, then))
}

func (h *history) compareUnit(r ledger.Ref, u *modelUnit) {
	h.Helper()
	got, err := h.shared.Look(h.ctx, r)
	h.ok(err)
	want := h.model.item(r.ID)
	if want.State == ledger.Open {
		want.Body = u.body
	} else {
		got.Body = nil
	}
	if got = h.plain(got); want.State == ledger.Done { // of which a ledger need not keep more
		got = ledger.Item{Planned: ledger.Planned{ID: got.ID}, Run: got.Run, State: got.State, Counts: got.Counts, Entered: got.Entered, Ended: got.Ended}
		want = ledger.Item{Planned: ledger.Planned{ID: want.ID}, Run: want.Run, State: want.State, Counts: want.Counts, Entered: want.Entered, Ended: want.Ended}
	}
	h.equal("unit", got, want)
}

func (h *history) keysNow() map[string]unit.Object {
	h.Helper()
	now := map[string]unit.Object{}
	for key, t := range h.keyTodos(h.shared) {
		now[key] = t.Object
	}
	return now
}
