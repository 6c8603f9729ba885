package ledgertest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spate-go/spate/pkg/ledger"
)

var enters = []sharedTest{
	{"a unit is entered as open, with claims on what is in it", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.entry(1, 0, 0, 1, 2))
		b.enters(s, b.entry(1, 1, 3))
		for u := range 2 {
			it := b.item(1, u)
			b.recent("entered", it.Entered, 0)
			b.equal("item", bare(it), ledger.Item{Planned: planned(u), Run: 1, State: ledger.Open})
			b.equal("touched and ended", !it.Touched.IsZero() || !it.Ended.IsZero(), false)
		}
		for n, u := range []int{0, 0, 0, 1} {
			b.equal("claim", b.holds(s, n), ledger.Held{Claim: claim(u, n)})
		}
		b.equal("census", b.census(1), ledger.Census{Open: 2})
		b.equal("planned", b.meta().Planned, 0)
	}},
	{"what others hold comes back with its place, and nothing is entered", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.entry(1, 0, 0, 1))
		b.enters(s, b.entry(1, 1, 2))
		b.refused(s, b.entry(1, 2, 3, 1, 4, 2, 5),
			ledger.Held{Claim: claim(0, 1), Index: 1}, ledger.Held{Claim: claim(1, 2), Index: 3})
		b.enters(s, b.entry(1, 2, 3, 4, 5)) // without them
		b.equal("claim", b.holds(s, 1), ledger.Held{Claim: claim(0, 1)})
	}},
	{"as many as fit are entered at once, or none of them", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		all := make([]int, ledger.MaxClaims)
		for i := range all {
			all[i] = i
		}
		b.enters(s, b.entry(1, 0, 97))
		b.refused(s, b.entry(1, 1, all...), ledger.Held{Claim: claim(0, 97), Index: 97})
		all[97] = 200
		b.enters(s, b.entry(1, 1, all...))
		b.equal("claim", b.holds(s, 98), ledger.Held{Claim: claim(1, 98)})
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"more claims than fit are refused, and nothing is entered", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		all := make([]int, ledger.MaxClaims+1)
		for i := range all {
			all[i] = i
		}
		if _, err := s.Enter(b.ctx, b.entry(1, 0, all...)); err == nil {
			b.Error("no error")
		}
		_, err := s.Claimed(b.ctx, b.job, object(0))
		b.is(err, ledger.ErrNoClaim)
		b.equal("items", len(b.items(1)), 0)
	}},
	{"the same entry may be entered again, and changes nothing", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		e := b.entry(1, 0, 0, 1)
		b.enters(s, e)
		it, since := b.item(1, 0), b.since(s, 0)
		b.lapse(aWhile)
		e.Units[0].Body = []byte("other")
		b.enters(s, e)
		b.equal("item", b.item(1, 0), it)
		b.equal("since", b.since(s, 0), since)
		b.equal("body", string(b.look(s, 0).Body), string(published(0).Body))
		b.begun(1, 0)
		it = b.item(1, 0)
		b.enters(s, e)
		b.equal("item, begun", b.item(1, 0), it)
	}},
	{"units that ended stay as they are where they are entered again", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.done(1, 0)
		b.killed(1, 1)
		done, dead := b.look(s, 0), b.look(s, 1)
		for u := range 2 {
			b.enters(s, b.entry(1, u, u))
		}
		b.equal("done", b.look(s, 0), done)
		b.equal("dead", b.look(s, 1), dead)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Dead: 1, Counts: one})
		b.equal("progress", b.progress(1).Tally, ledger.Tally{Done: 1, Dead: 1})
	}},
	{"claims and units of an earlier run stand", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.done(1, 1)
		b.over()
		b.opened(s, "t2")
		b.refused(s, b.entry(2, 2, 1), ledger.Held{Claim: claim(1, 1)})
		b.enters(s, b.entry(2, 0, 0))
		b.equal("run", b.look(s, 0).Run, 1)
		b.equal("census", b.census(2), ledger.Census{Unlisted: 1})
	}},
	{"a run that is not running, is another or is listed takes none", func(b bench, s ledger.Shared) {
		refused := func(run int) {
			b.Helper()
			_, err := s.Enter(b.ctx, b.entry(run, 7, 7))
			b.is(err, ledger.ErrState)
			_, err = s.Claimed(b.ctx, b.job, object(7))
			b.is(err, ledger.ErrNoClaim)
			_, err = s.Look(b.ctx, b.ref(run, 7))
			b.is(err, ledger.ErrNoUnit)
		}
		b.opened(s, "t1")
		refused(2)
		refused(0)
		b.over()
		refused(1)
		b.opened(s, "t2")
		refused(1)
		b.ok(b.Conclude(b.ctx, b.job, 2, 0, ledger.Cancelled))
		b.running("t3", 1)
		refused(3)
	}},
	{"a halted run takes units: they are open until it is resumed", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.halts(denied, true, &denied)
		b.enters(s, b.entry(1, 0, 0))
		b.equal("census", b.census(1), ledger.Census{Open: 1})
	}},
	{"what a caller changes in what it gave or got does not show", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		e := b.entry(1, 0, 0)
		b.enters(s, e)
		clear(e.Units[0].Body)
		e.Claims[0].Unit = "other"
		clear(b.look(s, 0).Body)
		b.equal("body", string(b.look(s, 0).Body), string(published(0).Body))
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0)})
	}},
	{"keys are any text, and bodies any bytes", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		e := b.entry(1, 0, 0)
		e.Units[0].FirstKey, e.Units[0].Body = "in/\xff\x00\u2028\ufffe<&>", noise(3, 180<<10)
		b.enters(s, e)
		it := b.look(s, 0)
		b.equal("key", it.FirstKey, e.Units[0].FirstKey)
		b.equal("body", it.Body, e.Units[0].Body)
	}},
}

// many is how many units an object is cut into that is not entered at once.
const many = ledger.MaxEntry + 20

var cuts = []sharedTest{
	{"an object in more units than are entered at once is claimed for the first", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		for range 2 { // its answer was lost
			b.enters(s, b.cut(1, 0, many))
		}
		b.equal("census", b.census(1), ledger.Census{Open: many})
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0)})
		b.equal("body of the last", string(b.look(s, many-1).Body), string(published(many-1).Body))
	}},
	{"one that others hold is not entered, however many units it is", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.entry(1, many, 0))
		b.refused(s, b.cut(1, 0, many), ledger.Held{Claim: claim(many, 0)})
	}},
	{"after a crash between units and claim the rest is entered, and what was done meanwhile stays", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		part := b.cut(1, 0, 40)
		part.Claims = nil
		b.enters(s, part)
		b.begun(1, 1)
		b.done(1, 2)
		b.killed(1, 3)
		b.enters(s, b.cut(1, 0, many))
		b.equal("census", b.census(1), ledger.Census{Open: many - 2, Done: 1, Dead: 1, Counts: one})
		b.equal("serial", b.item(1, 1).Serial, 1)
		b.equal("claim", b.holds(s, 0), ledger.Held{Claim: claim(0, 0)})
	}},
	{"a few units of one object are entered with its claim", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		b.enters(s, b.cut(1, 0, 3))
		b.equal("census", b.census(1), ledger.Census{Open: 3})
		b.refused(s, b.entry(1, 9, 0), ledger.Held{Claim: claim(0, 0)})
	}},
}

var joint = []sharedTest{
	{"of two that claim the same objects at once, in either order, one enters all", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		for n := 0; n < 12; n += 2 {
			u := 2 * n
			entries := []ledger.Entry{b.entry(1, u, n, n+1), b.entry(1, u+1, n+1, n)}
			won := b.race(2, func(i int) (bool, error) {
				held, err := s.Enter(b.ctx, entries[i])
				if len(held) == 1 {
					b.Errorf("half of it is held: %+v", held)
				}
				return len(held) == 0, err
			})
			b.equal("entered by", won, 1)
			b.equal("unit", b.holds(s, n).Unit, b.holds(s, n+1).Unit)
		}
		b.equal("census", b.census(1), ledger.Census{Open: 6})
	}},
	{"of many that enter the same unit at once, all have entered it", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		won := b.race(6, func(int) (bool, error) {
			held, err := s.Enter(b.ctx, b.entry(1, 0, 0, 1, 2))
			return len(held) == 0, err
		})
		b.equal("entered by", won, 6)
		b.equal("census", b.census(1), ledger.Census{Open: 1})
	}},
	{"of many that take an overwritten object again at once, one gets it", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.overwrites(s, 0, b.begun(1, 0).Serial, version(0, 0))
		won := b.race(6, func(i int) (bool, error) {
			held, err := s.Enter(b.ctx, b.taking(1, 1, 10+i, 0))
			return len(held) == 0, err
		})
		b.equal("entered by", won, 1)
		b.equal("census", b.census(1), ledger.Census{Open: 2})
	}},
	{"of intakes that get the same events in any company, each object goes into one unit", func(b bench, s ledger.Shared) {
		b.opened(s, "t1")
		const objects = 12
		var mu sync.Mutex
		var entered []ledger.Entry
		b.race(4, func(i int) (bool, error) {
			for from := 0; from < objects; from += 3 {
				mine := []int{(from + i) % objects, (from + i + 1) % objects, (from + i + 2) % objects, (from + 7*i + 5) % objects}
				slices.Sort(mine)
				mine = slices.Compact(mine)
				e := b.entry(1, 100*(i+1)+from, mine...)
				for {
					held, err := s.Enter(b.ctx, e)
					if err != nil {
						return false, err
					}
					if len(held) == 0 {
						mu.Lock()
						entered = append(entered, e)
						mu.Unlock()
						break
					}
					for _, h := range slices.Backward(held) {
						e.Claims = slices.Delete(e.Claims, h.Index, h.Index+1)
					}
					if len(e.Claims) == 0 {
						break
					}
				}
			}
			return true, nil
		})
		b.once(s, objects, entered)
	}},
}

// once checks that each object is in one of the units, which is the one that
// its claim names.
func (b bench) once(s ledger.Shared, objects int, entered []ledger.Entry) {
	b.Helper()
	in := map[string]string{}
	for _, e := range entered {
		for _, c := range e.Claims {
			if u, twice := in[string(c.ID)]; twice {
				b.Errorf("object %s is in %s and in %s", c.ID, u, c.Unit)
			}
			in[string(c.ID)] = string(c.Unit)
		}
	}
	for n := range objects {
		b.equal(fmt.Sprintf("unit of object %d", n), string(b.holds(s, n).Unit), in[string(object(n))])
	}
	b.equal("census", b.census(1), ledger.Census{Open: len(entered)})
}
