package memledger_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/ledgertest"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

var harness = ledgertest.Harness{Lapse: func(s ledger.Store, d time.Duration) { s.(interface{ Pass(time.Duration) }).Pass(d) }}

func TestLedgerKeepsTheContract(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Store { return memledger.New() }, harness)
}

func TestSharedLedgerKeepsTheContract(t *testing.T) {
	few := harness
	few.Histories = 30 // RunShared has as many again
	ledgertest.Run(t, func(*testing.T) ledger.Store { return memledger.NewShared() }, few)
	ledgertest.RunResumer(t, func(*testing.T) ledgertest.Resumable { return memledger.NewShared() }, harness)
	ledgertest.RunShared(t, func(*testing.T) ledger.Shared { return memledger.NewShared() }, harness)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func id(n int) unit.ID {
	var sum [16]byte
	binary.LittleEndian.PutUint64(sum[:], uint64(n)*0x9e3779b97f4a7c15)
	return unit.ID("s3-" + base64.RawURLEncoding.EncodeToString(sum[:]))
}

var lister = ledger.Lease{Job: "j", Run: 1, Holder: "lister"}

func ref(n int) ledger.Ref { return ledger.Ref{Job: "j", Run: 1, ID: id(n)} }

// listing is a ledger whose job j is listed by lister.
func listing(t *testing.T) *memledger.Ledger {
	t.Helper()
	l := memledger.New()
	must[ledger.Meta](t)(l.Start(t.Context(), "j", ledger.Start{Token: "t"}))
	must[ledger.Meta](t)(l.Lease(t.Context(), lister))
	return l
}

func publish(t *testing.T, l *memledger.Ledger, p ledger.Page) []unit.ID {
	t.Helper()
	_, ids, err := l.Publish(t.Context(), lister, p)
	if err == nil {
		err = l.Advance(t.Context(), lister, p)
	}
	return must[[]unit.ID](t)(ids, err)
}

func TestCompletedIsRefusedWithoutProof(t *testing.T) { // INV-1
	l, ctx := listing(t), t.Context()
	publish(t, l, ledger.Page{Units: []ledger.Planned{{ID: id(0)}, {ID: id(1)}}})
	refused := func(run int, why string) {
		t.Helper()
		if err := l.Conclude(ctx, "j", run, 0, ledger.Completed); !errors.Is(err, ledger.ErrState) {
			t.Errorf("completed with %s: %v", why, err)
		}
	}
	must[ledger.Tally](t)(l.Done(ctx, ref(0), ledger.Counts{}))
	if err := l.Finish(ctx, lister); err != nil {
		t.Fatal(err)
	}
	refused(1, "a unit open")
	it := must[ledger.Item](t)(l.Begin(ctx, ref(1), 1, 1))
	must[ledger.Tally](t)(l.Dead(ctx, ref(1), it.Serial, ledger.Cause{}))
	refused(1, "a unit dead")
	if err := l.Conclude(ctx, "j", 1, 0, ledger.Failed); err != nil {
		t.Error(err)
	}
	must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{Token: "t2"}))
	refused(2, "no end marker")
	shared := memledger.NewShared()
	must[ledger.Meta](t)(shared.Open(ctx, "j", ledger.Start{}))
	l = shared.Ledger
	refused(1, "no end ever")
}

func TestATokenStandsForTheRunThatItStarted(t *testing.T) {
	t.Run("a token of an earlier run gives that run as it ended", func(t *testing.T) {
		l, ctx := memledger.New(), t.Context()
		first := ledger.Start{Token: "t1", Digests: ledger.Digests{Plan: "p1"}}
		must[ledger.Meta](t)(l.Start(ctx, "j", first))
		if err := l.Conclude(ctx, "j", 1, 0, ledger.Cancelled); err != nil {
			t.Fatal(err)
		}
		ended := must[ledger.Meta](t)(l.Meta(ctx, "j"))
		must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{Token: "t2"}))
		if d := cmp.Diff(ended, must[ledger.Meta](t)(l.Start(ctx, "j", first))); d != "" {
			t.Errorf("the run of t1 (-want +got):\n%s", d)
		}
		if m := must[ledger.Meta](t)(l.Meta(ctx, "j")); m.Run != 2 || m.State != ledger.Listing {
			t.Errorf("run %d is %s", m.Run, m.State)
		}
	})
	t.Run("an empty token repeats nothing", func(t *testing.T) {
		l, ctx := memledger.New(), t.Context()
		must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{}))
		if _, err := l.Start(ctx, "j", ledger.Start{}); !errors.Is(err, ledger.ErrActive) {
			t.Errorf("second start: %v", err)
		}
		for run := 1; run < 3; run++ {
			if err := l.Conclude(ctx, "j", run, 0, ledger.Failed); err != nil {
				t.Fatal(err)
			}
			if m := must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{})); m.Run != run+1 {
				t.Errorf("run %d", m.Run)
			}
		}
	})
}

func TestAUnitThatIsOnTwoPagesOrTwiceOnOneCountsOnce(t *testing.T) {
	l, ctx := listing(t), t.Context()
	publish(t, l, ledger.Page{Last: "a", Units: []ledger.Planned{{ID: id(0)}, {ID: id(1)}, {ID: id(1)}}})
	must[ledger.Tally](t)(l.Done(ctx, ref(1), ledger.Counts{}))
	publish(t, l, ledger.Page{After: "a", Last: "b", Units: []ledger.Planned{{ID: id(1)}, {ID: id(2)}}})
	if m := must[ledger.Meta](t)(l.Meta(ctx, "j")); m.Planned != 3 {
		t.Errorf("%d units planned", m.Planned)
	}
	if p := must[ledger.Progress](t)(l.Progress(ctx, "j", 1)); p.Done != 1 {
		t.Errorf("%d units done", p.Done)
	}
}

// TestDoneUnitsAreSmall holds ten million of them to a gigabyte (INV-6).
func TestDoneUnitsAreSmall(t *testing.T) {
	const n, each, bound = 60_000, 500, 100
	l, ctx := listing(t), t.Context()
	counts := ledger.Counts{
		Counts:    record.Counts{In: 120_000, Out: 90_000, Filtered: 29_000, Rejected: 1_000},
		BytesRead: 64 << 20, BytesDecoded: 640 << 20,
		Sinks:      map[string]ledger.SinkCounts{"main": {Records: 90_000, Blocks: 12, Bytes: 80 << 20}},
		MemoryTime: 1_769 * 30_000,
	}
	before, begun, last := heap(), time.Now(), ""
	for from := 0; from < n; from += each {
		p := ledger.Page{After: last, Last: fmt.Sprintf("%09d", from)}
		last = p.Last
		for i := from; i < from+each; i++ {
			p.Units = append(p.Units, ledger.Planned{ID: id(i), FirstKey: fmt.Sprintf("logs/2026/%09d.json.gz", i), Objects: 64, Body: make([]byte, 1000)})
		}
		publish(t, l, p)
		for _, u := range p.Units {
			must[ledger.Tally](t)(l.Done(ctx, ledger.Ref{Job: lister.Job, Run: 1, ID: u.ID}, counts))
		}
	}
	bytes := int64(heap()-before) / n
	t.Logf("%d bytes a unit, %v each", bytes, time.Since(begun)/n)
	if bytes > bound {
		t.Errorf("a done unit takes %d bytes, more than %d", bytes, bound)
	}
	if c := must[ledger.Census](t)(l.Prove(ctx, "j", 1)); c.Done != n || c.Counts.In != n*counts.In || c.Counts.Sinks["main"].Bytes != n*80<<20 {
		t.Errorf("census %+v", c)
	}
	runtime.KeepAlive(l)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestCountsOfManySinksSurvive(t *testing.T) {
	l, ctx := listing(t), t.Context()
	want := ledger.Counts{Counts: record.Counts{In: -1, Expanded: 1 << 62}, Sinks: map[string]ledger.SinkCounts{}}
	for i := range int64(3000) { // more than a chunk holds
		want.Sinks[fmt.Sprint("sink-", i)] = ledger.SinkCounts{Records: 1<<62 + i, Blocks: i, Bytes: -1<<62 - i}
	}
	publish(t, l, ledger.Page{Units: []ledger.Planned{{ID: id(0)}, {ID: id(1)}, {ID: id(2)}}})
	for i, c := range []ledger.Counts{{BytesRead: 1}, want, {BytesRead: 2}} {
		must[ledger.Tally](t)(l.Done(ctx, ref(i), c))
	}
	if d := cmp.Diff(want, must[ledger.Item](t)(l.Begin(ctx, ref(1), 1, 1)).Counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	want.BytesRead = 3
	if d := cmp.Diff(want, must[ledger.Census](t)(l.Prove(ctx, "j", 1)).Counts); d != "" {
		t.Errorf("sum (-want +got):\n%s", d)
	}
}
