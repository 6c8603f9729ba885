package live_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
	"github.com/spate-go/spate/pkg/unit"
)

// TestEveryVersionOnce is the law of a continuous job. Notifications come twice, late
// and in any order, always; the cases differ in what else happens.
func TestEveryVersionOnce(t *testing.T) {
	for name, c := range map[string]struct {
		versions  int // that are put, at least
		versioned bool
		restless  bool // keys are overwritten, put back and deleted
		feed      spatetest.Script
		sink      capturesink.Script
	}{
		"where all of it happens":                   {versions: 10_000, restless: true, feed: again(*seed, fates), sink: failing(*seed)},
		"where units are read by two at once":       {versions: 3000, restless: true, feed: again(*seed, []spatetest.Fate{spatetest.Together})},
		"where neither feed nor sink fails":         {versions: 3000, restless: true},
		"where nothing is overwritten":              {versions: 3000, feed: again(*seed, fates), sink: failing(*seed)},
		"where the bucket keeps versions":           {versions: 3000, versioned: true, restless: true, feed: again(*seed, fates), sink: failing(*seed)},
		"where the bucket keeps versions, in peace": {versions: 1000, versioned: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Logf("-live.seed %d", *seed)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, *seed, c.versioned, chances{feed: c.feed, sink: c.sink, slow: slowly(*seed)})
				w.queue.repeats = 0.05
				h := newHistory(w)
				for h.written < c.versions {
					h.step(c.restless)
				}
				h.flush()
				time.Sleep(latest)
				w.rest(live)
				h.end()
				w.stop()
				n := h.judge()
				if n.versions < c.versions || c.versions > 5000 && n.cut == 0 || (c.restless && !c.versioned) != (n.overwritten > 0 && n.dead > 0) || c.feed != nil && n.plain == 0 {
					t.Error("not all of what is to happen did")
				}
			})
		})
	}
}

// fates are those of deliveries, one after another.
var fates = []spatetest.Fate{spatetest.Twice, spatetest.Unacked, spatetest.Untouched}

// again gives some deliveries one of the fates.
func again(seed uint64, fates []spatetest.Fate) spatetest.Script {
	return func(n int, _ feed.Delivery) spatetest.Fate {
		if p := mix(seed+1, uint64(n)) % 10; p < 3 {
			return fates[int(p)%len(fates)]
		}
		return spatetest.Once
	}
}

// failing is a sink that fails at times, and at times has the rows all the same.
func failing(seed uint64) capturesink.Script {
	return func(n int, _ capturesink.Call) capturesink.Outcome {
		switch mix(seed+2, uint64(n)) % 8 {
		case 0:
			return capturesink.Lost
		case 1:
			return capturesink.Retryable
		}
		return capturesink.OK
	}
}

// slowly has bodies take a while to come, so that some are overwritten before.
func slowly(seed uint64) func(string) {
	var n atomic.Uint64
	return func(string) { time.Sleep(time.Duration(mix(seed, n.Add(1)) % uint64(time.Second))) }
}

// step is a moment of the history.
func (h *history) step(restless bool) {
	time.Sleep(time.Duration(h.rng.Int64N(int64(200 * time.Millisecond))))
	p := h.rng.Float64()
	if !restless {
		p *= 0.8
	}
	switch {
	case p < 0.75 || len(h.keys) == 0:
		h.write(h.fresh(), 1+h.rng.IntN(12), 0)
	case p < 0.76 && restless:
		h.write(h.keys[h.rng.IntN(len(h.keys))], 1, 0) // of long ago
	case p < 0.77:
		h.unwanted()
	case p < 0.80:
		if h.rng.IntN(20) == 0 {
			h.write(h.fresh(), 2500, 1024) // is cut
		}
	case p < 0.92:
		h.write(h.recent(), 1+h.rng.IntN(12), 0)
	case p < 0.95: // and back, perhaps while the other is being looked for
		was := h.versions[h.recent()]
		h.write(was[0].key, 1+h.rng.IntN(12), 0)
		time.Sleep(time.Duration(h.rng.Int64N(int64(2 * time.Second))))
		h.put(was[h.rng.IntN(len(was))])
	case p < 0.98: // the same again
		if v := h.current[h.recent()]; v != nil {
			h.put(v)
		}
	default:
		h.remove(h.recent())
	}
}

// arrived says how a row came into the sink.
type arrived struct {
	units []unit.ID // of each time that it was applied
	plain int       // times that a sink without a memory of tokens would have it
}

func (w *world) arrived() map[string]*arrived {
	rows := map[string]*arrived{}
	for _, c := range w.sink.Calls() {
		if c.Op != capturesink.Write || c.Outcome != capturesink.OK && c.Outcome != capturesink.Lost {
			continue
		}
		for row := range lines(c.Taken()) {
			a := rows[row]
			if a == nil {
				a = &arrived{}
				rows[row] = a
			}
			a.plain++
			if c.Applied {
				a.units = append(a.units, c.Block.Unit)
			}
		}
	}
	return rows
}

// tally is what became of versions.
type tally struct {
	versions, current, read, overwritten, dead, cut int
	rows                                            int
	plain                                           int // times that a row came again
	repeated                                        int // though its sink knows tokens
}

// judge compares rows and ledger with what happened.
func (h *history) judge() (n tally) {
	h.t.Helper()
	rows := h.arrived()
	for _, key := range h.keys {
		for _, v := range h.versions[key] {
			if len(v.rows) == 0 {
				continue
			}
			n.versions++
			h.claimed(v, h.there(v, rows, &n), &n)
		}
	}
	for row := range rows {
		h.t.Errorf("a row is of nothing that was put: %.80q", row)
	}
	h.t.Logf("%d events, %d of them twice, %d messages came again; %+v", h.events, h.twice, h.queue.resent, n)
	return n
}

// isCut reports whether the version is in ranges, each a unit of its own.
func (v *version) isCut() bool { return len(v.data) > 1<<20 }

// there reports whether all rows of a version are, and takes them off rows.
func (h *history) there(v *version, rows map[string]*arrived, n *tally) bool {
	h.t.Helper()
	there := 0
	for _, row := range v.rows {
		a := rows[row]
		delete(rows, row)
		if a == nil {
			continue
		}
		there++
		n.plain += a.plain - 1
		if len(a.units) > 1 {
			n.repeated++
			h.mayRepeat(v, a)
		}
	}
	n.rows += there
	if v.isCut() {
		n.cut++
	} else if there > 0 && there < len(v.rows) {
		h.t.Errorf("%q, version %d: %d rows of %d", v.key, v.n, there, len(v.rows))
	}
	return there == len(v.rows)
}

// mayRepeat checks that a row which a sink that knows tokens has twice is one of
// those that may be. Two readers had its unit, and one of them found a member
// overwritten or gone: so its segment was another; or that member was the row's
// own, and was taken once more when it was put back, though the other had read it.
// Of what is cut, one range that is found overwritten has all of them taken once
// more.
func (h *history) mayRepeat(v *version, a *arrived) {
	h.t.Helper()
	units := slices.Compact(slices.Sorted(slices.Values(a.units)))
	calm := slices.DeleteFunc(slices.Clone(units), func(id unit.ID) bool { return h.ledger.units[id] })
	if len(calm) == len(units) && (!v.isCut() || len(units) == 1) || len(units) > 1 && v.puts == 1 {
		h.t.Errorf("%q, version %d: a row is there %d times, by %v, of which %v had all their members", v.key, v.n, len(a.units), a.units, calm)
	}
}

// long is when a version has been current for so long that it was read.
const long = 15 * time.Minute

// claimed compares what the ledger says of a version with whether all of its rows
// are there.
func (h *history) claimed(v *version, all bool, n *tally) {
	h.t.Helper()
	held, err := h.ledger.Claimed(h.t.Context(), live, v.object.ID())
	if err != nil {
		h.t.Errorf("%q, version %d: %v", v.key, v.n, err)
		return
	}
	it, err := h.ledger.Look(h.t.Context(), ledger.Ref{Job: live, Run: 1, ID: held.Unit})
	if err != nil && !errors.Is(err, ledger.ErrNoUnit) {
		h.t.Fatal(err)
	}
	current := h.current[v.key] == v
	if all {
		n.read++
	}
	if current {
		n.current++
	}
	switch {
	case (current || v.stood > long || h.bucket.Versioned) && !all:
		h.t.Errorf("%q, version %d stood for %v, and is not read: %+v, unit %s", v.key, v.n, v.stood, held, it.State)
	case held.Overwritten:
		n.overwritten++
	case all:
	case it.State == ledger.Dead && slices.ContainsFunc(it.Cause.Objects, func(o unit.Object) bool { return o.ID() == v.object.ID() }):
		n.dead++
	case it.State == ledger.Done && v.isCut(): // its first range; another was not there any more
	default:
		h.t.Errorf("%q, version %d of %d bytes is not read, though put %d times, and unit %s is %s: claim %+v, item %+v", v.key, v.n, len(v.data), v.puts, held.Unit, it.State, held, it)
	}
}
