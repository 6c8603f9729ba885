package ledgertest

import (
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// fenced are the writes that only the last start of work may make.
func (b bench) fenced(run, n, serial int) map[string]error {
	r := b.ref(run, n)
	_, dead := b.Dead(b.ctx, r, serial, cause)
	return map[string]error{
		"Fault":     b.Fault(b.ctx, r, serial, ledger.Fault{Member: 9, Record: 9, Reason: failure.Undecodable}),
		"RestDone":  b.RestDone(b.ctx, r, serial, one),
		"Recovered": b.Recovered(b.ctx, r, serial, 1, one),
		"Pause":     b.Pause(b.ctx, r, serial, ledger.Cursor{Segment: 99}, one),
		"GiveBack":  b.GiveBack(b.ctx, r, serial),
		"Dead":      dead,
	}
}

// refuses checks that no fenced write passes, and that none changes the item.
func (b bench) refuses(run, n, serial int) {
	b.Helper()
	before, census, tally := b.items(run), b.census(run), b.meta()
	for method, err := range b.fenced(run, n, serial) {
		b.is(err, ledger.ErrFenced)
		if err == nil || !strings.Contains(err.Error(), string(id(n))) {
			b.Errorf("%s: the error does not name the unit: %v", method, err)
		}
	}
	b.equal("items", b.items(run), before)
	b.equal("census", b.census(run), census)
	b.equal("meta", b.meta(), tally)
}

var fences = []subtest{
	{"a reader is refused once another started", func(b bench) {
		b.running("t1", 1)
		first := b.begun(1, 0).Serial
		b.ok(b.Fault(b.ctx, b.ref(1, 0), first, ledger.Fault{Member: 1, Record: 3}))
		b.begun(1, 0)
		b.refuses(1, 0, first)
	}},
	{"a serial that was never given is refused", func(b bench) {
		b.running("t1", 1)
		b.refuses(1, 0, 1)
		b.refuses(1, 0, 0) // not even before the first
		b.begun(1, 0)
		b.refuses(1, 0, 2)
		b.refuses(1, 0, 0)
	}},
	{"a reader is refused once the unit is done", func(b bench) {
		b.running("t1", 1)
		b.begun(1, 0)
		second := b.begun(1, 0).Serial
		b.done(1, 0) // by the first
		b.refuses(1, 0, second)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Counts: one})
	}},
	{"a dead unit takes nothing but done from its reader", func(b bench) {
		b.running("t1", 1)
		serial := b.killed(1, 0)
		before := b.items(1)
		for method, err := range b.fenced(1, 0, serial) {
			if method == "Dead" {
				b.ok(err) // a repetition
				continue
			}
			b.is(err, ledger.ErrFenced)
		}
		b.equal("items", b.items(1), before)
		b.refuses(1, 0, serial+1)
	}},
	{"the fault that two readers found stands at the lower record", func(b bench) {
		b.running("t1", 1)
		first := b.begun(1, 0).Serial
		b.ok(b.Fault(b.ctx, b.ref(1, 0), first, ledger.Fault{Member: 1, Record: 1, Reason: failure.ETagDrift}))
		second := b.begun(1, 0).Serial
		low := ledger.Fault{Member: 1, Record: 0, Reason: failure.NotFound, Detail: "gone"}
		b.ok(b.Fault(b.ctx, b.ref(1, 0), second, low))
		b.is(b.Fault(b.ctx, b.ref(1, 0), first, ledger.Fault{Member: 1, Record: 1}), ledger.ErrFenced)
		b.is(b.RestDone(b.ctx, b.ref(1, 0), first, one), ledger.ErrFenced)
		b.equal("faults", b.item(1, 0).Faults, []ledger.Fault{low})
		b.equal("rest done", b.item(1, 0).RestDone, false)
		b.ok(b.Fault(b.ctx, b.ref(1, 0), second, ledger.Fault{Member: 1, Record: 5}))
		b.equal("faults", b.item(1, 0).Faults, []ledger.Fault{low})
	}},
	{"faults of several members stand side by side, each once", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		all := []ledger.Fault{{Member: 4, Record: 0, Reason: failure.NotFound}, {Member: 2, Record: 7, Reason: failure.Undecodable}}
		for range 2 {
			for _, f := range all {
				b.ok(b.Fault(b.ctx, b.ref(1, 0), s, f))
			}
		}
		got := b.begun(1, 0).Faults
		slices.SortFunc(got, func(a, b ledger.Fault) int { return b.Member - a.Member })
		b.equal("faults", got, all)
	}},
	{"RestDone marks the rest and says what the unit amounts to", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.ok(b.Fault(b.ctx, b.ref(1, 0), s, ledger.Fault{Member: 1}))
		for range 2 {
			b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		}
		it := b.begun(1, 0)
		b.equal("rest done", it.RestDone, true)
		b.equal("counts", it.Counts, one)
		b.equal("faults", len(it.Faults), 1)
		b.equal("census, of the done ones", b.census(1), ledger.Census{Open: 1})
	}},
	{"Recovered takes one member off the faults and says what the unit amounts to", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		for m := range 3 {
			b.faulty(1, 0, s, ledger.Fault{Member: m, Record: int64(m)})
		}
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		for range 2 {
			b.ok(b.Recovered(b.ctx, b.ref(1, 0), s, 1, times(2, one)))
		}
		it := b.item(1, 0)
		b.equal("faults", ordered(it).Faults, []ledger.Fault{{Member: 0, Record: 0}, {Member: 2, Record: 2}})
		b.equal("counts", it.Counts, times(2, one))
		b.equal("rest done", it.RestDone, true)
		for i, m := range []int{0, 2} {
			b.ok(b.Recovered(b.ctx, b.ref(1, 0), s, m, times(3+i, one)))
		}
		it = b.item(1, 0)
		b.equal("faults", len(it.Faults), 0)
		b.equal("counts", it.Counts, times(4, one))
	}},
	{"what counts nothing leaves nothing of the counts before", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, one))
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, ledger.Counts{BytesRead: 1}))
		b.equal("counts", b.item(1, 0).Counts, ledger.Counts{BytesRead: 1})
	}},
	{"a message of an earlier run writes nothing in the next but done", func(b bench) {
		b.running("t1", 1)
		it := b.lastly(1, 0)
		b.over()
		b.running("t2", 1)
		before := b.items(2)
		for _, err := range b.fenced(1, 0, it.Serial) {
			b.is(err, ledger.ErrFenced)
		}
		b.equal("items", b.items(2), before)
		b.equal("census", b.census(2), ledger.Census{Open: 1})
		b.done(1, 0) // what it finished is finished
		b.equal("census", b.census(2), ledger.Census{Done: 1, Counts: one})
	}},
	{"what a caller changes in what it gave or got does not show", func(b bench) {
		b.running("t1", 1)
		s := b.begun(1, 0).Serial
		given := times(1, one)
		b.ok(b.Fault(b.ctx, b.ref(1, 0), s, ledger.Fault{Member: 1}))
		b.ok(b.RestDone(b.ctx, b.ref(1, 0), s, given))
		given.Sinks["main"] = ledger.SinkCounts{Records: 99}
		c := cause
		c.Objects, c.Faults = slices.Clone(cause.Objects), slices.Clone(cause.Faults)
		_, err := b.Dead(b.ctx, b.ref(1, 0), s, c)
		b.ok(err)
		c.Objects[0].Key, c.Faults[0].Member = "other", 6
		want := ledger.Item{
			Planned: planned(0), Run: 1, State: ledger.Dead, Serial: 1, Attempts: 1,
			Faults: []ledger.Fault{{Member: 1}}, RestDone: true, Counts: one, Cause: &cause,
		}
		for range 2 {
			for _, it := range []ledger.Item{b.item(1, 0), b.begun(1, 0)} {
				b.equal("item", it, want)
				it.Faults[0].Member = 5
				it.Counts.Sinks["main"] = ledger.SinkCounts{Records: 98}
				it.Cause.Objects[0].Key = "another"
				it.Cause.Faults[0].Member = 7
				it.Cause.Detail = "none"
			}
		}
	}},
}
