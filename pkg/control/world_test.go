package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

var errAway = errors.New("connection reset")

// faults fails the n-th operation of what it is asked about, 1 for the first.
type faults struct {
	n       int
	applied bool // it took effect, and only the answer was lost
	seen    atomic.Int64
}

func (f *faults) do(op func() error) error {
	if int(f.seen.Add(1)) != f.n {
		return op()
	}
	if f.applied {
		_ = op()
	}
	return errAway
}

// sweep calls run with each of its operations failing in turn, in both ways,
// until there is none left to fail.
func sweep(t *testing.T, run func(t *testing.T, f *faults)) {
	t.Helper()
	for _, applied := range []bool{false, true} {
		for n := 1; ; n++ {
			f := &faults{n: n, applied: applied}
			t.Run(fmt.Sprintf("operation %d, applied %v", n, applied), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { run(t, f) })
			})
			if int(f.seen.Load()) < n {
				break
			}
			if n > 50 {
				t.Fatal("it does not end")
			}
		}
	}
}

// stack is a stack in memory: a ledger, and functions that do what the real ones
// do to it.
type stack struct {
	*memledger.Shared
	f     *faults // of the ledger's operations that control uses, and of calls
	calls []string
	// refuse, where set, is what every function answers.
	refuse error
	answer string

	mu     sync.Mutex
	stored map[string]*report.Report // by key; guarded by mu
	reads  int                       // guarded by mu
}

func newStack(f *faults) *stack {
	return &stack{Shared: memledger.NewShared(), f: f, stored: map[string]*report.Report{}}
}

func (s *stack) control() *control.Control {
	return control.New(faulty{s.Shared, s.f}, control.Options{Functions: s, Lister: "lister", Finalizer: "finalizer", Reports: s})
}

func (s *stack) Call(ctx context.Context, function string, payload []byte) (body []byte, err error) {
	s.calls = append(s.calls, "call "+function+" "+string(payload))
	if s.refuse != nil {
		return nil, s.refuse
	}
	err = s.f.do(func() error {
		if s.answer != "" {
			body = []byte(s.answer)
			return nil
		}
		var r struct{ Job, Token string }
		if err := json.Unmarshal(payload, &r); err != nil {
			return err
		}
		m, err := s.Start(ctx, r.Job, ledger.Start{Token: r.Token})
		if err != nil {
			return &control.FunctionError{Function: function, Type: "wrapError", Message: err.Error()}
		}
		body, err = json.Marshal(map[string]any{"job": r.Job, "run": m.Run, "state": m.State})
		return err
	})
	return body, err
}

func (s *stack) Queue(_ context.Context, function string, payload []byte) error {
	s.calls = append(s.calls, "queue "+function+" "+string(payload))
	if s.refuse != nil {
		return s.refuse
	}
	return s.f.do(func() error { return nil })
}

func (s *stack) Report(_ context.Context, job string, run, generation int) (*report.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if r := s.stored[report.Key(job, run, generation)]; r != nil {
		return r, nil
	}
	return nil, control.ErrNoReport
}

func (s *stack) writes(r *report.Report, m ledger.Meta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[report.Key(m.Job, m.Run, m.Generation)] = r
}

// runs starts the job and enters units a, b, … of 10 bytes and one object each.
func (s *stack) runs(t *testing.T, job string, units int) ledger.Meta {
	t.Helper()
	m, err := s.Start(t.Context(), job, ledger.Start{Token: fmt.Sprint(job, time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.Lease{Job: job, Run: m.Run, Holder: "test"}
	if _, err := s.Lease(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p := ledger.Page{Last: "z", Inventory: ledger.Inventory{Objects: int64(units), Bytes: int64(10 * units)}}
	for i := range units {
		p.Units = append(p.Units, ledger.Planned{ID: id(i), FirstKey: fmt.Sprint("key-", i), Objects: 1, Body: []byte("x")})
	}
	p, _, err = s.Publish(t.Context(), l, p)
	if err = errors.Join(err, s.Advance(t.Context(), l, p), s.Finish(t.Context(), l)); err != nil {
		t.Fatal(err)
	}
	if m, err = s.Meta(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return m
}

func id(i int) unit.ID { return unit.ID(fmt.Sprint("s3-", i)) }

func (s *stack) done(t *testing.T, m ledger.Meta, i int) {
	t.Helper()
	r := ledger.Ref{Job: m.Job, Run: m.Run, ID: id(i)}
	_, err := s.Begin(t.Context(), r, 1, 5)
	if err == nil {
		_, err = s.Done(t.Context(), r, ledger.Counts{BytesRead: 10})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stack) dead(t *testing.T, m ledger.Meta, i int) {
	t.Helper()
	r := ledger.Ref{Job: m.Job, Run: m.Run, ID: id(i)}
	item, err := s.Begin(t.Context(), r, 1, 5)
	if err == nil {
		_, err = s.Dead(t.Context(), r, item.Serial, ledger.Cause{Reason: failure.SinkRejected, Record: -1})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stack) ends(t *testing.T, m ledger.Meta, as ledger.State) {
	t.Helper()
	if err := s.Conclude(t.Context(), m.Job, m.Run, m.Generation, as); err != nil {
		t.Fatal(err)
	}
}

func (s *stack) halts(t *testing.T, job string, r failure.Reason) {
	t.Helper()
	if _, err := s.Halt(t.Context(), job, ledger.Halt{Reason: r, Detail: "allow " + string(r), At: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func (s *stack) meta(t *testing.T, job string) ledger.Meta {
	t.Helper()
	m, err := s.Meta(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// faulty is the ledger as control meets it.
type faulty struct {
	*memledger.Shared
	f *faults
}

func (l faulty) Meta(ctx context.Context, job string) (m ledger.Meta, err error) {
	err = l.f.do(func() error { m, err = l.Shared.Meta(ctx, job); return err })
	return m, err
}

func (l faulty) Live(ctx context.Context) (names []string, err error) {
	err = l.f.do(func() error { names, err = l.Shared.Live(ctx); return err })
	slices.Reverse(names) // no order is promised
	return names, err
}

func (l faulty) Progress(ctx context.Context, job string, run int) (p ledger.Progress, err error) {
	err = l.f.do(func() error { p, err = l.Shared.Progress(ctx, job, run); return err })
	return p, err
}

func (l faulty) Conclude(ctx context.Context, job string, run, generation int, s ledger.State) error {
	return l.f.do(func() error { return l.Shared.Conclude(ctx, job, run, generation, s) })
}

func (l faulty) Resume(ctx context.Context, job string, r failure.Reason) (ok bool, err error) {
	err = l.f.do(func() error { ok, err = l.Shared.Resume(ctx, job, r); return err })
	return ok && err == nil, err
}

func (l faulty) Redrive(ctx context.Context, job string, run int) (n int, err error) {
	err = l.f.do(func() error { n, err = l.Shared.Redrive(ctx, job, run); return err })
	if err != nil {
		return 0, err
	}
	return n, nil
}
