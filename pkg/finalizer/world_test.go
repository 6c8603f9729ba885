package finalizer_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

const limit = 5 // deliveries of a message

var errFault = errors.New("fault")

// world is a ledger, a feed that only remembers, and what the finalizer tells to
// the outside, each call of which can be made to fail.
type world struct {
	testing.TB
	l       *memledger.Shared
	backlog bool // the feed is not empty
	opt     finalizer.Options

	mu        sync.Mutex
	calls     []string // of the finalizer, in order
	sent      []feed.Message
	reports   map[string][]byte
	announced []*report.Report
	lag       int     // done units that the counters miss
	lost      unit.ID // whose item the ledger lost

	// at is the call to disturb, counted from 1. Before it, meanwhile runs.
	at        int
	meanwhile func()
	fault     fault
	down      bool // crashed: nothing works until the next start
	fail      func(call, job string) error
}

// fault is what becomes of a call.
type fault int

const (
	none fault = iota
	notApplied
	answerLost
	crashBefore
	crashAfter
)

var faults = map[fault]string{
	notApplied: "not applied", answerLost: "answer lost", crashBefore: "crash before", crashAfter: "crash after",
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, l: memledger.NewShared(), reports: map[string][]byte{}}
	w.opt = finalizer.Options{
		List: func(_ context.Context, job string, _ int) error {
			_, err := call(w, "List", job, nothing(func() error { return nil }))
			return err
		},
		Reports: w,
		Announce: func(_ context.Context, r *report.Report) error {
			_, err := call(w, "Announce", r.Job, w.locked(func() {
				if _, kept := w.reports[report.Key(r.Job, r.Run, r.Generation)]; !kept && w.opt.Reports != nil {
					w.Errorf("announced before it was reported: %+v", r)
				}
				w.announced = append(w.announced, r)
			}))
			return err
		},
		Empty: func(context.Context) (bool, error) {
			return call(w, "Empty", "", func() (bool, error) { return !w.backlog, nil })
		},
	}
	return w
}

func nothing(f func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, f() }
}

func (w *world) locked(f func()) func() (struct{}, error) {
	return nothing(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		f()
		return nil
	})
}

// bubble is a subtest whose clock goes as fast as it may.
func bubble(t *testing.T, says string, f func(*testing.T)) {
	t.Run(says, func(t *testing.T) { synctest.Test(t, f) })
}

// call is one call of the finalizer to the outside.
func call[T any](w *world, name, job string, f func() (T, error)) (T, error) {
	var zero T
	w.mu.Lock()
	if w.down {
		w.mu.Unlock()
		return zero, errFault
	}
	w.calls = append(w.calls, name)
	fault, meanwhile := none, func() {}
	if len(w.calls) == w.at {
		fault = w.fault
		if w.meanwhile != nil {
			meanwhile = w.meanwhile
		}
	}
	w.down = fault == crashBefore || fault == crashAfter
	fail := w.fail
	w.mu.Unlock()
	if fail != nil {
		if err := fail(name, job); err != nil {
			return zero, err
		}
	}
	meanwhile()
	if fault == notApplied || fault == crashBefore {
		return zero, errFault
	}
	got, err := f()
	if fault != none {
		return zero, errFault
	}
	return got, err
}

// Put implements [finalizer.Reports].
func (w *world) Put(_ context.Context, name string, body []byte) error {
	_, err := call(w, "Put", "", w.locked(func() {
		w.lawful(name, body)
		w.reports[name] = slices.Clone(body)
	}))
	return err
}

// lawful wants a report under its own name, which says completed only of a run
// whose every unit is done, and a marker only beside such a report.
func (w *world) lawful(name string, body []byte) {
	if run, ok := strings.CutSuffix(name, "/_SUCCESS"); ok {
		for key := range w.reports {
			if strings.HasPrefix(key, run+"/report-") {
				return
			}
		}
		w.Errorf("%s stands alone", name)
		return
	}
	var r report.Report
	w.must(nil, json.Unmarshal(body, &r))
	if report.Key(r.Job, r.Run, r.Generation) != name {
		w.Errorf("%s holds the report of run %d, generation %d", name, r.Run, r.Generation)
	}
	if r.State == report.Completed && (r.Units.Done != r.Units.Planned || r.Units.Dead+r.Units.Missing > 0) {
		w.Errorf("completed with %+v", r.Units)
	}
}

// Send implements [feed.Sender].
func (w *world) Send(_ context.Context, ms ...feed.Message) error {
	_, err := call(w, "Send", ms[0].Job, w.locked(func() {
		for _, m := range ms {
			m.Body = slices.Clone(m.Body)
			w.sent = append(w.sent, m)
		}
	}))
	return err
}

func (w *world) shared() *finalizer.Shared { return finalizer.NewShared(wired{w.l, w}, w, w.opt) }

// tick is one tick of a process that did not crash before.
func (w *world) tick() error {
	w.down = false
	return w.shared().Tick(w.Context())
}

// ticks are n of them, each a minute after the one before, none of which fails.
func (w *world) ticks(n int) {
	w.Helper()
	for range n {
		if err := w.tick(); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
}

func (w *world) trigger(job string) {
	w.Helper()
	w.must(nil, w.shared().Triggered(w.Context(), job))
}

func (w *world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// begun starts a job and lists units of one object each; listed ends its listing
// too.
func (w *world) begun(job string, ids ...unit.ID) ledger.Lease {
	w.Helper()
	meta, err := w.l.Start(w.Context(), job, ledger.Start{Callback: "task-" + job})
	w.must(meta, err)
	lease := ledger.Lease{Job: job, Run: meta.Run, Holder: "lister"}
	w.must(w.l.Lease(w.Context(), lease))
	p := ledger.Page{Last: "z", Inventory: ledger.Inventory{Objects: int64(len(ids)), Empty: 2, Directory: 1}}
	for _, id := range ids {
		p.Units = append(p.Units, planned(w, job, meta.Run, id, 1))
	}
	p, _, err = w.l.Publish(w.Context(), lease, p)
	w.must(p, err)
	w.must(nil, w.l.Advance(w.Context(), lease, p))
	return lease
}

func (w *world) listed(job string, ids ...unit.ID) {
	w.Helper()
	w.must(nil, w.l.Finish(w.Context(), w.begun(job, ids...)))
}

// planned is a unit of n objects: key-a, or key-a-0, key-a-1 and so on.
func planned(t testing.TB, job string, run int, id unit.ID, n int) ledger.Planned {
	u := unit.Unit{Job: job, Run: run, Bucket: "b", Origin: unit.FromList}
	for i := range n {
		key := "key-" + string(id)
		if n > 1 {
			key += "-" + string(rune('0'+i))
		}
		u.Objects = append(u.Objects, unit.Object{Key: key, Size: 1, ETag: `"e"`})
	}
	body, err := u.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Planned{ID: id, FirstKey: u.Objects[0].Key, Objects: n, Body: body}
}

func (w *world) meta(job string) ledger.Meta {
	w.Helper()
	m, err := w.l.Meta(w.Context(), job)
	w.must(m, err)
	return m
}

func (w *world) ref(job string, id unit.ID) ledger.Ref {
	return ledger.Ref{Job: job, Run: w.meta(job).Run, ID: id}
}

// receive is a delivery of a unit to a reader.
func (w *world) receive(job string, id unit.ID, receives int) ledger.Item {
	w.Helper()
	i, err := w.l.Begin(w.Context(), w.ref(job, id), receives, limit)
	w.must(i, err)
	return i
}

func (w *world) done(job string, ids ...unit.ID) {
	w.Helper()
	for _, id := range ids {
		c := unit.Counts{Counts: record.Counts{In: 5, Out: 4, Filtered: 1}, BytesRead: 100}
		w.must(w.l.Done(w.Context(), w.ref(job, id), c))
	}
}

func (w *world) dead(job string, id unit.ID) {
	w.Helper()
	i := w.receive(job, id, limit)
	w.must(w.l.Dead(w.Context(), w.ref(job, id), i.Serial, ledger.Cause{
		Reason: failure.NotFound, Detail: "gone", Record: -1, Objects: []unit.Object{{Key: "key-" + string(id)}},
	}))
}

// out names the units that were sent since it was last called, in order.
func (w *world) out() string {
	var ids []string
	for _, m := range w.sent {
		if u, err := unit.Decode(m.Body); err != nil || u.Job != m.Job || u.Objects[0].Key != "key-"+string(m.ID) {
			w.Errorf("message %s of job %s: %v, %v", m.ID, m.Job, u, err)
		}
		s := string(m.ID)
		if m.Probe {
			s += "?"
		}
		ids = append(ids, s)
	}
	w.sent = nil
	return strings.Join(ids, " ")
}

// wantOut wants exactly these units sent since the last call.
func (w *world) wantOut(want string) {
	w.Helper()
	if got := w.out(); got != want {
		w.Errorf("sent %q, want %q", got, want)
	}
}

func (w *world) wantState(job string, want ledger.State) {
	w.Helper()
	if got := w.meta(job).State; got != want {
		w.Errorf("job %s is %s, want %s", job, got, want)
	}
}

func (w *world) live() []string {
	w.Helper()
	names, err := w.l.Live(w.Context())
	w.must(names, err)
	return names
}

// report is the report of the job as it stands, which must have been written.
func (w *world) report(job string) *report.Report {
	w.Helper()
	m := w.meta(job)
	body, ok := w.reports[report.Key(job, m.Run, m.Generation)]
	if !ok {
		w.Fatalf("no report of job %s, run %d, generation %d", job, m.Run, m.Generation)
	}
	var r report.Report
	w.must(nil, json.Unmarshal(body, &r))
	return &r
}

// ended wants the job ended so, reported, announced and not live.
func (w *world) ended(job string, s ledger.State) *report.Report {
	w.Helper()
	w.wantState(job, s)
	r := w.report(job)
	m := w.meta(job)
	if string(r.State) != string(s) || r.Run != m.Run || r.Generation != m.Generation {
		w.Errorf("report of run %d, generation %d says %s; the job is %s at %d, %d", r.Run, r.Generation, r.State, s, m.Run, m.Generation)
	}
	if _, ok := w.reports[report.SuccessKey(job, r.Run)]; ok != (s == ledger.Completed) {
		w.Errorf("_SUCCESS stands: %t, of a job that is %s", ok, s)
	}
	if !slices.ContainsFunc(w.announced, func(a *report.Report) bool {
		return a.Job == job && a.Run == r.Run && a.Generation == r.Generation && a.State == r.State && a.Callback == "task-"+job
	}) {
		w.Errorf("job %s: its end was not announced", job)
	}
	if slices.Contains(w.live(), job) {
		w.Errorf("job %s is still live", job)
	}
	if s == ledger.Completed && (r.Units.Done != m.Planned || r.Units.Dead+r.Units.Missing != 0) {
		w.Errorf("completed with units %+v", r.Units)
	}
	return r
}

func (w *world) called(name string) int {
	n := 0
	for _, c := range w.calls {
		if c == name {
			n++
		}
	}
	return n
}
