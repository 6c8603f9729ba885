package intake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

var (
	errLost  = failure.New(failure.Transient, failure.RetriesExhausted, errors.New("connection lost"))
	errCrash = failure.New(failure.Job, failure.Config, errors.New("the process is gone"))
)

// operations are what an intake calls.
var operations = []string{"Open", "Enter", "Claimed", "Look", "Send", "Stat", "ReadRange"}

// fault is what happens to one call. The zero value lets all pass.
type fault struct {
	op      string
	at      int   // the call of op that it happens to, 1 for the first; 0: none
	until   int   // and up to this one; 0: that one
	applied bool  // only the answer is lost
	dies    bool  // no later call gets through
	err     error // nil: errLost

	mu   sync.Mutex
	seen map[string]int // guarded by mu, as below
	gone bool
}

func (f *fault) call(op string, do func() error) error {
	f.mu.Lock()
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	f.seen[op]++
	n := f.seen[op]
	gone := f.gone
	struck := op == f.op && f.at > 0 && n >= f.at && n <= max(f.at, f.until)
	if struck && f.dies {
		f.gone = true
	}
	f.mu.Unlock()
	if gone {
		return errCrash
	}
	if !struck {
		return do()
	}
	if f.applied {
		_ = do()
	}
	if f.dies {
		return errCrash
	}
	if f.err != nil {
		return f.err
	}
	return errLost
}

func (f *fault) calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[op]
}

// Pin implements object.Opener.
func (a *actor) Pin(o unit.Object) object.Pinned {
	if a.w.vast {
		return &pinned{line{}, a.fault}
	}
	return &pinned{a.w.bucket.Pin(o), a.fault}
}

type pinned struct {
	object.Pinned
	fault *fault
}

func (p *pinned) ReadRange(ctx context.Context, off, n int64) (b io.ReadCloser, err error) {
	err = p.fault.call("ReadRange", func() (err error) { b, err = p.Pinned.ReadRange(ctx, off, n); return err })
	if err != nil {
		b = nil
	}
	return b, err
}

// sweep runs body with a fault of one call: for every operation the first call of
// it, the second and so on until no call is left, not applied and applied with
// the answer lost. Those of never need not be called.
func sweep(t *testing.T, never []string, body func(t *testing.T, f *fault)) {
	for _, applied := range []bool{false, true} {
		for _, op := range operations {
			for n, left := 1, true; left; n++ {
				t.Run(fmt.Sprintf("%s %d, applied %v", op, n, applied), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := &fault{op: op, at: n, applied: applied}
						body(t, f)
						left = f.calls(op) >= n
					})
				})
				if t.Failed() {
					return
				}
				if n == 1 && !left && !contains(never, op) {
					t.Errorf("%s was not called", op)
				}
			}
		}
	}
}

func contains(ops []string, op string) bool {
	for _, o := range ops {
		if o == op {
			return true
		}
	}
	return false
}
