package crash_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

// strike is a kill at a call, before it is applied or after, when its answer is
// lost.
type strike struct {
	at    int
	after bool
}

func (s strike) String() string {
	if s.after {
		return fmt.Sprintf("after-%d", s.at)
	}
	return fmt.Sprintf("before-%d", s.at)
}

// strikes are those at every one of the calls in turn, as a function that was not
// killed made them, and one that is beyond them even if it should make slack more
// calls the next time. Before and after are the same where a call only reads; and
// of a row of like reads, which leave everything as it was, the last one stands
// for all.
func strikes(calls []lambdakit.Call, slack int) []strike {
	var all []strike
	for i, c := range calls {
		if reads(c) {
			if i+1 == len(calls) || calls[i+1].Service != c.Service || calls[i+1].Op != c.Op {
				all = append(all, strike{at: i + 1})
			}
			continue
		}
		all = append(all, strike{at: i + 1}, strike{at: i + 1, after: true})
	}
	for i := range slack {
		all = append(all, strike{at: len(calls) + 1 + i})
	}
	return append(all, strike{at: len(calls) + slack + 1})
}

func reads(c lambdakit.Call) bool {
	switch c.Op {
	case "GetItem", "BatchGetItem", "Query", "GetQueueAttributes":
		return true
	case "GET":
		return c.Service == "s3"
	}
	return false
}

// trap kills a function at a call.
type trap struct {
	strike
	hit atomic.Pointer[lambdakit.Call] // what it struck at; nil: not yet
}

// set lets the function run into a trap from now on.
func set(f *function, s strike) *trap {
	tr := &trap{strike: s}
	f.proxy.Inject(func(c lambdakit.Call) lambdakit.Fault {
		if c.Number != s.at {
			return lambdakit.Fault{}
		}
		tr.hit.Store(&c)
		return lambdakit.Fault{Before: !s.after, After: s.after, Kill: func() { f.Signal() }}
	})
	return tr
}

// struck reports whether the trap's kill struck, of which the outcome of the
// invocation must show the same.
func (tr *trap) struck(t *testing.T, o lambdakit.Outcome) bool {
	t.Helper()
	hit := tr.hit.Load() != nil
	if hit != o.Killed {
		t.Errorf("kill %v: it was sent: %v, and the process ended by it: %v", tr.strike, hit, o.Killed)
	}
	return hit
}

// check checks that all strikes have struck but the one beyond the last call, and
// that those which a function escaped by making fewer calls than the one that was
// watched are within slack of its last.
func check(t *testing.T, all []strike, slack int, struck map[strike]bool) {
	t.Helper()
	beyond := all[len(all)-1].at
	for _, s := range all {
		if must, may := s.at < beyond-2*slack, s.at < beyond; must && !struck[s] || struck[s] && !may {
			t.Errorf("kill %v: struck: %v, of %d kills, the last at %d", s, struck[s], len(all), beyond)
		}
	}
}
