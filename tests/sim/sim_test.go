// Package sim_test runs a stack in one process under one clock: the real lister
// or intake, readers with their pipe, finalizer and commands over a ledger,
// queues, a bucket and a sink, with everything going wrong that may, as a seed
// decides. It knows no service.
//
// The law: after the faults stop, every job comes to an end by itself, and none
// ended without every row of every unit; a continuous job, which has no end, has
// read every version that is current. A seed replays exactly.
package sim_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var (
	seeds = flag.Int("sim.seeds", 6000, "how many seeds to run")
	first = flag.Uint64("sim.first", 0, "the first of them")
	all   = flag.Bool("sim.all", false, "go on after a seed that fails, and show laws alone")
	one   = flag.Int64("sim.seed", -1, "the only seed to run, with its trace")
)

func TestEveryJobComesToItsEnd(t *testing.T) {
	if *one >= 0 {
		w := bubble(t, uint64(*one))
		t.Logf("kinds %v\n%s", w.kinds, w.trace())
		breaches(t, w)
		return
	}
	steps, ends := 0, map[ledger.State]int{}
	everySeed(t, *seeds, bubble, func(w *world) {
		steps += w.steps
		for _, s := range w.laws.verdicts {
			ends[s]++
		}
	})
	t.Logf("%d effects; storms ended as %v", steps, ends)
}

// everySeed runs n seeds from the first on, side by side, until one fails. tell is
// told of each world at its end, one at a time.
func everySeed(t *testing.T, n int, run func(*testing.T, uint64) *world, tell func(w *world)) {
	var next atomic.Uint64
	next.Store(*first)
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for {
					seed := next.Add(1) - 1
					if seed >= *first+uint64(n) || t.Failed() && !*all {
						return
					}
					w := run(t, seed)
					breaches(t, w)
					mu.Lock()
					tell(w)
					mu.Unlock()
				}
			})
		}
	})
}

func TestASeedReplaysExactly(t *testing.T) {
	for seed := range uint64(100) {
		var digests [2]uint64
		var traces [2]string
		for i := range digests {
			w := bubble(t, seed)
			digests[i], traces[i] = w.digest(), w.trace()
		}
		if digests[0] != digests[1] {
			a, b := strings.Split(traces[0], "\n"), strings.Split(traces[1], "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("seed %d differs at line %d:\n%s\n%s", seed, i, a[i], b[i])
				}
			}
			t.Fatalf("seed %d: %d and %d lines", seed, len(a), len(b))
		}
	}
}

// bubble is the story of a seed under a clock of its own.
func bubble(t *testing.T, seed uint64) (w *world) {
	synctest.Test(t, func(*testing.T) { w = story(seed) })
	return w
}

func breaches(t *testing.T, w *world) {
	t.Helper()
	if len(w.broken) > 0 {
		tail := w.trace()
		if *one >= 0 || *all {
			tail = ""
		} else if n := len(tail); n > 6000 {
			tail = "…" + tail[n-6000:]
		}
		t.Errorf("seed %d (go test ./tests/sim -sim.seed %d shows all of it):\n%s\n%s", w.seed, w.seed, strings.Join(w.broken, "\n"), tail)
	}
}

// long is more than a job takes to its end once nothing goes wrong any more:
// each of its re-sends takes a window, and each of their deliveries a backoff.
const long = 8 * time.Hour

// story is a seed's: a storm, and then what must come of it.
func story(seed uint64) *world {
	w := draw(seed)
	defer w.stop()
	w.operator("start")
	w.run(w, time.Now().Add(10*time.Hour), func() bool { return w.quiet })
	w.rests()
	w.laws.verdicts = append(w.laws.verdicts, w.meta().State)
	w.mend()
	for _, then := range []func(){w.begins, w.goesOn, w.isRedriven, w.again} {
		if len(w.broken) == 0 {
			then()
		}
	}
	return w
}

// begins starts a job that nobody started yet: the command was lost in the storm.
func (w *world) begins() {
	if w.meta().State == "" {
		w.operator("start")
		w.rests()
	}
}

// goesOn has a job go on that is halted, which is an end while its cause lasts.
// The halt for a sink that is down ends by itself.
func (w *world) goesOn() {
	m := w.meta()
	if m.State.Ended() {
		return
	}
	if m.Halt != nil && m.Halt.Reason != failure.SinkDown {
		w.operator("resume")
	}
	w.ends()
}

// isRedriven has a failed job complete, now that all is well again.
func (w *world) isRedriven() {
	if w.meta().State != ledger.Failed {
		return
	}
	w.mend()
	w.operator("redrive")
	w.ends()
	if m := w.meta(); len(w.broken) == 0 && m.State != ledger.Completed {
		w.law("all is well again, and the job that was redriven %s", m.State)
	}
}

// rests goes on until nothing does any more, and then for a while.
func (w *world) rests() {
	if len(w.broken) > 0 {
		return
	}
	w.run(w, time.Now().Add(long), w.still)
	if !w.still() {
		w.law("the job is %s, and no end to it", w.meta().State)
	}
	if len(w.broken) > 0 {
		return
	}
	w.laws.rest()
	m := w.meta()
	w.laws.restful = m.Halt == nil || m.State.Ended() || !w.sink.down
	w.run(w, time.Now().Add(35*time.Minute), func() bool { return false })
	w.laws.restful = false
	if n := w.meta(); n.State != m.State || n.Generation != m.Generation {
		w.law("the job was at rest as %s and is %s", m.State, n.State)
	}
	w.laws.rest()
}

// still reports whether nothing goes on: nobody is at work, nothing waits, and
// the job has ended or cannot go on.
func (w *world) still() bool {
	w.mu.Lock()
	alive := w.alive
	w.mu.Unlock()
	if alive > 0 || len(w.queue.messages) > 0 {
		return false
	}
	m := w.meta()
	if m.State.Ended() {
		live, err := w.ledger.Live(context.Background())
		return err == nil && len(live) == 0
	}
	return m.State == "" || m.Halt != nil && (m.Halt.Reason != failure.SinkDown || w.sink.down)
}

// ends goes on until the job has ended.
func (w *world) ends() {
	w.rests()
	if m := w.meta(); len(w.broken) == 0 && !m.State.Ended() {
		w.law("the job is %s", m.State)
	}
}

// again starts the next run: it completes, and reads only what was not done.
func (w *world) again() {
	reads, before := w.store.reads, w.meta()
	w.operator("start")
	w.ends()
	if len(w.broken) > 0 {
		return
	}
	m := w.meta()
	if m.State != ledger.Completed || m.Run != before.Run+1 {
		w.law("run %d is %s", m.Run, m.State)
	}
	want := 0
	for id := range w.laws.units[m.Run] {
		if _, known := w.laws.units[before.Run][id]; !known {
			want++
		}
	}
	if before.State == ledger.Completed && want == 0 && w.store.reads != reads {
		w.law("run %d reads what run %d has done", m.Run, before.Run)
	}
}
