package dynamoledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

var away = &smithy.GenericAPIError{Code: "InternalServerError", Message: "away", Fault: smithy.FaultServer}

// TestFaults fails each call of a job's life in turn. Whatever comes of it, what
// the ledger proves is what it proves without.
func TestFaults(t *testing.T) {
	for job, live := range lives {
		t.Run(job+": a call that fails and is repeated", func(t *testing.T) { failing(t, live, false) })
		t.Run(job+": a call whose answer is lost and that is repeated", func(t *testing.T) { failing(t, live, true) })
	}
}

func failing(t *testing.T, live func(*teller), applied bool) {
	clean := newTable()
	want, s := told(t, clean, live)
	for at := 1; at <= s.lived; at++ {
		if oneOfMany(clean.calls, at) {
			continue
		}
		api := newTable()
		api.fault = func(n int, call string) (bool, error) {
			if n == at {
				return applied, away
			}
			return false, nil
		}
		got, s := told(t, api, live)
		what := fmt.Sprintf("call %d, %s", at, clean.calls[at-1])
		if !s.repeated {
			t.Errorf("%s: nobody heard of it", what)
		}
		differ(t, what, got.proved(), want.proved())
		for i, p := range got.Progress {
			if p.Done > want.Progress[i].Done {
				t.Errorf("%s: counters ahead: %+v, want %+v", what, p, want.Progress[i])
			}
		}
		if t.Failed() {
			return
		}
	}
}

// oneOfMany reports whether a call is one of a proof's, or the like, and not the
// first two.
func oneOfMany(calls []string, at int) bool {
	return at > 2 && calls[at-1] == "Query" && calls[at-2] == "Query" && calls[at-3] == "Query"
}

// TestRepeats has the SDK repeat each call in turn, since the answer was lost. It
// does not show at all: not in the counters, nor in what callers are told.
func TestRepeats(t *testing.T) {
	for job, live := range lives {
		t.Run(job, func(t *testing.T) {
			clean := newTable()
			want, s := told(t, clean, live)
			for at := range s.lived {
				if oneOfMany(clean.calls, at+1) {
					continue
				}
				api := newTable()
				api.repeat = at + 1
				got, _ := told(t, api, live)
				if differ(t, fmt.Sprintf("call %d, %s", at+1, api.calls[at]), got, want); t.Failed() {
					return
				}
			}
		})
	}
}

// TestWhatWasDoneIsTold has the SDK repeat each call of the methods that say
// whether this call did it.
func TestWhatWasDoneIsTold(t *testing.T) {
	for at := 1; at <= 3; at++ {
		api := newTable()
		s := &teller{T: t, Ledger: alone(api)}
		s.list(1, page(0, 2))
		for name, call := range map[string]func() (bool, error){
			"halt":   func() (bool, error) { return s.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}) },
			"resume": func() (bool, error) { return s.Resume(t.Context(), "j", failure.SinkDown) },
			"resend": func() (bool, error) { return true, s.Resend(t.Context(), "j", 1, 0, 0) },
		} {
			if name == "resume" {
				if _, err := s.Halt(t.Context(), "j", ledger.Halt{Reason: failure.SinkDown}); err != nil {
					t.Fatal(err)
				}
			}
			api.repeat = len(api.calls) + at
			if did, err := call(); !did || err != nil {
				t.Errorf("%s, its call %d repeated: %v, %v", name, at, did, err)
			}
			if _, err := s.Resume(t.Context(), "j", failure.SinkDown); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestARepeatWhoseAnswerWasLostIsNoError(t *testing.T) {
	for at := 1; at <= 2; at++ {
		api, s := streaming(t, 1)
		api.repeat = len(api.calls) + at
		if err := s.Repeat(t.Context(), ref(1, 0), 0); err != nil {
			t.Error(err)
		}
	}
}

// conflict is what a transaction meets that another one crosses; a plain write
// gets the same as an error of its own.
func conflict(call string) error {
	if call == "TransactWriteItems" {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {Code: aws.String("TransactionConflict")},
		}}
	}
	return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
}

func TestConflictsAreWaitedOut(t *testing.T) {
	for job, live := range lives {
		t.Run(job, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want, _ := told(t, newTable(), live)
				api, left := newTable(), map[string]int{}
				api.fault = func(n int, call string) (bool, error) {
					if !strings.HasPrefix(call, "Transact") && !strings.HasPrefix(call, "Update") && !strings.HasPrefix(call, "Delete") {
						return false, nil
					}
					if left[call]++; left[call]%4 != 0 {
						return false, conflict(call)
					}
					return false, nil
				}
				got, s := told(t, api, live)
				differ(t, "outcome", got, want)
				if s.repeated {
					t.Error("a caller heard of a conflict")
				}
			})
		})
	}
	t.Run("not for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := newTable()
			api.fault = func(_ int, call string) (bool, error) {
				if call == "TransactWriteItems" {
					return false, conflict(call)
				}
				return false, nil
			}
			start := time.Now()
			_, err := alone(api).Start(t.Context(), "j", ledger.Start{})
			if !failure.Is(err, failure.Transient) || time.Since(start) > 10*time.Second || len(api.calls) < 5 {
				t.Errorf("%v after %v and %d calls", err, time.Since(start), len(api.calls))
			}
		})
	})
}

func TestABatchIsAskedAgainUntilNothingIsUnprocessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newTable()
		s := &teller{T: t, Ledger: alone(api)}
		s.list(1, page(0, 5))
		api.perBatch = -1
		start := time.Now()
		_, err := s.Progress(t.Context(), "j", 1)
		if !failure.Is(err, failure.Transient) || !strings.Contains(err.Error(), "64 items stay unprocessed") || time.Since(start) < time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.Progress(ctx, "j", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		api.perBatch = 7
		if p, err := s.Progress(t.Context(), "j", 1); err != nil || p.Planned != 5 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		scope  failure.Scope
		reason failure.Reason
		says   []string
	}{
		"throttling may pass": {
			&types.ProvisionedThroughputExceededException{Message: aws.String("slow down")}, failure.Transient, failure.RetriesExhausted, nil,
		},
		"a fault of theirs may pass": {away, failure.Transient, failure.RetriesExhausted, nil},
		"no access halts, naming action and table": {
			&smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User: arn:aws:sts::1:assumed-role/r/f is not authorized to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:eu-west-1:1:table/ledger"},
			failure.Job, failure.Denied, []string{"table/ledger"},
		},
		"a key that may not be used halts": {
			&smithy.GenericAPIError{Code: "KMSAccessDeniedException", Message: "kms:Decrypt"}, failure.Job, failure.Denied, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTable()
			s := &teller{T: t, Ledger: alone(api)}
			s.list(1, page(0, 2))
			api.fault = func(int, string) (bool, error) { return false, c.err }
			for call, err := range everything(t.Context(), s.Ledger) {
				scope, reason := failure.Of(err)
				if scope != c.scope || reason != c.reason || !failure.Marked(err) {
					t.Errorf("%s: %v (%v, %s)", call, err, scope, reason)
				}
				for _, word := range append(c.says, "table ledger", "dynamodb:", "job") {
					if err != nil && !strings.Contains(err.Error(), word) {
						t.Errorf("%s: %v does not say %q", call, err, word)
					}
				}
			}
		})
	}
	t.Run("a table that is not there halts", func(t *testing.T) {
		l := dynamoledger.New(newTable(), "other", dynamoledger.Options{})
		_, err := l.Meta(t.Context(), "j")
		if scope, reason := failure.Of(err); scope != failure.Job || reason != failure.Config || !strings.Contains(err.Error(), "table other") {
			t.Error(err)
		}
	})
	t.Run("a context that ended is nobody's fault", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for call, err := range everything(ctx, alone(newTable())) {
			if !errors.Is(err, context.Canceled) || failure.Marked(err) {
				t.Errorf("%s: %v", call, err)
			}
		}
	})
}

// everything calls every method.
func everything(ctx context.Context, l *dynamoledger.Ledger) map[string]error {
	_, start := l.Start(ctx, "j", ledger.Start{Token: "x"})
	_, lease := l.Lease(ctx, lister(1))
	_, _, publish := l.Publish(ctx, lister(1), page(2, 3))
	_, meta := l.Meta(ctx, "j")
	_, begin := l.Begin(ctx, ref(1, 0), 1, 5)
	_, done := l.Done(ctx, ref(1, 0), counts)
	_, dead := l.Dead(ctx, ref(1, 0), 1, ledger.Cause{})
	_, halt := l.Halt(ctx, "j", ledger.Halt{})
	_, resume := l.Resume(ctx, "j", failure.Denied)
	_, redrive := l.Redrive(ctx, "j", 1)
	_, progress := l.Progress(ctx, "j", 1)
	_, prove := l.Prove(ctx, "j", 1)
	_, live := l.Live(ctx)
	_, body := l.Body(ctx, ref(1, 0))
	_, watch := l.Watch(ctx, "j")
	_, open := l.Open(ctx, "j", ledger.Start{})
	_, enter := l.Enter(ctx, entry(1, 0, 0, 0))
	_, claimed := l.Claimed(ctx, "j", objectID(0))
	_, look := l.Look(ctx, ref(1, 0))
	_, adopt := l.Adopt(ctx, "j", 1, "r")
	_, backlog := l.Backlog(ctx, "j", 1)
	return map[string]error{
		"start": start, "lease": lease, "publish": publish, "meta": meta, "begin": begin, "done": done, "dead": dead, "halt": halt,
		"resume": resume, "redrive": redrive, "progress": progress, "prove": prove, "live": live, "body": body, "watch": watch,
		"advance": l.Advance(ctx, lister(1), page(2, 3)), "finish": l.Finish(ctx, lister(1)), "joined": l.Joined(ctx, "j", "p"),
		"touch": l.Touch(ctx, ref(1, 0)), "fault": l.Fault(ctx, ref(1, 0), 1, ledger.Fault{}), "rest": l.RestDone(ctx, ref(1, 0), 1, counts),
		"recovered": l.Recovered(ctx, ref(1, 0), 1, 1, counts), "pause": l.Pause(ctx, ref(1, 0), 1, ledger.Cursor{}, counts),
		"give back": l.GiveBack(ctx, ref(1, 0), 1), "conclude": l.Conclude(ctx, "j", 1, 0, ledger.Failed), "swept": l.Swept(ctx, "j", 1, 1),
		"resend": l.Resend(ctx, "j", 1, 0, 0), "retire": l.Retire(ctx, "j", 1, 0), "watched": l.Watched(ctx, "j", ledger.Watch{}),
		"open": open, "enter": enter, "claimed": claimed, "look": look, "adopt": adopt, "backlog": backlog,
		"overwritten": l.Overwritten(ctx, ref(1, 0), 1, ledger.Fault{}, object(0)),
		"again":       l.Again(ctx, "j", object(0)),
		"repeat":      l.Repeat(ctx, ref(1, 0), 0),
		"key sent":    l.KeySent(ctx, "j", ledger.KeyTodo{Object: object(0)}),
		"keys":        l.Keys(ctx, "j", func(ledger.KeyTodo) error { return nil }),
		"stale":       l.Stale(ctx, "j", 1, someDay, func(ledger.Item) error { return nil }),
		"sent":        l.Sent(ctx, "j", ledger.Todo{ID: id(0)}),
		"due":         l.Due(ctx, "j", 1, func(ledger.Todo) error { return nil }),
		"unfinished":  l.Unfinished(ctx, "j", 1, func(ledger.Item) error { return nil }),
		"pending":     l.Pending(ctx, "j", 1, func(ledger.Planned) error { return nil }),
	}
}
