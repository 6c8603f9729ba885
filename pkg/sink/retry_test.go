package sink_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

var errDown = errors.New("connection refused")

// script fails its calls in turn and remembers when they came.
type script struct {
	errs   []error // the last one repeats
	start  time.Time
	at     []time.Duration
	blocks []*sink.Block
	took   time.Duration // of a call
}

func (s *script) call() error {
	s.at = append(s.at, time.Since(s.start))
	time.Sleep(s.took)
	return s.errs[min(len(s.at), len(s.errs))-1]
}

func (s *script) Write(_ context.Context, b *sink.Block) error {
	s.blocks = append(s.blocks, b)
	return s.call()
}
func (s *script) Commit(context.Context, unit.ID, int) error { return s.call() }
func (s *script) Limits() sink.Limits                        { return sink.Limits{Rows: 7} }
func (s *script) Close() error                               { return errDown }

func transient() error { return failure.New(failure.Transient, failure.RetriesExhausted, errDown) }

func TestRetry(t *testing.T) {
	calls := map[string]func(context.Context, sink.Sink) error{
		"write":  func(ctx context.Context, s sink.Sink) error { return s.Write(ctx, &sink.Block{Token: "a"}) },
		"commit": func(ctx context.Context, s sink.Sink) error { return s.Commit(ctx, "u", 0) },
	}
	for name, call := range calls {
		t.Run(name+" is tried again after transient errors, with waits that double", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{start: time.Now(), errs: []error{transient(), transient(), transient(), transient(), nil}}
				var told []error
				r := sink.Retry(s, sink.RetryOptions{
					Initial: time.Second, Max: 4 * time.Second, OnRetry: func(err error) { told = append(told, err) },
				})
				if err := call(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if len(s.at) != 5 || len(told) != 4 || !errors.Is(told[0], errDown) {
					t.Fatalf("%d calls, told %v", len(s.at), told)
				}
				for i, full := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
					if wait := s.at[i+1] - s.at[i]; wait < full/2 || wait > full {
						t.Errorf("wait %d was %v, want %v to %v", i+1, wait, full/2, full)
					}
				}
			})
		})
		t.Run(name+" gives up when the budget is spent, on an attempt", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{start: time.Now(), errs: []error{transient()}}
				err := call(t.Context(), sink.Retry(s, sink.RetryOptions{Name: "warehouse"}))
				scope, reason := failure.Of(err)
				if scope != failure.Job || reason != failure.SinkDown || !errors.Is(err, errDown) {
					t.Fatalf("%v is %v, %v", err, scope, reason)
				}
				if !strings.Contains(err.Error(), "warehouse") || !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("%q does not name the sink and the cause", err)
				}
				if last := s.at[len(s.at)-1]; last != time.Minute {
					t.Errorf("the last attempt was at %v, want 1m0s", last)
				}
				if first := s.at[1]; first < 50*time.Millisecond || first > 100*time.Millisecond {
					t.Errorf("the first retry was at %v", first)
				}
			})
		})
		t.Run(name+" ends with its context in a wait", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{start: time.Now(), errs: []error{transient()}}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				err := call(ctx, sink.Retry(s, sink.RetryOptions{Initial: time.Hour, Max: time.Hour, Budget: 24 * time.Hour}))
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(s.start) != 3*time.Second {
					t.Fatalf("%v after %v", err, time.Since(s.start))
				}
				if failure.Is(err, failure.Job) || failure.Is(err, failure.Transient) || len(s.at) != 1 {
					t.Errorf("%v is marked, or was tried %d times", err, len(s.at))
				}
			})
		})
		for limit, want := range map[time.Duration]time.Duration{
			20 * time.Second: 17 * time.Second, 60 * time.Second: 57 * time.Second, 15 * time.Minute: time.Minute,
			12 * time.Second: 10 * time.Second, // a sixth of the budget
			8 * time.Second:  0,                // less says nothing of the sink
		} {
			t.Run(fmt.Sprint(name, " finds a sink down before its context ends in ", limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{start: time.Now(), errs: []error{transient()}}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					err := call(ctx, sink.Retry(s, sink.RetryOptions{}))
					if want == 0 {
						if !errors.Is(err, context.DeadlineExceeded) || failure.Marked(err) {
							t.Fatal(err)
						}
						return
					}
					if _, reason := failure.Of(err); reason != failure.SinkDown || !strings.Contains(err.Error(), want.String()) {
						t.Fatal(err)
					}
					if last := s.at[len(s.at)-1]; last != want {
						t.Errorf("the last attempt was at %v, want %v", last, want)
					}
				})
			})
		}
		t.Run(name+" is not tried again under an ended context", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{start: time.Now(), errs: []error{transient()}}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				told := 0
				err := call(ctx, sink.Retry(s, sink.RetryOptions{OnRetry: func(error) { told++ }}))
				if !errors.Is(err, context.Canceled) || len(s.at) != 1 || told != 0 {
					t.Fatalf("%v after %d calls, %d told", err, len(s.at), told)
				}
			})
		})
		for _, scope := range []failure.Scope{failure.Record, failure.Member, failure.Unit, failure.Job} {
			t.Run(name+" passes other errors as they are", func(t *testing.T) {
				want := failure.New(scope, failure.SinkRejected, transient())
				s := &script{errs: []error{want}}
				if err := call(t.Context(), sink.Retry(s, sink.RetryOptions{})); err != want || len(s.at) != 1 {
					t.Fatalf("%v after %d calls", err, len(s.at))
				}
				s = &script{errs: []error{errDown}}
				if err := call(t.Context(), sink.Retry(s, sink.RetryOptions{})); err != errDown || len(s.at) != 1 {
					t.Fatalf("unmarked: %v after %d calls", err, len(s.at))
				}
			})
		}
	}
	t.Run("a later error of another scope passes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			refused := failure.New(failure.Unit, failure.SinkRejected, errDown)
			s := &script{errs: []error{transient(), refused}}
			if err := sink.Retry(s, sink.RetryOptions{}).Write(t.Context(), &sink.Block{}); err != refused {
				t.Fatal(err)
			}
		})
	})
	t.Run("each attempt gets the same block", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{errs: []error{transient(), transient(), nil}}
			b := &sink.Block{Token: "a"}
			if err := sink.Retry(s, sink.RetryOptions{}).Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			for _, got := range s.blocks {
				if got != b {
					t.Errorf("another block: %+v", got)
				}
			}
		})
	})
	t.Run("the budget counts from the first failure, slow attempts included", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{start: time.Now(), errs: []error{transient()}, took: 25 * time.Second}
			err := sink.Retry(s, sink.RetryOptions{}).Commit(t.Context(), "u", 0)
			if !failure.Is(err, failure.Job) || len(s.at) != 4 {
				t.Fatalf("%v after %d calls at %v", err, len(s.at), s.at)
			}
		})
	})
	t.Run("limits and close are the sink's", func(t *testing.T) {
		r := sink.Retry(&script{}, sink.RetryOptions{})
		if r.Limits().Rows != 7 || r.Close() != errDown {
			t.Fatal("not passed through")
		}
	})
}
