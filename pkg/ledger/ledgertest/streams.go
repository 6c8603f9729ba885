package ledgertest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
)

// streams is what the interfaces of listed jobs say of continuous ones.
var streams = []sharedTest{
	{"units end as any do, and say when", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.begun(1, 0)
		b.lapse(aWhile)
		b.tells(b.done(1, 0), ledger.Tally{Done: 1})
		b.killed(1, 1)
		it := b.item(1, 1)
		b.recent("dead", it.Ended, aWhile)
		b.recent("done", b.look(s, 0).Ended, aWhile)
		b.equal("item", bare(it), ledger.Item{Planned: planned(1), Run: 1, State: ledger.Dead, Serial: 1, Attempts: 1, Cause: &cause})
		b.lapse(aWhile)
		b.done(1, 1) // late
		b.recent("done at last", b.look(s, 1).Ended, 2*aWhile)
		b.equal("census", b.census(1), ledger.Census{Done: 2, Counts: times(2, one)})
	}},
	{"a redrive opens dead units, which have not ended then", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		entered := b.look(s, 0).Entered
		serial := b.killed(1, 0)
		m := b.redriven(1, 1)
		b.equal("state", m.State, ledger.Running)
		b.equal("waits", b.waits(), true)
		it := b.look(s, 0)
		b.equal("ended", it.Ended, time.Time{})
		b.equal("entered", it.Entered, entered)
		b.equal("body", string(it.Body), string(published(0).Body))
		if it.Serial <= serial || it.State != ledger.Open || it.Attempts != 0 {
			b.Errorf("item %+v", it)
		}
		b.refuses(1, 0, serial)
		b.done(1, 0)
		b.equal("progress", b.progress(1).Tally, ledger.Tally{Done: 1})
	}},
	{"counters count, and are settled never", func(b bench, s ledger.Shared) {
		b.streams(s, 3)
		b.equal("progress", b.progress(1).Tally, ledger.Tally{})
		b.done(1, 0)
		b.done(1, 0)
		b.killed(1, 1)
		last := b.done(1, 2)
		if last.Settled() {
			b.Errorf("tally %+v", last)
		}
		p := b.progress(1)
		b.equal("progress", p, ledger.Progress{
			Tally: ledger.Tally{Done: 2, Dead: 1}, Objects: 4, BytesRead: 2 * one.BytesRead, Records: 2 * one.In, Beat: p.Beat,
		})
		b.equal("settled", p.Settled(), false)
		b.ok(b.Touch(b.ctx, b.ref(1, 1)))
		if now := b.progress(1).Beat; now <= p.Beat {
			b.Errorf("beat %d, was %d", now, p.Beat)
		}
	}},
	{"nothing proves it complete, whatever is done", func(b bench, s ledger.Shared) {
		b.streams(s, 2)
		b.done(1, 0)
		b.done(1, 1)
		c := b.census(1)
		b.equal("census", c, ledger.Census{Done: 2, Counts: times(2, one)})
		b.equal("complete", c.Complete(b.meta()), false)
		b.equal("complete, of nothing", (ledger.Census{}).Complete(b.meta()), false)
	}},
	{"Unfinished and Pending need no plan", func(b bench, s ledger.Shared) {
		b.streams(s, 5)
		b.done(1, 0)
		b.killed(1, 1)
		b.begun(1, 2)
		b.paused(1, 3, b.begun(1, 3).Serial, place)
		b.equal("pending", b.pending(s, 1), []ledger.Planned{published(2), published(3), published(4)})
		b.equal("pending of another run", len(b.pending(s, 2)), 0)
		b.equal("unfinished", len(b.items(1)), 4)
		b.equal("due", named(b.due(s, 1)), ids(3))
		for _, u := range []int{1, 2} {
			body, err := s.Body(b.ctx, b.ref(1, u))
			b.ok(err)
			b.equal("body", string(body), string(published(u).Body))
		}
		b.redriven(1, 1)
		b.equal("pending", len(b.pending(s, 1)), 4)
	}},
	{"a job that is cancelled takes no more, and what was entered stays", func(b bench, s ledger.Shared) {
		m := b.streams(s, 3)
		b.done(1, 0)
		b.killed(1, 1)
		serial := b.begun(1, 2).Serial
		b.is(b.Conclude(b.ctx, b.job, 1, m.Generation+1, ledger.Cancelled), ledger.ErrState)
		b.ok(b.Conclude(b.ctx, b.job, 1, m.Generation, ledger.Cancelled))
		m = b.meta()
		b.equal("state", m.State, ledger.Cancelled)
		b.recent("ended", m.Ended, 0)
		_, err := s.Enter(b.ctx, b.entry(1, 5, 5))
		b.is(err, ledger.ErrState)
		_, err = b.Redrive(b.ctx, b.job, 1)
		b.is(err, ledger.ErrState)
		b.halts(denied, false, nil)
		b.equal("census", b.census(1), ledger.Census{Done: 1, Dead: 1, Open: 1, Counts: one})
		b.ok(b.RestDone(b.ctx, b.ref(1, 2), serial, one))
		b.done(1, 2) // what was read is read
		b.equal("census", b.census(1), ledger.Census{Done: 2, Dead: 1, Counts: times(2, one)})
	}},
	{"in the next run the units of the last one are not begun", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		b.over()
		b.opened(s, "t2")
		_, err := b.Begin(b.ctx, b.ref(1, 0), 1, 10)
		b.is(err, ledger.ErrState)
		b.equal("serial", b.begun(2, 0).Serial, 0)
	}},
	{"resends asks for a send, and halt and resume are those of any job", func(b bench, s ledger.Shared) {
		m := b.streams(s, 1)
		b.ok(s.Resend(b.ctx, b.job, 1, m.Generation, 0))
		b.equal("waits", b.waits(), true)
		b.ok(s.Swept(b.ctx, b.job, 1, b.meta().Ask))
		b.halts(down, true, &down)
		b.halts(denied, true, &denied)
		b.resumes(failure.SinkDown, false, &denied)
		b.resumes(failure.Denied, true, nil)
		b.equal("waits", b.waits(), true)
	}},
	{"what flows is remembered from one look to the next", func(b bench, s ledger.Shared) {
		b.streams(s, 1)
		want := ledger.Watch{
			Run: 1, Beat: 7, Since: time.Unix(1_800_000_000, 1_000_000).UTC(), Probe: id(3),
			At:        time.Unix(1_800_000_060, 2_000_000).UTC(),
			Flow:      ledger.Flow{Units: 1, Objects: 2 << 33, Bytes: 3 << 50, Records: 4 << 40},
			PerMinute: ledger.Flow{Units: 5, Objects: 6, Bytes: 7 << 40, Records: 8},
		}
		for _, w := range []ledger.Watch{want, {At: want.At}, {Flow: want.Flow}, {}} {
			b.ok(s.Watched(b.ctx, b.job, w))
			got, err := s.Watch(b.ctx, b.job)
			b.ok(err)
			b.equal("watch", got, w)
		}
	}},
	{"intakes, readers and a schedule at once lose nothing and count nothing twice", func(b bench, s ledger.Shared) { b.flow(s) }},
}

// flow lets two intakes enter the same objects, four readers read what is entered,
// each unit in the hands of two of them, and a schedule send again.
func (b bench) flow(s ledger.Shared) {
	const units = 24
	b.opened(s, "t1")
	feed := make(chan int, 4*units)
	var intakes, readers sync.WaitGroup
	for range 2 {
		intakes.Go(func() {
			for u := range units {
				held, err := s.Enter(b.ctx, b.entry(1, u, 2*u, 2*u+1))
				if err != nil || len(held) > 0 {
					b.Errorf("unit %d: held %+v, %v", u, held, err)
				}
				feed <- u
			}
		})
	}
	for n := range 4 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(n)))
			for u := range feed {
				if r.IntN(4) == 0 {
					if err := s.Repeat(b.ctx, b.ref(1, u), 0); err != nil && !errors.Is(err, ledger.ErrFenced) {
						b.Error(err)
					}
				}
				b.read(r, b.ref(1, u))
			}
		})
	}
	intakes.Wait()
	close(feed)
	readers.Wait()
	for u := range units {
		b.done(1, u)
	}
	b.equal("tally", b.progress(1).Tally, ledger.Tally{Done: units})
	b.equal("census", b.census(1), ledger.Census{Done: units, Counts: times(units, one)})
	b.backlog(s, 1, 0, 0)
}
