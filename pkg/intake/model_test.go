package intake_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// A small world, of which every step may be any: one key is put as A, then B,
// then A, another one once; intakes die at any call, events come twice and in any
// order, messages of the feed are lost or come twice, readers die. At rest each
// key's current version was read, by one unit alone.
func TestAnyWalkThroughASmallWorldEndsWell(t *testing.T) {
	const walks, steps = 800, 30
	for seed := range uint64(walks) {
		var history []string
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			k := &walk{world: w, rng: rand.New(rand.NewPCG(seed, 1))}
			for range steps {
				history = append(history, k.step())
			}
			for len(k.puts) < 4 {
				k.put()
			}
			k.stale()
			w.rest("p/k", "p/l")
			k.stale()
			w.rest("p/k", "p/l")
			w.once()
		})
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, history)
		}
	}
}

type walk struct {
	*world
	rng  *rand.Rand
	puts []unit.Object
}

// put makes the next put, and announces it, later once more perhaps.
func (k *walk) put() {
	next := []struct{ key, content string }{{"p/k", "A"}, {"p/k", "B"}, {"p/l", "A"}, {"p/k", "A"}}[len(k.puts)]
	o := k.world.put(next.key, next.content, 9)
	k.puts = append(k.puts, o)
	k.announce(o)
}

func (k *walk) step() string {
	n := k.rng.IntN(100)
	switch {
	case n < 15 && len(k.puts) < 4:
		k.put()
		return "put"
	case n < 20 && len(k.puts) > 0:
		o := k.puts[k.rng.IntN(len(k.puts))]
		k.announce(o)
		return "announced again: " + o.Key
	case n < 25:
		k.rng.Shuffle(len(k.queue), func(i, j int) { k.queue[i], k.queue[j] = k.queue[j], k.queue[i] })
		return "reordered"
	case n < 45:
		k.handle(k.intake(nil), 1+k.rng.IntN(3))
		return "handled"
	case n < 60:
		f := &fault{op: operations[k.rng.IntN(5)], at: 1 + k.rng.IntN(3), applied: k.rng.IntN(2) == 0, dies: true}
		k.handle(k.intake(f), 1+k.rng.IntN(3))
		return fmt.Sprintf("dies at %s %d, applied %v", f.op, f.at, f.applied)
	case n < 80 && len(k.feed) > 0:
		return k.deliver(k.rng.IntN(len(k.feed)))
	case n < 90:
		k.schedule(k.intake(nil))
		return "schedule"
	case n < 93:
		k.stale()
		return "stale"
	}
	return "nothing"
}

// deliver does one of what may become of a message in the feed.
func (k *walk) deliver(i int) string {
	m := k.feed[i]
	k.feed = slices.Delete(k.feed, i, i+1)
	switch k.rng.IntN(6) {
	case 0:
		return "lost " + string(m.ID)
	case 1:
		k.feed = append(k.feed, m)
		return "twice " + string(m.ID)
	case 2:
		if _, err := k.ledger.Begin(context.Background(), ledger.Ref{Job: job, Run: 1, ID: m.ID}, 1, 1000); err != nil {
			k.t.Fatal(err)
		}
		k.feed = append(k.feed, m)
		return "a reader died at " + string(m.ID)
	}
	k.read(m)
	return "read " + string(m.ID)
}

// stale sends again what has been open and untouched.
func (k *walk) stale() {
	if _, err := k.ledger.Meta(context.Background(), job); err != nil {
		return
	}
	time.Sleep(time.Second)
	err := k.ledger.Stale(context.Background(), job, 1, time.Now(), func(it ledger.Item) error {
		is, err := k.ledger.Look(context.Background(), ledger.Ref{Job: job, Run: 1, ID: it.ID})
		if err != nil {
			return err
		}
		k.feed = append(k.feed, feed.Message{ID: it.ID, Job: job, Body: is.Body})
		k.sends[it.ID]++
		k.sent[it.ID] = is.Body
		return nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
}
