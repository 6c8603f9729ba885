package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spate-go/spate/pkg/budget"
	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/memledger"
	"github.com/spate-go/spate/pkg/pipe"
	"github.com/spate-go/spate/pkg/unit"
)

const (
	job     = "job"
	readers = 3 // invocations at once, frozen ones aside
	window  = 10 * time.Minute
	resends = 3
)

type runOf struct {
	job string
	run int
}

// world is a stack: the real lister, reader and finalizer over a ledger, a
// queue, a bucket and a sink that all of them share.
type world struct {
	*scheduler
	seed   uint64
	kinds  map[string]bool
	theme  []string // kinds there is more of
	shapes int      // of objects, by size
	p      float64  // how likely an effect meets a fault of each kind
	quiet  bool     // no faults any more

	ledger *memledger.Shared
	queue  *queue
	store  *store
	sink   *rowSink
	pipe   *pipe.Pipe
	laws   *laws

	lag     map[runOf]int // done units that the counters miss
	idle    []*container
	busy    []*actor
	mapped  bool // the queue's mapping is on
	timeout time.Duration
	pace    time.Duration // what readers do takes up to so long
	tick    time.Time     // when the next one is due
	events  []event       // to come, in order
	eagers  int           // commands that were given for a reason
	// script says what becomes of effects, instead of the seed; nil: it does not.
	script func(k *ask) (f fate, slow time.Duration, frozen bool)

	// Of a continuous job:
	inbox  *inbox   // nil: it is a listed one
	taking []*actor // intakes
	keys   int      // that there are

	reports map[string][]byte
	starts  int // commands, for tokens
	log     *slog.Logger
}

func newWorld(seed uint64) *world {
	w := &world{
		scheduler: newScheduler(seed), seed: seed, kinds: map[string]bool{},
		ledger: memledger.NewShared(), store: newStore(), lag: map[runOf]int{}, mapped: true,
		tick: time.Now(), reports: map[string][]byte{}, log: slog.New(slog.DiscardHandler),
	}
	w.queue = &queue{w: w}
	w.sink = &rowSink{w: w, tokens: map[string]bool{}, rows: map[unit.ID]map[string]int{}}
	w.laws = newLaws(w)
	w.pipe = pipe.New(pipe.Config{
		Source: opener{w}, Framer: func() frame.Framer { return new(framer) },
		Chain:  func() chain.Worker { return rows{} },
		Sinks:  []pipe.NamedSink{{Name: "out", Type: "sim", Sink: w.sink}},
		Budget: budget.New(1 << 40), Threads: 100, Force: codec.Plain,
	})
	return w
}

// draw makes a world of a seed: its objects, its faults and when they come.
func draw(seed uint64) *world {
	w := newWorld(seed)
	r := w.rng
	density := []float64{0.1, 0.25, 0.5}[r.IntN(3)]
	if w.theme = themes[r.IntN(len(themes))]; len(w.theme) > 0 {
		density = 0.1
	}
	w.draw(density, kinds)
	for n := range 2 + r.IntN(7) {
		w.object(fmt.Sprintf("k%02d", 2*n))
	}
	for key := range w.laws.changed {
		w.laws.changed[key] = epoch.Add(-time.Second) // before all else
	}
	w.storm(time.Duration(20+r.IntN(3)*40) * time.Minute)
	return w
}

// draw draws which kinds of fault there are, those of the theme likely, and how the
// world goes.
func (w *world) draw(density float64, kinds []string) {
	r := w.rng
	for _, k := range kinds {
		w.kinds[k] = r.Float64() < density || slices.Contains(w.theme, k) && r.Float64() < 0.8
	}
	w.p = []float64{0.003, 0.01, 0.03}[r.IntN(3)]
	w.stick = []float64{0, 0.5, 0.9}[r.IntN(3)]
	w.timeout = []time.Duration{0, 15 * time.Minute}[r.IntN(2)]
	w.pace = []time.Duration{0, time.Second, 30 * time.Second}[r.IntN(3)]
	if w.on("short") {
		w.timeout = 3 * time.Minute
	}
	w.shapes = []int{1, 3, 5}[r.IntN(3)]
}

// object puts a version of a key: a small one, one of a segment's size, or one
// of several.
func (w *world) object(key string) {
	shape := []struct {
		records int
		stride  int64
	}{{3, headBytes}, {3, mib}, {4, mib + 300}, {5, mib}, {6, 3 * mib}}[w.rng.IntN(w.shapes)]
	w.store.put(key, shape.records, shape.stride)
	w.laws.changed[key] = time.Now()
}

// moves implements rules.
func (w *world) moves() (all []move, next time.Time) {
	now := time.Now()
	sooner := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if len(w.events) > 0 {
		if e := w.events[0]; !e.at.After(now) {
			return []move{{what: "* " + e.kind, make: func() { w.events = w.events[1:]; w.happen(e) }}}, next
		}
		sooner(w.events[0].at)
	}
	if !w.tick.After(now) {
		all = append(all, move{what: ticked, make: func() { w.tick = w.tick.Add(time.Minute); w.ticks() }})
	}
	sooner(w.tick.Add(time.Minute))
	if !w.tick.Before(now) {
		sooner(w.tick)
	}
	if w.inbox != nil {
		all = append(all, w.inbox.moves(sooner)...)
	}
	if w.mapped && w.room() {
		if ready := w.queue.ready(); len(ready) > 0 {
			all = append(all, move{what: "a message is received", make: func() { w.receive(ready[w.rng.IntN(len(ready))]) }})
		}
		for _, m := range w.queue.messages {
			sooner(m.visible)
		}
	}
	return all, next
}

// room reports whether one more reader may be at work.
func (w *world) room() bool {
	n := 0
	w.busy = slices.DeleteFunc(w.busy, func(a *actor) bool { return a.gone() })
	for _, a := range w.busy {
		if !time.Now().Before(a.until) {
			n++
		}
	}
	return n < readers
}

func (a *actor) gone() bool {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.dead || a.ended
}

// mend makes everything well that the job still waits for.
func (w *world) mend() {
	w.store.denied, w.sink.down, w.sink.rejects = false, false, false
	clear(w.store.faults)
	if w.inbox != nil {
		return // what is current is what is to be read
	}
	for _, u := range w.laws.units[w.meta().Run] {
		for _, o := range u.Objects {
			if w.store.current[o.Key] != w.store.all[o.ETag] {
				w.laws.changed[o.Key] = time.Now()
			}
			w.store.restore(o.ETag)
		}
	}
}

func (w *world) meta() ledger.Meta {
	m, err := w.ledger.Meta(context.Background(), job)
	if err != nil {
		return ledger.Meta{Job: job}
	}
	return m
}

// item is the unit's item; of one that is done only the state.
func (w *world) item(r ledger.Ref) (item ledger.Item) {
	item.State = ledger.Done
	for _, i := range w.unfinished(r.Run) {
		if i.ID == r.ID {
			item = i
		}
	}
	return item
}

func (w *world) unfinished(run int) (all []ledger.Item) {
	_ = w.ledger.Unfinished(context.Background(), job, run, func(i ledger.Item) error {
		all = append(all, i)
		return nil
	})
	return all
}

func short(id unit.ID) string { return string(id[max(0, len(id)-5):]) }
