package ledgertest

import (
	"cmp"
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
	historyBudget = 2 * time.Second // for a driver to which each step is a call
)

// histories compares random histories of one job with the model's. shared is
// the same store, if it is a Shared one.
func histories(t *testing.T, store ledger.Store, shared ledger.Shared, harness Harness) {
	t.Helper()
	tell(t, harness, func(h *history) {
		h.bench, h.shared = newBench(t, store, harness), shared
		h.model = newModel(h.job)
		h.next = h.step
		h.do("start", func() { h.startJob("t0") })
	})
}

// tell tells histories that begin with begin, each until the model disagrees.
func tell(t *testing.T, harness Harness, begin func(*history)) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	end := time.Now().Add(historyBudget)
	for n := range cmp.Or(harness.Histories, historyCount) {
		h := &history{r: rand.New(rand.NewPCG(seed, uint64(n))), numbers: map[unit.ID][]int{}, puts: map[string][]int{}}
		begin(h)
		for range cmp.Or(harness.Steps, historySteps) {
			h.next()
			if t.Failed() {
				break
			}
		}
		if h.compare(); t.Failed() {
			t.Fatalf("seed %d, history %d:\n%s", seed, n, h.trace)
		}
		if time.Now().After(end) {
			t.Logf("%d histories in %v", n+1, historyBudget)
			return
		}
	}
}

type history struct {
	bench
	shared  ledger.Shared // nil: the store is none
	model   *model
	r       *rand.Rand
	numbers map[unit.ID][]int // of its todos so far
	puts    map[string][]int  // numbers of the todos of keys so far
	beat    int64
	beatRun int
	trace   []byte
	next    func() // takes a step
	// also compares what only such a history shows; nil: nothing.
	also func()
}

// do notes an operation and carries it out on both. Now and then it compares
// everything that shows.
func (h *history) do(what string, op func()) {
	h.Helper()
	h.trace = fmt.Appendf(h.trace, "%s\n", what)
	op()
	if h.r.IntN(6) == 0 {
		h.compare()
	}
}

func (h *history) compare() {
	h.Helper()
	h.equal("meta", h.timeless(h.meta()), h.timeless(h.model.meta))
	for run := max(0, h.model.meta.Run-1); run <= h.model.meta.Run; run++ {
		h.equal("census", h.census(run), h.model.census(run))
		got := h.items(run)
		for i := range got {
			got[i] = h.plain(got[i])
		}
		h.equal("unfinished", got, h.model.unfinished(run))
		if h.shared != nil {
			h.equal("pending", h.pending(h.shared, run), h.model.pending(run))
			h.equal("due", named(h.due(h.shared, run)), h.model.due(run))
		}
	}
	if h.shared != nil {
		h.lives(h.shared, !h.model.retired)
	}
	h.compareProgress()
	if h.also != nil {
		h.also()
	}
}

// compareProgress compares what the counters say between two pages: within one
// they may be ahead of what is planned.
func (h *history) compareProgress() {
	h.Helper()
	got, want := h.progress(h.model.meta.Run), h.model.progress()
	if h.beatRun == h.model.meta.Run && got.Beat < h.beat {
		h.Errorf("beat %d, was %d", got.Beat, h.beat)
	}
	h.beat, h.beatRun = got.Beat, h.model.meta.Run
	if h.model.page != nil {
		return
	}
	want.Beat = got.Beat
	if h.model.tookOver() { // of which the counters may know no more than that they are done
		got.BytesRead, got.Records = want.BytesRead, want.Records
	}
	h.equal("progress", got, want)
}

// same compares errors by their kind.
func (h *history) same(got, want error) {
	h.Helper()
	if !errors.Is(got, want) {
		h.Errorf("error %v, want %v", got, want)
	}
}

// timeless leaves out of a meta what the driver's clock decides and, if nobody
// sweeps, what was swept.
func (h *history) timeless(m ledger.Meta) ledger.Meta {
	m.Started, m.Ended, m.Leased = time.Time{}, time.Time{}, time.Time{}
	if h.shared == nil {
		m.Swept = 0
	}
	return m
}

// plain is an item with its faults in order, and times as the model has them.
func (h *history) plain(it ledger.Item) ledger.Item {
	it.Entered, it.Touched, it.Ended = h.rounded(it.Entered), h.rounded(it.Touched), h.rounded(it.Ended)
	return ordered(it)
}

// rounded is a time on the model's clock, on which no time passes between two
// steps.
func (h *history) rounded(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return h.model.base.Add(t.Sub(h.model.base).Round(aWhile))
}

// unleased is m without the time of its lease.
func unleased(m ledger.Meta) ledger.Meta {
	m.Leased = time.Time{}
	return m
}

// ordered orders the faults, whose order says nothing.
func ordered(it ledger.Item) ledger.Item {
	slices.SortFunc(it.Faults, func(a, b ledger.Fault) int { return a.Member - b.Member })
	return it
}

func (h *history) step() {
	run := h.model.meta.Run - h.r.IntN(8)/7 // now and then the one before
	r := h.ref(run, h.r.IntN(6))
	serial := 0
	if u := h.model.units[r.ID]; u != nil {
		serial = u.Serial - h.r.IntN(4)/3
	}
	switch k := h.r.IntN(20); {
	case k < 4:
		h.work(r)
	case k < 10:
		h.write(r, serial)
	case k < 12:
		h.finishUnit(r)
	case k < 16:
		h.list(run)
	case k < 19 || h.shared == nil:
		h.steer(run)
	default:
		h.dispatch(run)
	}
}

func (h *history) startJob(token string) {
	s := ledger.Start{Token: token, Digests: ledger.Digests{Plan: token}, Source: "source of " + token}
	if h.model.meta.Continuous {
		h.openJob(s)
		return
	}
	_, err := h.Start(h.ctx, h.job, s)
	h.same(err, h.model.start(s))
}

// steer is what finalizers and operators do.
func (h *history) steer(run int) {
	m := &h.model.meta
	reason := []failure.Reason{failure.SinkDown, failure.Denied, failure.Fingerprint}[h.r.IntN(3)]
	generation := m.Generation - h.r.IntN(4)/3
	switch h.r.IntN(6) {
	case 0:
		h.do("halt for "+string(reason), func() {
			set, err := h.Halt(h.ctx, h.job, ledger.Halt{Reason: reason})
			h.ok(err)
			h.equal("set", set, h.model.halt(ledger.Halt{Reason: reason}))
		})
	case 1:
		h.do("resume from "+string(reason), func() {
			cleared, err := h.Resume(h.ctx, h.job, reason)
			h.ok(err)
			h.equal("cleared", cleared, h.model.resume(reason))
		})
	case 2:
		token := fmt.Sprint("t", m.Run-h.r.IntN(2))
		h.do("start with "+token, func() { h.startJob(token) })
	case 3:
		h.redrive(run)
	default:
		s := []ledger.State{ledger.Failed, ledger.Cancelled, ledger.Completed}[h.r.IntN(3)]
		if s == ledger.Completed && !h.model.census(run).Complete(*m) || !m.Listed && h.r.IntN(3) > 0 {
			return // a finalizer asks for it only on proof, and most listings come to their end
		}
		h.do(fmt.Sprintf("conclude run %d at generation %d: %s", run, generation, s), func() {
			h.same(h.Conclude(h.ctx, h.job, run, generation, s), h.model.conclude(run, generation, s))
		})
	}
}

func (h *history) redrive(run int) {
	h.do(fmt.Sprintf("redrive run %d", run), func() {
		before := h.model.meta.Generation
		n, err := h.Redrive(h.ctx, h.job, run)
		opened, wantErr := h.model.redrive(run)
		h.same(err, wantErr)
		h.equal("opened", n, len(opened))
		// It rises with each write that takes units out of dead, and with the last.
		if g := h.meta().Generation; wantErr == nil && g > before {
			h.model.meta.Generation = g
		}
		for _, it := range h.items(run) {
			if slices.Contains(opened, it.ID) {
				u := h.model.units[it.ID]
				if it.Serial <= u.Serial {
					h.Errorf("unit %s: serial %d after a redrive, was %d", it.ID, it.Serial, u.Serial)
				}
				u.Serial = it.Serial
			}
		}
	})
}
