package dynamoledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// id is that of the nth unit; its shard is some other's than its neighbour's.
func id(n int) unit.ID {
	u := unit.Unit{Objects: []unit.Object{{Key: fmt.Sprint(n)}}}
	return u.ID()
}

func ref(run, n int) ledger.Ref { return ledger.Ref{Job: "j", Run: run, ID: id(n)} }

func lister(run int) ledger.Lease { return ledger.Lease{Job: "j", Run: run, Holder: "lister"} }

func key(n int) string { return fmt.Sprintf("in/%05d", n) }

// page is the page of the units [from, to).
func page(from, to int) ledger.Page {
	p := ledger.Page{Last: key(to), Inventory: ledger.Inventory{Objects: int64(to - from)}}
	if from > 0 {
		p.After = key(from)
	}
	for n := from; n < to; n++ {
		p.Units = append(p.Units, ledger.Planned{ID: id(n), FirstKey: key(n), Objects: 2, Body: []byte("body of " + key(n))})
	}
	return p
}

var counts = ledger.Counts{Counts: record.Counts{In: 5, Out: 5}, BytesRead: 100, Sinks: map[string]ledger.SinkCounts{"main": {Records: 5}}}

// teller carries a story out on a ledger, and repeats what fails in passing.
type teller struct {
	*testing.T
	*dynamoledger.Ledger
	repeated bool // something was
	lived    int  // calls that the job's life took
}

func (t *teller) try(call func() error) {
	t.Helper()
	err := call()
	for range 3 {
		if err == nil || ledger.Final(err) {
			break
		}
		t.repeated = true
		err = call()
	}
	if err != nil {
		t.Errorf("%v", err)
	}
}

// ok takes a call that may be repeated.
func (t *teller) ok(err func() error) { t.Helper(); t.try(err) }

func tell[V any](t *teller, call func() (V, error)) (v V) {
	t.Helper()
	t.try(func() (err error) {
		v, err = call()
		return err
	})
	return v
}

func (t *teller) list(run int, pages ...ledger.Page) {
	ctx := t.Context()
	tell(t, func() (ledger.Meta, error) { return t.Start(ctx, "j", ledger.Start{Token: fmt.Sprint("t", run)}) })
	tell(t, func() (ledger.Meta, error) { return t.Lease(ctx, lister(run)) })
	for _, p := range pages {
		got := tell(t, func() (ledger.Page, error) {
			got, _, err := t.Publish(ctx, lister(run), p)
			return got, err
		})
		t.ok(func() error { return t.Advance(ctx, lister(run), got) })
	}
	t.ok(func() error { return t.Finish(ctx, lister(run)) })
}

func (t *teller) begin(run, n int) int {
	return tell(t, func() (ledger.Item, error) { return t.Begin(t.Context(), ref(run, n), 1, 20) }).Serial
}

func (t *teller) done(run, n int) ledger.Tally {
	return tell(t, func() (ledger.Tally, error) { return t.Done(t.Context(), ref(run, n), counts) })
}

func (t *teller) dead(run, n int) ledger.Tally {
	serial := t.begin(run, n)
	return tell(t, func() (ledger.Tally, error) {
		return t.Dead(t.Context(), ref(run, n), serial, ledger.Cause{Reason: failure.Deadline, Record: -1})
	})
}

func (t *teller) meta() ledger.Meta {
	return tell(t, func() (ledger.Meta, error) { return t.Meta(t.Context(), "j") })
}

func (t *teller) fail(run int) {
	ctx, m := t.Context(), t.meta()
	t.ok(func() error { return t.Conclude(ctx, "j", run, m.Generation, ledger.Failed) })
}

// live is the life of a job in which every method does something.
func (t *teller) live() {
	ctx := t.Context()
	t.list(1, page(0, 6), page(6, 9))
	t.ok(func() error { return t.Joined(ctx, "j", "chain") })
	s := t.begin(1, 0)
	t.ok(func() error { return t.Touch(ctx, ref(1, 0)) })
	t.ok(func() error { return t.Fault(ctx, ref(1, 0), s, ledger.Fault{Member: 1, Record: 3}) })
	t.ok(func() error { return t.RestDone(ctx, ref(1, 0), s, counts) })
	t.ok(func() error { return t.Recovered(ctx, ref(1, 0), s, 1, counts) })
	t.done(1, 0)
	s = t.begin(1, 1)
	t.ok(func() error { return t.Pause(ctx, ref(1, 1), s, ledger.Cursor{Segment: 4}, counts) })
	s = t.begin(1, 2)
	t.ok(func() error { return t.GiveBack(ctx, ref(1, 2), s) })
	t.dead(1, 3)
	t.done(1, 3) // late
	t.dead(1, 4)
	h := ledger.Halt{Reason: failure.Denied, At: time.Unix(1, 0).UTC()}
	tell(t, func() (bool, error) { return t.Halt(ctx, "j", h) })
	tell(t, func() (bool, error) { return t.Resume(ctx, "j", failure.Denied) })
	m := t.meta()
	t.ok(func() error { return t.Swept(ctx, "j", 1, m.Ask) })
	t.ok(func() error { return t.Watched(ctx, "j", ledger.Watch{Run: 1, Beat: 7}) })
	t.fail(1)
	tell(t, func() (int, error) { return t.Redrive(ctx, "j", 1) })
	t.dead(1, 4)
	t.dead(1, 5)
	t.fail(1)
	m = t.meta()
	t.ok(func() error { return t.Retire(ctx, "j", 1, m.Generation) })
	t.list(2, page(0, 6), page(6, 8))
	s = t.begin(2, 7)
	t.ok(func() error { return t.Pause(ctx, ref(2, 7), s, ledger.Cursor{Segment: 1}, counts) })
	for _, d := range t.due(2) {
		t.ok(func() error { return t.Sent(ctx, "j", d) })
	}
	t.done(2, 6)
}

func (t *teller) due(run int) []ledger.Todo {
	return tell(t, func() (all []ledger.Todo, err error) {
		err = t.Due(t.Context(), "j", run, func(d ledger.Todo) error { all = append(all, d); return nil })
		return all, err
	})
}

// outcome is all that shows of the job.
type outcome struct {
	Meta     ledger.Meta
	Census   []ledger.Census
	Progress []ledger.Progress
	Items    []ledger.Item
	Pending  []ledger.Planned
	Body     []byte
	Due      []ledger.Todo
	Live     []string
	Watch    ledger.Watch
	Flow     flow
}

func (t *teller) outcome() (o outcome) {
	ctx := t.Context()
	o.Meta = t.meta()
	o.Meta.Started, o.Meta.Ended = time.Time{}, time.Time{}
	for run := 1; run < 3; run++ {
		o.Census = append(o.Census, tell(t, func() (ledger.Census, error) { return t.Prove(ctx, "j", run) }))
		o.Progress = append(o.Progress, tell(t, func() (ledger.Progress, error) { return t.Progress(ctx, "j", run) }))
		o.Due = append(o.Due, t.due(run)...)
		o.Items = append(o.Items, tell(t, func() (all []ledger.Item, err error) {
			err = t.Unfinished(ctx, "j", run, func(it ledger.Item) error { all = append(all, it); return nil })
			return all, err
		})...)
		o.Pending = append(o.Pending, tell(t, func() (all []ledger.Planned, err error) {
			err = t.Pending(ctx, "j", run, func(p ledger.Planned) error {
				p.Body = start(p.Body)
				all = append(all, p)
				return nil
			})
			return all, err
		})...)
	}
	if o.Meta.Continuous {
		o.Flow = t.flow()
		o.Body = tell(t, func() ([]byte, error) { return t.Body(ctx, ref(2, 4)) })
	} else {
		o.Body = tell(t, func() ([]byte, error) { return t.Body(ctx, ref(2, 7)) })
	}
	o.Live = tell(t, func() ([]string, error) { return t.Live(ctx) })
	o.Watch = tell(t, func() (ledger.Watch, error) { return t.Watch(ctx, "j") })
	return o
}

// proved forgets counters, and how often something was begun or asked for, which
// a caller that repeats itself may do twice.
func (o outcome) proved() outcome {
	for _, items := range [][]ledger.Item{o.Items, o.Flow.Looked, o.Flow.Stale} {
		for i := range items {
			items[i].Serial, items[i].Attempts = 0, 0
		}
	}
	for i := range o.Due {
		o.Due[i].Number = 0
	}
	o.Meta.Generation, o.Meta.Ask, o.Meta.Swept = 0, 0, 0
	o.Progress = nil
	return o
}

func alone(api dynamoledger.API) *dynamoledger.Ledger {
	return dynamoledger.New(api, "ledger", dynamoledger.Options{Concurrency: 1})
}

// someDay is when what is told happens, all of it at once.
var someDay = time.Unix(1_800_000_000, 0).UTC()

// lives are the lives of jobs in which every method does something.
var lives = map[string]func(*teller){"listed": (*teller).live, "continuous": (*teller).stream}

// told is what comes of a job's life; told of it, nothing fails any more.
func told(t *testing.T, api *table, live func(*teller)) (outcome, *teller) {
	o := dynamoledger.Options{Concurrency: 1, Now: func() time.Time { return someDay }}
	s := &teller{T: t, Ledger: dynamoledger.New(api, "ledger", o)}
	live(s)
	s.lived = len(api.calls)
	api.fault = nil
	return s.outcome(), s
}

func differ(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
