package crash_test

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

// strike is a kill at a call, before it is applied or after, when its answer is
// lost.
type strike struct {
	op    string // the calls that are counted, of a function that makes several at a time; "": all
	at    int
	after bool
}

func (s strike) String() string {
	name := fmt.Sprintf("before-%d", s.at)
	if s.after {
		name = fmt.Sprintf("after-%d", s.at)
	}
	if s.op != "" {
		name = s.op + "-" + name
	}
	return name
}

// strikes are those at every one of the calls in turn, as a function that was not
// killed made them, and one that is beyond them even if it should make slack more
// calls the next time. Reads leave everything as it was: a kill at one of them is
// the same as one before the next write, or after the last.
func strikes(calls []lambdakit.Call, slack int) []strike {
	var all []strike
	n := 0
	for _, c := range calls {
		if !c.Again {
			n++
		}
		if !c.Again && !reads(c) {
			all = append(all, strike{at: n}, strike{at: n, after: true})
		}
	}
	for i := range slack {
		all = append(all, strike{at: n + 1 + i})
	}
	return append(all, strike{at: n + slack + 1})
}

// strikesByOp are those at every one of the calls of a function that makes them in
// no certain order, but of each operation so many.
func strikesByOp(calls []lambdakit.Call) []strike {
	var all []strike
	n := map[string]int{}
	for _, c := range calls {
		if op := operation(c); !c.Again && !reads(c) {
			n[op]++
			all = append(all, strike{op: op, at: n[op]}, strike{op: op, at: n[op], after: true})
		}
	}
	return append(all, strike{at: len(calls) + 1})
}

func operation(c lambdakit.Call) string { return c.Service + "-" + c.Op }

func reads(c lambdakit.Call) bool {
	switch c.Op {
	case "GetItem", "BatchGetItem", "Query", "GetQueueAttributes":
		return true
	case "GET", "HEAD":
		return c.Service == "s3"
	}
	return false
}

// trap kills a function at a call.
type trap struct {
	strike
	hit atomic.Pointer[lambdakit.Call] // what it struck at; nil: not yet
}

// set lets the function run into a trap from now on. What the SDK repeats, because
// the endpoint was slow, does not count.
func set(f *function, s strike) *trap {
	tr := &trap{strike: s}
	var n atomic.Int64
	f.Proxy.Inject(func(c lambdakit.Call) lambdakit.Fault {
		if c.Again || s.op != "" && s.op != operation(c) || n.Add(1) != int64(s.at) {
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
	beyond := all[len(all)-1]
	for _, s := range all {
		may := s != beyond
		must := may && (s.op != "" || s.at < beyond.at-2*slack)
		if must && !struck[s] || struck[s] && !may {
			t.Errorf("kill %v: struck: %v, of %d kills, the last %v", s, struck[s], len(all), beyond)
		}
	}
}

// sweep kills readers, each at the strike that is for the unit at hand, when that
// is delivered for the first time.
type sweep struct {
	t  *testing.T
	of func(d delivery) (strike, bool) // false: nothing disturbs it

	mu    sync.Mutex
	traps map[*function]*trap // of the deliveries at hand; guarded by mu
	hit   map[strike]bool     // guarded by mu
}

func newSweep(t *testing.T, of func(d delivery) (strike, bool)) *sweep {
	return &sweep{t: t, of: of, traps: map[*function]*trap{}, hit: map[strike]bool{}}
}

// hooks set the traps. anew: a reader begins as a new process before it is killed.
func (s *sweep) hooks(anew bool) hooks {
	return hooks{
		before: func(f *function, d delivery) {
			s.mu.Lock()
			defer s.mu.Unlock()
			at, meant := s.of(d)
			if s.traps[f] = nil; !meant || d.nth != 1 {
				f.Proxy.Inject(nil)
				return
			}
			if anew {
				f.Kill()
			}
			s.traps[f] = set(f, at)
		},
		after: func(f *function, d delivery, o lambdakit.Outcome) {
			s.mu.Lock()
			defer s.mu.Unlock()
			switch tr := s.traps[f]; {
			case tr != nil:
				s.hit[tr.strike] = tr.struck(s.t, o)
				s.t.Logf("kill %v: %v", tr.strike, tr.hit.Load())
			case !o.OK():
				s.t.Errorf("delivery %d of %s, of job %s: %+v", d.nth, d.unit, d.job, o)
			}
		},
	}
}

// struck are the strikes, once no reader is at work, and whether each struck.
func (s *sweep) struck() map[strike]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.hit)
}
