package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	historyCount  = 300
	historySteps  = 80
	historyBudget = 3 * time.Second // for a driver to which each step is a call
)

// histories compares random histories of one job with the model's.
func histories(t *testing.T, open func(*testing.T) ledger.Store) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	store, end := open(t), time.Now().Add(historyBudget)
	for n := range uint64(historyCount) {
		h := &history{
			bench: newBench(t, store),
			r:     rand.New(rand.NewPCG(seed, n)),
			model: &model{units: map[unit.ID]*modelUnit{}, faults: map[unit.ID]map[int]ledger.Fault{}},
		}
		h.model.meta.Job = h.job
		h.do("start", func() { h.startJob("t0") })
		for range historySteps {
			h.step()
			if t.Failed() {
				break
			}
		}
		if h.compare(); t.Failed() {
			t.Fatalf("seed %d, history %d:\n%s", seed, n, h.trace)
		}
		if n > 0 && time.Now().After(end) {
			t.Logf("%d histories in %v", n+1, historyBudget)
			return
		}
	}
}

type history struct {
	bench
	model *model
	r     *rand.Rand
	trace []byte
}

// do notes an operation, carries it out on both, and now and then compares all
// that shows.
func (h *history) do(what string, op func()) {
	h.Helper()
	h.trace = fmt.Appendf(h.trace, "%s\n", what)
	op()
	if h.r.IntN(4) == 0 {
		h.compare()
	}
}

func (h *history) compare() {
	h.Helper()
	h.equal("meta", timeless(h.meta()), h.model.view())
	for run := max(0, h.model.meta.Run-2); run <= h.model.meta.Run; run++ {
		h.equal("census", h.census(run), h.model.census(run))
		got := h.items(run)
		for i := range got {
			got[i] = ordered(got[i])
		}
		h.equal("unfinished", got, h.model.unfinished(run))
	}
}

// same compares errors by their kind.
func (h *history) same(got, want error) {
	h.Helper()
	if !errors.Is(got, want) {
		h.Errorf("error %v, want %v", got, want)
	}
}

func timeless(m ledger.Meta) ledger.Meta {
	m.Started, m.Ended = time.Time{}, time.Time{}
	return m
}

// ordered orders the faults, whose order says nothing.
func ordered(it ledger.Item) ledger.Item {
	slices.SortFunc(it.Faults, func(a, b ledger.Fault) int { return a.Member - b.Member })
	return it
}

func (h *history) step() {
	n := h.r.IntN(5)
	run := h.model.meta.Run - h.r.IntN(8)/7 // now and then the one before
	r := h.ref(run, n)
	serial := 0
	if u := h.model.units[r.ID]; u != nil {
		serial = u.Serial - h.r.IntN(4)/3
	}
	switch k := h.r.IntN(40); {
	case k < 8:
		h.work(r)
	case k < 24:
		h.write(k, r, serial)
	case k < 28:
		h.do(fmt.Sprintf("done %+v", r), func() {
			got, err := h.Done(h.ctx, r, one)
			want, wantErr := h.model.done(r, one)
			h.same(err, wantErr)
			h.equal("tally", got, want)
		})
	case k < 34:
		h.list(run)
	default:
		h.steer(k, run)
	}
}

func (h *history) startJob(token string) {
	d := ledger.Digests{Plan: token}
	_, err := h.Start(h.ctx, h.job, token, d)
	h.same(err, h.model.start(token, d))
}

func (h *history) work(r ledger.Ref) {
	receives, limit := 1+h.r.IntN(4), 4
	h.do(fmt.Sprintf("begin %+v, receives %d of %d", r, receives, limit), func() {
		got, err := h.Begin(h.ctx, r, receives, limit)
		want, wantErr := h.model.begin(r, receives, limit)
		h.same(err, wantErr)
		if want.State == ledger.Done { // of which a ledger need not keep more
			got, want = ledger.Item{Run: got.Run, State: got.State}, ledger.Item{Run: want.Run, State: want.State}
		}
		h.equal("item", ordered(got), want)
	})
}

func (h *history) write(k int, r ledger.Ref, serial int) {
	member := h.r.IntN(3)
	f := ledger.Fault{Member: member, Record: int64(h.r.IntN(4)), Reason: failure.Undecodable}
	switch {
	case k < 13:
		h.do(fmt.Sprintf("fault %+v at serial %d: %+v", r, serial, f), func() {
			h.same(h.Fault(h.ctx, r, serial, f), h.model.fault(r, serial, f))
		})
	case k < 16:
		h.do(fmt.Sprintf("rest done %+v at serial %d", r, serial), func() {
			h.same(h.RestDone(h.ctx, r, serial, one), h.model.restDone(r, serial, one))
		})
	case k < 19:
		h.do(fmt.Sprintf("recovered %+v at serial %d: %d", r, serial, member), func() {
			h.same(h.Recovered(h.ctx, r, serial, member, one), h.model.recovered(r, serial, member, one))
		})
	case k < 21:
		if u := h.model.units[r.ID]; u != nil && u.Attempts == 0 && u.gaveBack != serial {
			return // nothing was begun in this run, so no reader has what to give back
		}
		h.do(fmt.Sprintf("give back %+v at serial %d", r, serial), func() {
			h.same(h.GiveBack(h.ctx, r, serial), h.model.giveBack(r, serial))
		})
	default:
		h.do(fmt.Sprintf("dead %+v at serial %d", r, serial), func() {
			got, err := h.Dead(h.ctx, r, serial, cause)
			want, wantErr := h.model.dead(r, serial, cause)
			h.same(err, wantErr)
			h.equal("tally", got, want)
		})
	}
}

// list publishes one of three pages, of which two share a unit, or sets the end
// marker.
func (h *history) list(run int) {
	n := h.r.IntN(4)
	if n == 3 {
		h.do(fmt.Sprintf("finish run %d", run), func() { h.same(h.Finish(h.ctx, h.job, run), h.model.finish(run)) })
		return
	}
	p := page(2*n, 2*n+2)
	if n == 2 {
		p.Units[1] = planned(0)
	}
	h.do(fmt.Sprintf("publish page %d of run %d", n, run), func() {
		got, err := h.Publish(h.ctx, h.job, run, p)
		want, wantErr := h.model.publish(run, p)
		h.same(err, wantErr)
		h.equal("to send", sorted(got), sorted(want))
	})
}

func (h *history) steer(k, run int) {
	reasons := []failure.Reason{failure.SinkDown, failure.Denied}
	reason := reasons[h.r.IntN(2)]
	token := fmt.Sprint("t", h.model.meta.Run-h.r.IntN(2))
	generation := h.model.meta.Generation - h.r.IntN(4)/3
	states := []ledger.State{ledger.Failed, ledger.Cancelled, ledger.Completed}
	s := states[h.r.IntN(3)]
	switch {
	case k < 35:
		h.do("halt for "+string(reason), func() {
			set, err := h.Halt(h.ctx, h.job, ledger.Halt{Reason: reason})
			h.ok(err)
			h.equal("set", set, h.model.halt(ledger.Halt{Reason: reason}))
		})
	case k < 36:
		h.do("resume from "+string(reason), func() {
			cleared, err := h.Resume(h.ctx, h.job, reason)
			h.ok(err)
			h.equal("cleared", cleared, h.model.resume(reason))
		})
	case k < 38:
		h.do("start with "+token, func() { h.startJob(token) })
	default:
		if s == ledger.Completed && !h.model.census(run).Complete(h.model.view()) {
			return // a finalizer asks for it only on proof
		}
		h.do(fmt.Sprintf("conclude run %d at generation %d: %s", run, generation, s), func() {
			h.same(h.Conclude(h.ctx, h.job, run, generation, s), h.model.conclude(run, generation, s))
		})
	}
}
