package boltledger_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/boltledger"
	"github.com/spate-go/spate/pkg/ledger/ledgertest"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

func open(t *testing.T, path string) *boltledger.Ledger {
	t.Helper()
	l, err := boltledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// shut closes l before the test ends.
func shut(t *testing.T, l *boltledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func fresh(t *testing.T) *boltledger.Ledger {
	t.Helper()
	l := open(t, filepath.Join(t.TempDir(), "ledger.db")).Unsynced()
	t.Cleanup(func() { shut(t, l) })
	return l
}

var harness = ledgertest.Harness{Lapse: func(s ledger.Store, d time.Duration) { s.(*boltledger.Ledger).Pass(d) }}

func TestLedgerKeepsTheContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.Store { return fresh(t) }, harness)
}

func TestLedgerRemembersWhatWasSent(t *testing.T) {
	ledgertest.RunResumer(t, func(t *testing.T) ledgertest.Resumable { return fresh(t) }, harness)
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

func ref(run, n int) ledger.Ref { return ledger.Ref{Job: "j", Run: run, ID: id(n)} }

var lister = ledger.Lease{Job: "j", Run: 1, Holder: "lister"}

// listing starts job j and takes its lease.
func listing(t *testing.T, l *boltledger.Ledger) {
	t.Helper()
	must[ledger.Meta](t)(l.Start(t.Context(), "j", ledger.Start{Token: "t"}))
	must[ledger.Meta](t)(l.Lease(t.Context(), lister))
}

// sent publishes a page and advances it.
func sent(ctx context.Context, l *boltledger.Ledger, p ledger.Page) error {
	if _, _, err := l.Publish(ctx, lister, p); err != nil {
		return err
	}
	return l.Advance(ctx, lister, p)
}

// planned is a ledger whose job j has n units, all on one page.
func planned(t *testing.T, l *boltledger.Ledger, n int) *boltledger.Ledger {
	t.Helper()
	listing(t, l)
	if err := sent(t.Context(), l, page(0, n)); err != nil {
		t.Fatal(err)
	}
	return l
}

func page(from, to int) ledger.Page {
	p := ledger.Page{Last: fmt.Sprint("k", to), Inventory: ledger.Inventory{Objects: int64(to - from)}}
	if from > 0 {
		p.After = fmt.Sprint("k", from)
	}
	for n := from; n < to; n++ {
		p.Units = append(p.Units, ledger.Planned{
			ID: id(n), FirstKey: fmt.Sprintf("k\xff%d", n), Objects: 1, // not UTF-8, as names of files may be
			Body: fmt.Appendf(nil, "body %d", n),
		})
	}
	return p
}

var counts = ledger.Counts{
	Counts: record.Counts{In: 120_000, Out: 90_000, Filtered: 29_000, Rejected: 1_000}, BytesRead: 64 << 20, BytesDecoded: 640 << 20,
	Sinks:      map[string]ledger.SinkCounts{"main": {Records: 90_000, Blocks: 12, Bytes: 80 << 20}, "other": {Records: 1}},
	MemoryTime: 1_769 * 30_000,
}

// memory is all that a ledger says of a job.
type memory struct {
	Meta     ledger.Meta
	Progress ledger.Progress
	Census   ledger.Census
	Items    []ledger.Item
	Pending  []ledger.Planned
}

func remembers(t *testing.T, l *boltledger.Ledger, run int) memory {
	t.Helper()
	m := memory{
		Meta:     must[ledger.Meta](t)(l.Meta(t.Context(), "j")),
		Progress: must[ledger.Progress](t)(l.Progress(t.Context(), "j", run)),
		Census:   must[ledger.Census](t)(l.Prove(t.Context(), "j", run)),
	}
	err := l.Unfinished(t.Context(), "j", run, func(it ledger.Item) error { m.Items = append(m.Items, it); return nil })
	if err == nil {
		err = l.Pending(t.Context(), "j", run, func(p ledger.Planned) error { m.Pending = append(m.Pending, p); return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// copied is the file as a process that is killed now would leave it.
func copied(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestWhatIsAckedIsInTheFile(t *testing.T) { // INV-7
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, ctx := open(t, path), t.Context()
	t.Cleanup(func() { shut(t, l) })
	object := unit.Object{Key: "k\xff", Size: 7, ETag: `"e"`, Version: "v", LastModified: time.Unix(1_800_000_000, 5)}
	var serial int
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"Start", func() error {
			_, err := l.Start(ctx, "j", ledger.Start{Token: "t", Digests: ledger.Digests{Plan: "p", Read: "r"}, Source: "s\xff", Callback: "c"})
			if err == nil {
				_, err = l.Lease(ctx, lister)
			}
			return err
		}},
		{"Publish", func() error { _, _, err := l.Publish(ctx, lister, page(0, 5)); return err }},
		{"Advance", func() error { return l.Advance(ctx, lister, page(0, 5)) }},
		{"Publish of another page", func() error { _, _, err := l.Publish(ctx, lister, page(5, 8)); return err }},
		{"Advance of another page", func() error { return l.Advance(ctx, lister, page(5, 8)) }},
		{"Joined", func() error { return l.Joined(ctx, "j", "chain\xff") }},
		{"Fault", func() error {
			serial = must[ledger.Item](t)(l.Begin(ctx, ref(1, 0), 1, 10)).Serial
			return l.Fault(ctx, ref(1, 0), serial, ledger.Fault{Member: 2, Record: 3, Framed: 4, Reason: failure.NotFound, Detail: "gone\xfe"})
		}},
		{"RestDone", func() error { return l.RestDone(ctx, ref(1, 0), serial, counts) }},
		{"Recovered", func() error { return l.Recovered(ctx, ref(1, 0), serial, 2, counts) }},
		{"Pause", func() error {
			return l.Pause(ctx, ref(1, 0), serial, ledger.Cursor{Series: 1, Segment: 2, Member: 3, Record: 4, Offset: 5, Undecoded: 6}, counts)
		}},
		{"Done", func() error { _, err := l.Done(ctx, ref(1, 1), counts); return err }},
		{"Dead", func() error {
			it := must[ledger.Item](t)(l.Begin(ctx, ref(1, 2), 10, 10))
			_, err := l.Dead(ctx, ref(1, 2), it.Serial, ledger.Cause{Reason: failure.Undecodable, Detail: "bad", Objects: []unit.Object{object}, Record: -1})
			return err
		}},
		{"Finish", func() error { return l.Finish(ctx, lister) }},
		{"Halt", func() error {
			_, err := l.Halt(ctx, "j", ledger.Halt{Reason: failure.Denied, Detail: "s3:GetObject", At: time.Now()})
			return err
		}},
		{"Resume", func() error { _, err := l.Resume(ctx, "j", failure.Denied); return err }},
		{"Redrive", func() error { _, err := l.Redrive(ctx, "j", 1); return err }},
		{"Dead again", func() error {
			it := must[ledger.Item](t)(l.Begin(ctx, ref(1, 2), 10, 10))
			_, err := l.Dead(ctx, ref(1, 2), it.Serial, ledger.Cause{Record: -1})
			return err
		}},
		{"Done of a dead one", func() error { _, err := l.Done(ctx, ref(1, 2), ledger.Counts{}); return err }},
		{"Conclude", func() error { return l.Conclude(ctx, "j", 1, 2, ledger.Failed) }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		after := open(t, copied(t, path))
		want := remembers(t, l, 1)
		want.Meta.Leased, want.Progress.Beat = time.Time{}, 0 // are of their process
		for i := range want.Items {                           // as are starts of work
			if want.Items[i].State == ledger.Open {
				want.Items[i].Attempts = 0
			}
		}
		if d := cmp.Diff(want, remembers(t, after, 1), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("after %s (-want +got):\n%s", step.name, d)
		}
		shut(t, after)
	}
}

func TestAttemptsEndWithTheirProcess(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "ledger.db"), t.Context()
	l := planned(t, open(t, path), 3)
	for restart := range 12 {
		for n := range 2 { // one that leaves nothing, and one that leaves a fault
			it := must[ledger.Item](t)(l.Begin(ctx, ref(1, n), 1, 10))
			if it.Attempts != 1 || it.Last || it.State != ledger.Open {
				t.Fatalf("restart %d: %+v", restart, it)
			}
			if n == 1 {
				if err := l.Fault(ctx, ref(1, n), it.Serial, ledger.Fault{Member: restart}); err != nil {
					t.Fatal(err)
				}
			}
		}
		shut(t, l)
		l = open(t, path)
	}
	it := must[ledger.Item](t)(l.Begin(ctx, ref(1, 2), 10, 10))
	must[ledger.Tally](t)(l.Dead(ctx, ref(1, 2), it.Serial, ledger.Cause{Reason: failure.Crashed}))
	shut(t, l)
	l = open(t, path)
	defer shut(t, l)
	if it := must[ledger.Item](t)(l.Begin(ctx, ref(1, 2), 1, 10)); it.State != ledger.Dead || it.Attempts != 1 || !it.Last {
		t.Errorf("the dead one is now %+v", it)
	}
	if it := must[ledger.Item](t)(l.Begin(ctx, ref(1, 1), 1, 10)); len(it.Faults) != 12 {
		t.Errorf("faults %+v", it.Faults)
	}
}

func TestStartsOfWorkAreForgottenWithTheirUnit(t *testing.T) {
	l, ctx := planned(t, fresh(t), 10), t.Context()
	for n := range 10 {
		it := must[ledger.Item](t)(l.Begin(ctx, ref(1, n), 1, 10))
		if n%2 == 0 {
			must[ledger.Tally](t)(l.Done(ctx, ref(1, n), counts))
		} else {
			must[ledger.Tally](t)(l.Dead(ctx, ref(1, n), it.Serial, ledger.Cause{}))
		}
	}
	if n := l.Begun(); n != 0 {
		t.Errorf("%d units that ended are remembered as begun", n)
	}
}

func TestCompletedIsRefusedWithoutProof(t *testing.T) { // INV-1
	l, ctx := planned(t, fresh(t), 2), t.Context()
	must[ledger.Tally](t)(l.Done(ctx, ref(1, 0), counts))
	refused := func(why string) {
		t.Helper()
		if err := l.Conclude(ctx, "j", 1, 0, ledger.Completed); !errors.Is(err, ledger.ErrState) {
			t.Errorf("completed with %s: %v", why, err)
		}
	}
	refused("no end marker")
	if err := l.Finish(ctx, lister); err != nil {
		t.Fatal(err)
	}
	refused("a unit open")
	it := must[ledger.Item](t)(l.Begin(ctx, ref(1, 1), 1, 1))
	must[ledger.Tally](t)(l.Dead(ctx, ref(1, 1), it.Serial, ledger.Cause{}))
	refused("a unit dead")
}

func TestATokenStandsForTheRunThatItStarted(t *testing.T) {
	l, ctx := fresh(t), t.Context()
	must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{}))
	if _, err := l.Start(ctx, "j", ledger.Start{}); !errors.Is(err, ledger.ErrActive) {
		t.Errorf("an empty token began what it had begun: %v", err)
	}
	for run := 1; run < 4; run++ {
		if err := l.Conclude(ctx, "j", run, 0, ledger.Cancelled); err != nil {
			t.Fatal(err)
		}
		first := must[ledger.Meta](t)(l.Meta(ctx, "j"))
		must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{Token: fmt.Sprint("t", run+1)}))
		if run > 1 {
			if d := cmp.Diff(first, must[ledger.Meta](t)(l.Start(ctx, "j", ledger.Start{Token: fmt.Sprint("t", run)}))); d != "" {
				t.Errorf("the run of an earlier token (-want +got):\n%s", d)
			}
		}
	}
}

func TestCallsThatWaitShareATransaction(t *testing.T) {
	const n = 50
	l, ctx := planned(t, fresh(t), n), t.Context()
	before, release := l.Transactions(), l.Stall()
	var wg sync.WaitGroup
	for i := range n + 1 { // the last of them is refused, and takes nobody along
		wg.Go(func() {
			_, err := l.Done(ctx, ref(1, i), counts)
			if (i == n) != errors.Is(err, ledger.ErrNoUnit) || i < n && err != nil {
				t.Errorf("unit %d: %v", i, err)
			}
		})
	}
	for l.Waiting() < n/4 { // two units may share a lock, so not all of them come to wait
		time.Sleep(time.Millisecond)
	}
	waiting := l.Waiting()
	release()
	wg.Wait()
	if got := l.Transactions() - before; got > n+1-waiting+1 {
		t.Errorf("%d transactions, and %d calls waited for the first", got, waiting)
	}
	if c := must[ledger.Census](t)(l.Prove(ctx, "j", 1)); c.Done != n || c.Counts.In != n*counts.In {
		t.Errorf("census %+v", c)
	}
}

func TestDoneUnitsAreSmall(t *testing.T) {
	const n, each, bound = 3_000, 250, 500
	l, ctx := fresh(t), t.Context()
	listing(t, l)
	for from := 0; from < n; from += each {
		p := page(from, from+each)
		for i := range p.Units {
			p.Units[i].Body = bytes.Repeat([]byte("body"), 250) // gone with the open unit
		}
		if err := sent(ctx, l, p); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range 50 {
			wg.Go(func() {
				for i := from + w; i < from+each; i += 50 {
					if _, err := l.Done(ctx, ref(1, i), counts); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	size := l.Size() / n
	t.Logf("%d bytes a unit, %d transactions", size, l.Transactions())
	if size > bound {
		t.Errorf("a done unit takes %d bytes, more than %d", size, bound)
	}
	began := time.Now()
	if c := must[ledger.Census](t)(l.Prove(ctx, "j", 1)); c.Done != n || c.Counts.Sinks["main"].Bytes != n*80<<20 {
		t.Errorf("census %+v", c)
	}
	t.Logf("proved in %v", time.Since(began))
}

// INV-7: whoever lists on after a crash sends the page that was entered, whole.
func TestAPageUnderWayOutlivesItsProcess(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "ledger.db"), t.Context()
	l := planned(t, open(t, path), 2)
	must[ledger.Tally](t)(l.Done(ctx, ref(1, 1), counts))
	p := page(2, 6)
	p.Units = append(p.Units, page(1, 2).Units...) // done before, on a page of its own
	if _, _, err := l.Publish(ctx, lister, p); err != nil {
		t.Fatal(err)
	}
	must[ledger.Tally](t)(l.Done(ctx, ref(1, 3), counts))
	shut(t, l)

	l = open(t, path)
	defer shut(t, l)
	other := ledger.Lease{Job: "j", Run: 1, Holder: "lister of the next process"}
	must[ledger.Meta](t)(l.Lease(ctx, other)) // no lease is left over
	got, due, err := l.Publish(ctx, other, ledger.Page{After: p.After, Last: "elsewhere"})
	if d := cmp.Diff(p, got); d != "" || err != nil {
		t.Errorf("page, %v (-want +got):\n%s", err, d)
	}
	if d := cmp.Diff([]unit.ID{id(2), id(4), id(5)}, due); d != "" {
		t.Errorf("to send (-want +got):\n%s", d)
	}
	if err := l.Advance(ctx, other, got); err != nil {
		t.Fatal(err)
	}
	m := remembers(t, l, 1)
	if m.Meta.Planned != 6 || len(m.Pending) != 4 || !bytes.Equal(m.Pending[0].Body, page(0, 1).Units[0].Body) {
		t.Errorf("%d units planned, pending %+v", m.Meta.Planned, m.Pending)
	}
}

// More than one look at the file holds.
func TestPendingYieldsALongPlanWhole(t *testing.T) {
	const n = 700
	l, ctx := planned(t, fresh(t), n), t.Context()
	looks, got := 0, map[unit.ID]bool{}
	err := l.Pending(ctx, "j", 1, func(p ledger.Planned) error {
		if looks++; looks%100 == 0 {
			if _, err := l.Done(ctx, ledger.Ref{Job: lister.Job, Run: 1, ID: p.ID}, counts); err != nil {
				return err
			}
		}
		got[p.ID] = true
		return nil
	})
	if err != nil || len(got) != n || looks != n {
		t.Errorf("%d units in %d looks: %v", len(got), looks, err)
	}
}

// A start of work waits for what an earlier one is writing, and knows of it.
func TestBeginKnowsWhatWasAcked(t *testing.T) {
	l, ctx := planned(t, fresh(t), 1), t.Context()
	serial := must[ledger.Item](t)(l.Begin(ctx, ref(1, 0), 1, 10)).Serial
	release := l.Stall()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := l.Fault(ctx, ref(1, 0), serial, ledger.Fault{Member: 1}); err != nil {
			t.Error(err)
		}
	})
	for l.Waiting() < 1 {
		time.Sleep(time.Millisecond)
	}
	var it ledger.Item
	wg.Go(func() { it = must[ledger.Item](t)(l.Begin(ctx, ref(1, 0), 1, 10)) })
	time.Sleep(20 * time.Millisecond)
	release()
	wg.Wait()
	if len(it.Faults) != 1 || it.Serial != serial+1 {
		t.Errorf("began with %+v", it)
	}
}
