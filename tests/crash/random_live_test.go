package crash_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/spate-go/spate/pkg/unit"
	"github.com/spate-go/spate/tests/lambdakit"
)

// announcer announces objects in a random order, alone or together, often twice
// and in every shape.
type announcer struct {
	*rand.Rand
	told []lambdakit.Notice
}

// bodies are messages that tell of each of ns, and of what was told before.
func (a *announcer) bodies(ns []lambdakit.Notice) (all []string) {
	ns = append([]lambdakit.Notice(nil), ns...)
	for range len(ns) / 3 {
		ns = append(ns, ns[a.IntN(len(ns))])
	}
	for range len(a.told) / 4 {
		ns = append(ns, a.told[a.IntN(len(a.told))])
	}
	a.told = append(a.told, ns...)
	a.Shuffle(len(ns), func(i, j int) { ns[i], ns[j] = ns[j], ns[i] })
	for len(ns) > 0 {
		n := min(1+a.IntN(3), len(ns))
		switch {
		case n == 1:
			all = append(all, lambdakit.FromEventBridge(ns[0]))
		case a.IntN(2) == 0:
			all = append(all, lambdakit.ThroughSNS(lambdakit.FromS3(ns[:n]...)))
		default:
			all = append(all, lambdakit.FromS3(ns[:n]...))
		}
		ns = ns[n:]
	}
	return all
}

// budget is how many kills are left, and what is in their way.
type budget struct {
	mu     sync.Mutex
	random *rand.Rand      // guarded by mu, as all below
	left   map[string]int  // by what is killed
	of     map[unit.ID]int // kills
	traps  map[*function]*trap
}

// aim sets a trap for f, if may says so and any is left for its kind.
func (b *budget) aim(f *function, kind string, calls int, may func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.traps[f] = nil; b.left[kind] > 0 && may() {
		b.traps[f] = set(f, strike{at: 1 + b.random.IntN(calls), after: b.random.IntN(2) == 0})
	} else {
		f.Proxy.Inject(nil)
	}
}

// ended says of an invocation whether it was killed; if not it has to be fine.
func (b *budget) ended(t *testing.T, f *function, kind string, o lambdakit.Outcome) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tr := b.traps[f]; tr != nil && tr.struck(t, o) {
		b.left[kind]--
		return true
	}
	if !o.OK() {
		t.Errorf("%s: %+v", kind, o)
	}
	return false
}

// TestRandomKillsOfAContinuousJob kills its intakes and readers fifty times, while
// objects are announced out of order and again, and some are replaced.
func TestRandomKillsOfAContinuousJob(t *testing.T) {
	t.Parallel()
	const (
		objects  = 300
		replaced = 40
		kills    = 25 // of each kind
		most     = 3  // of a unit, and deliveries of a notification, that are killed
	)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	a := &announcer{Rand: rand.New(rand.NewPCG(seed, 0))}
	b := &budget{
		random: rand.New(rand.NewPCG(seed, 1)), left: map[string]int{intake: kills, reader: kills},
		of: map[unit.ID]int{}, traps: map[*function]*trap{},
	}
	w := newWorld(t, lambdakit.StackOptions{MaxReceives: 9, Visibility: 6 * time.Second}, pipeline("1MiB", ""))
	schedule := w.serve(t, finalizer, 1)[0]
	w.open(t, w.start(t, intake, lambdakit.Options{}))
	w.putAll(t, objects, 0)
	w.announce(t, a.bodies(w.changed(t, 0, objects))...)

	w.take(t, watch{
		before: func(f *function, ms []types.Message) {
			b.aim(f, intake, 14, func() bool {
				for _, m := range ms {
					if n, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]); n > most {
						return false
					}
				}
				return true
			})
		},
		after: func(f *function, o lambdakit.Outcome) { b.ended(t, f, intake, o) },
	}, w.start(t, intake, lambdakit.Options{}), w.start(t, intake, lambdakit.Options{}))
	w.poll(t, hooks{
		hasten: true, // of two messages of a unit one waits for longer than a test does
		before: func(f *function, d delivery) {
			b.aim(f, reader, 12, func() bool { return b.of[d.unit] < most })
		},
		after: func(f *function, d delivery, o lambdakit.Outcome) {
			if b.ended(t, f, reader, o) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.of[d.unit]++
			}
		},
	}, w.start(t, reader, lambdakit.Options{}), w.start(t, reader, lambdakit.Options{}))
	w.putAll(t, replaced, 1)
	w.announce(t, a.bodies(w.changed(t, 0, replaced))...)
	w.rest(t, live, schedule)

	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("kills left: %v, over %d units", b.left, len(b.of))
	if b.left[intake]+b.left[reader] > 0 {
		t.Errorf("%d kills struck, of %d", 2*kills-b.left[intake]-b.left[reader], 2*kills)
	}
	w.checkRows(t)
	w.checkClaims(t, objects+replaced, live)
	if letters, refused := w.letters(t), w.refused(t); len(letters)+len(refused) > 0 {
		t.Errorf("given up: %v, refused: %v", letters, refused)
	}
}

func numbered(i int) string { return fmt.Sprintf("o%03d", i) }

// putAll puts version v of the first n numbered objects.
func (w *world) putAll(t *testing.T, n, v int) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error { return w.rows.Replace(t.Context(), "in/"+numbered(i), v, 1+i%3) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// changed are notices of the numbered objects from one up to another.
func (w *world) changed(t *testing.T, from, to int) (ns []lambdakit.Notice) {
	t.Helper()
	all := w.notices(t, "")
	for i := from; i < to; i++ {
		ns = append(ns, all[numbered(i)])
	}
	return ns
}
