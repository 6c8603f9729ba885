package ledgertest

import (
	"github.com/spate-go/spate/pkg/ledger"
)

var progress = []subtest{
	{"Progress says how far the whole run is", func(b bench) {
		b.listing("t1")
		b.sent(1, page(0, 3))
		b.begun(1, 0)
		b.done(1, 0)
		p := b.progress(1)
		b.equal("before the end marker", p.Tally, ledger.Tally{Done: 1, Planned: 3})
		b.finished(1)
		b.killed(1, 1)
		_, err := b.Done(b.ctx, b.ref(1, 2), times(2, one))
		b.ok(err)
		p = b.progress(1)
		b.equal("progress", p, ledger.Progress{
			Tally:   ledger.Tally{Done: 2, Dead: 1, Planned: 3, Listed: true},
			Objects: 4, BytesRead: 3 * one.BytesRead, Records: 3 * one.In, Beat: p.Beat,
		})
	}},
	{"a unit that is done twice, or dead twice, counts once", func(b bench) {
		b.running("t1", 2)
		s := b.killed(1, 0)
		_, err := b.Dead(b.ctx, b.ref(1, 0), s, cause)
		b.ok(err)
		b.done(1, 1)
		b.done(1, 1)
		p := b.progress(1)
		b.equal("progress", p.Tally, ledger.Tally{Done: 1, Dead: 1, Planned: 2, Listed: true})
		b.equal("objects", p.Objects, int64(2))
		b.done(1, 0)
		b.equal("progress", b.progress(1).Tally, ledger.Tally{Done: 2, Planned: 2, Listed: true})
	}},
	{"the beat rises with what happens to units, and stands still when nothing does", func(b bench) {
		b.running("t1", 4)
		serial := b.begun(1, 2).Serial
		last := b.progress(1).Beat
		b.meta()
		b.census(1)
		b.items(1)
		b.ok(b.Joined(b.ctx, b.job, "chain-1"))
		b.equal("beat, nothing having happened", b.progress(1).Beat, last)
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"Touch", func() { b.ok(b.Touch(b.ctx, b.ref(1, 3))) }},
			{"Touch again", func() { b.ok(b.Touch(b.ctx, b.ref(1, 3))) }},
			{"Pause", func() { b.paused(1, 2, serial, place) }},
			{"Dead", func() { b.killed(1, 0) }},
			{"Done", func() { b.done(1, 1) }},
			{"Done of a dead one", func() { b.done(1, 0) }},
		} {
			step.do()
			now := b.progress(1).Beat
			if now <= last {
				b.Errorf("%s: beat %d, was %d", step.name, now, last)
			}
			last = now
		}
	}},
	{"Touch changes nothing but the beat", func(b bench) {
		b.running("t1", 2)
		b.begun(1, 0)
		b.done(1, 1)
		meta, items, census, p := b.meta(), b.items(1), b.census(1), b.progress(1)
		b.ok(b.Touch(b.ctx, b.ref(1, 0)))
		b.equal("meta", b.meta(), meta)
		b.equal("items", b.items(1), items)
		b.equal("census", b.census(1), census)
		b.equal("tally", b.progress(1).Tally, p.Tally)
	}},
	{"the next run's progress begins at nothing", func(b bench) {
		b.running("t1", 2)
		b.done(1, 0)
		b.killed(1, 1)
		b.over()
		b.listing("t2")
		b.equal("tally", b.progress(2).Tally, ledger.Tally{})
		b.sent(2, page(0, 2))
		b.equal("tally", b.progress(2).Tally, ledger.Tally{Done: 1, Planned: 2})
	}},
}
