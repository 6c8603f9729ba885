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

func TestLedgerKeepsTheContract(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Store { return memledger.New() })
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

func TestCompletedIsRefusedWithoutProof(t *testing.T) { // INV-1
	l, ctx := memledger.New(), t.Context()
	must[ledger.Meta](t)(l.Start(ctx, "j", "t", ledger.Digests{}))
	must[[]unit.ID](t)(l.Publish(ctx, "j", 1, ledger.Page{Units: []ledger.Planned{{ID: id(0)}, {ID: id(1)}}}))
	refused := func(why string) {
		t.Helper()
		if err := l.Conclude(ctx, "j", 1, 0, ledger.Completed); !errors.Is(err, ledger.ErrState) {
			t.Errorf("completed with %s: %v", why, err)
		}
	}
	must[ledger.Tally](t)(l.Done(ctx, ledger.Ref{Job: "j", Run: 1, ID: id(0)}, ledger.Counts{}))
	if err := l.Finish(ctx, "j", 1); err != nil {
		t.Fatal(err)
	}
	refused("a unit open")
	it := must[ledger.Item](t)(l.Begin(ctx, ledger.Ref{Job: "j", Run: 1, ID: id(1)}, 1, 1))
	must[ledger.Tally](t)(l.Dead(ctx, ledger.Ref{Job: "j", Run: 1, ID: id(1)}, it.Serial, ledger.Cause{}))
	refused("a unit dead")
	if err := l.Conclude(ctx, "j", 1, 0, ledger.Failed); err != nil {
		t.Error(err)
	}
	must[ledger.Meta](t)(l.Start(ctx, "j", "t2", ledger.Digests{}))
	if err := l.Conclude(ctx, "j", 2, 0, ledger.Completed); !errors.Is(err, ledger.ErrState) {
		t.Errorf("completed without an end marker: %v", err)
	}
}

func TestTokens(t *testing.T) {
	t.Run("a token of an earlier run gives that run as it ended", func(t *testing.T) {
		l, ctx := memledger.New(), t.Context()
		must[ledger.Meta](t)(l.Start(ctx, "j", "t1", ledger.Digests{Plan: "p1"}))
		if err := l.Conclude(ctx, "j", 1, 0, ledger.Cancelled); err != nil {
			t.Fatal(err)
		}
		first := must[ledger.Meta](t)(l.Meta(ctx, "j"))
		must[ledger.Meta](t)(l.Start(ctx, "j", "t2", ledger.Digests{}))
		if d := cmp.Diff(first, must[ledger.Meta](t)(l.Start(ctx, "j", "t1", ledger.Digests{}))); d != "" {
			t.Errorf("the run of t1 (-want +got):\n%s", d)
		}
		if m := must[ledger.Meta](t)(l.Meta(ctx, "j")); m.Run != 2 || m.State != ledger.Listing {
			t.Errorf("run %d is %s", m.Run, m.State)
		}
	})
	t.Run("an empty token repeats nothing", func(t *testing.T) {
		l, ctx := memledger.New(), t.Context()
		must[ledger.Meta](t)(l.Start(ctx, "j", "", ledger.Digests{}))
		if _, err := l.Start(ctx, "j", "", ledger.Digests{}); !errors.Is(err, ledger.ErrActive) {
			t.Errorf("second start: %v", err)
		}
		for run := 1; run < 3; run++ {
			if err := l.Conclude(ctx, "j", run, 0, ledger.Failed); err != nil {
				t.Fatal(err)
			}
			if m := must[ledger.Meta](t)(l.Start(ctx, "j", "", ledger.Digests{})); m.Run != run+1 {
				t.Errorf("run %d", m.Run)
			}
		}
	})
}

func TestAPageThatGrewWhileListingIsEnteredAndCountedOnce(t *testing.T) {
	l, ctx := memledger.New(), t.Context()
	must[ledger.Meta](t)(l.Start(ctx, "j", "t", ledger.Digests{}))
	p := ledger.Page{After: "k", Units: []ledger.Planned{{ID: id(0)}}, Inventory: ledger.Inventory{Objects: 1}}
	must[[]unit.ID](t)(l.Publish(ctx, "j", 1, p))
	p.Units = append(p.Units, ledger.Planned{ID: id(1)})
	if ids := must[[]unit.ID](t)(l.Publish(ctx, "j", 1, p)); len(ids) != 2 {
		t.Errorf("to send: %v", ids)
	}
	if m := must[ledger.Meta](t)(l.Meta(ctx, "j")); m.Planned != 2 || m.Inventory.Objects != 1 {
		t.Errorf("meta %+v", m)
	}
}

// TestDoneUnitsAreSmall holds ten million of them to a gigabyte (INV-6).
func TestDoneUnitsAreSmall(t *testing.T) {
	const n, each, bound = 60_000, 500, 100
	l, ctx := memledger.New(), t.Context()
	must[ledger.Meta](t)(l.Start(ctx, "j", "t", ledger.Digests{}))
	counts := ledger.Counts{
		Counts:    record.Counts{In: 120_000, Out: 90_000, Filtered: 29_000, Rejected: 1_000},
		BytesRead: 64 << 20, BytesDecoded: 640 << 20,
		Sinks: map[string]ledger.SinkCounts{"main": {Records: 90_000, Blocks: 12, Bytes: 80 << 20}},
	}
	before, begun := heap(), time.Now()
	for from := 0; from < n; from += each {
		p := ledger.Page{After: fmt.Sprint(from)}
		for i := from; i < from+each; i++ {
			p.Units = append(p.Units, ledger.Planned{ID: id(i), FirstKey: fmt.Sprintf("logs/2026/%09d.json.gz", i), Objects: 64})
		}
		must[[]unit.ID](t)(l.Publish(ctx, "j", 1, p))
		for _, u := range p.Units {
			must[ledger.Tally](t)(l.Done(ctx, ledger.Ref{Job: "j", Run: 1, ID: u.ID}, counts))
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
	l, ctx := memledger.New(), t.Context()
	must[ledger.Meta](t)(l.Start(ctx, "j", "t", ledger.Digests{}))
	want := ledger.Counts{Counts: record.Counts{In: -1, Expanded: 1 << 62}, Sinks: map[string]ledger.SinkCounts{}}
	for i := range int64(3000) { // more than a chunk holds
		want.Sinks[fmt.Sprint("sink-", i)] = ledger.SinkCounts{Records: 1<<62 + i, Blocks: i, Bytes: -1<<62 - i}
	}
	must[[]unit.ID](t)(l.Publish(ctx, "j", 1, ledger.Page{Units: []ledger.Planned{{ID: id(0)}, {ID: id(1)}, {ID: id(2)}}}))
	for i, c := range []ledger.Counts{{BytesRead: 1}, want, {BytesRead: 2}} {
		must[ledger.Tally](t)(l.Done(ctx, ledger.Ref{Job: "j", Run: 1, ID: id(i)}, c))
	}
	if d := cmp.Diff(want, must[ledger.Item](t)(l.Begin(ctx, ledger.Ref{Job: "j", Run: 1, ID: id(1)}, 1, 1)).Counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	want.BytesRead = 3
	if d := cmp.Diff(want, must[ledger.Census](t)(l.Prove(ctx, "j", 1)).Counts); d != "" {
		t.Errorf("sum (-want +got):\n%s", d)
	}
}
