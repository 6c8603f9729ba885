package sim_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

var (
	streams   = flag.Int("sim.streams", 1500, "how many seeds of continuous jobs to run")
	oneStream = flag.Int64("sim.stream", -1, "the only one of them, with its trace")
)

// The law of a continuous job: whatever happens to it, every version that is
// current in the end is in the sink, and no unit is open for ever; and of a
// version that nobody overwrote each row is there once.
func TestEveryVersionIsRead(t *testing.T) {
	if *oneStream >= 0 {
		w := stream(t, uint64(*oneStream))
		t.Logf("kinds %v\n%s", w.kinds, w.trace())
		breaches(t, w)
		return
	}
	var steps, again, dead int
	everySeed(t, *streams, stream, func(w *world) {
		steps, again, dead = steps+w.steps, again+w.laws.marks, dead+w.laws.deaths
	})
	t.Logf("%d effects; %d members overwritten, %d units dead", steps, again, dead)
}

func TestAStreamReplaysExactly(t *testing.T) {
	for seed := range uint64(50) {
		a, b := stream(t, seed), stream(t, seed)
		if a.digest() != b.digest() {
			t.Fatalf("seed %d differs", seed)
		}
	}
}

// stream is the story of a continuous job under a clock of its own.
func stream(t *testing.T, seed uint64) (w *world) {
	synctest.Test(t, func(*testing.T) { w = flow(seed) })
	return w
}

// streamKinds are the faults that continuous jobs may meet, besides those that
// only they do.
var streamKinds = []string{
	"crash", "fail", "lost", "outage", "freeze", "slow", "cut", "partly", "duplicate", "purge", "expire",
	"lost receive", "off", "sink down", "denied", "undecodable", "reject", "resume", "redrive",
	"second tick", "short", "forgetful sink", "blind", "echo", "put", "put back", "delete",
}

var streamThemes = [][]string{
	{"put", "put back"},
	{"put back", "echo", "duplicate", "crash"},
	{"put back", "delete", "freeze", "lost"},
	{"put", "purge", "crash", "blind"},
	{"put back", "sink down", "denied", "resume"},
	{"put back", "short", "freeze", "crash"},
	{"put", "undecodable", "reject", "redrive", "delete"},
	{"put back", "slow", "freeze", "second tick", "duplicate"},
}

// flow is a seed's: a storm, and then what must come of it.
func flow(seed uint64) *world {
	w := drawStream(seed)
	defer w.stop()
	w.run(w, time.Now().Add(10*time.Hour), func() bool { return w.quiet })
	w.settles()
	w.mend()
	if m := w.meta(); m.Halt != nil && len(w.broken) == 0 {
		w.operator("resume")
		w.settles()
	}
	if len(w.broken) == 0 && w.laws.someDead() {
		w.operator("redrive")
		w.settles()
	}
	w.laws.streamed()
	return w
}

func drawStream(seed uint64) *world {
	w := newWorld(seed)
	w.inbox = &inbox{w: w}
	r := w.rng
	density := []float64{0.1, 0.25, 0.5}[r.IntN(3)]
	w.theme = streamThemes[r.IntN(len(streamThemes))]
	w.draw(density, streamKinds)
	w.kinds["put"] = true
	w.keys = 1 + r.IntN(4)
	w.put()
	w.storm(time.Duration(20+r.IntN(3)*20) * time.Minute)
	return w
}

// put makes a version of some key current, and has it announced.
func (w *world) put() {
	key := fmt.Sprintf("k%02d", w.rng.IntN(w.keys))
	w.object(key)
	w.inbox.announce(w.store.current[key])
}

// putBack makes a version current that was so before.
func (w *world) putBack() {
	key := fmt.Sprintf("k%02d", w.rng.IntN(w.keys))
	versions := w.store.of(key)
	if len(versions) == 0 {
		return
	}
	v := versions[w.rng.IntN(len(versions))]
	w.store.current[key] = v
	w.inbox.announce(v)
}

// settles goes on until nothing is due any more.
func (w *world) settles() {
	if len(w.broken) > 0 {
		return
	}
	w.run(w, time.Now().Add(long), w.flowed)
	if !w.flowed() {
		w.law("units are open, and no end to it: %d messages, %d notices, %+v", len(w.queue.messages), len(w.inbox.messages), w.unfinished(1))
	}
}

// flowed reports whether nothing goes on: nobody is at work, nothing waits, and
// no unit is open unless the job cannot go on.
func (w *world) flowed() bool {
	w.mu.Lock()
	alive := w.alive
	w.mu.Unlock()
	if alive > 0 || len(w.queue.messages)+len(w.inbox.messages) > 0 {
		return false
	}
	m := w.meta()
	if m.Halt != nil && (m.Halt.Reason != failure.SinkDown || w.sink.down) {
		return true
	}
	if m.Halt == nil && m.Ask != m.Swept {
		return false
	}
	due := 0
	if m.Halt == nil {
		_ = w.ledger.Keys(context.Background(), job, func(ledger.KeyTodo) error { due++; return nil })
	}
	for _, i := range w.unfinished(m.Run) {
		if i.State == ledger.Open {
			due++
		}
	}
	return due == 0
}
