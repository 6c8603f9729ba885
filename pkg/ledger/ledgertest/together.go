package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var together = []subtest{
	{"of many that halt a job at once, one set the flag", func(b bench) {
		b.running("t1", 1)
		b.equal("winners", b.race(8, func(int) (bool, error) { return b.Halt(b.ctx, b.job, denied) }), 1)
		b.equal("cleared by", b.race(8, func(int) (bool, error) { return b.Resume(b.ctx, b.job, failure.Denied) }), 1)
	}},
	{"of many that start a job at once, one begins a run", func(b bench) {
		started := b.race(8, func(n int) (bool, error) {
			_, err := b.Start(b.ctx, b.job, ledger.Start{Token: fmt.Sprint("t", n), Digests: digests})
			if errors.Is(err, ledger.ErrActive) {
				return false, nil
			}
			return err == nil, err
		})
		b.equal("started", started, 1)
		b.equal("run", b.meta().Run, 1)
	}},
	{"of many that lease a run at once, one lists it", func(b bench) {
		b.started("t1")
		leased := b.race(8, func(n int) (bool, error) {
			_, err := b.Lease(b.ctx, b.by(fmt.Sprint(n), 1))
			if errors.Is(err, ledger.ErrLeased) {
				return false, nil
			}
			return err == nil, err
		})
		b.equal("leased", leased, 1)
	}},
	{"of many that resume, redrive and ask at once, each asks for a send of its own", func(b bench) {
		b.running("t1", 4)
		for n := range 4 {
			b.killed(1, n)
		}
		before := b.meta()
		var mu sync.Mutex
		opened := 0
		b.race(4, func(int) (bool, error) {
			n, err := b.Redrive(b.ctx, b.job, 1)
			mu.Lock()
			defer mu.Unlock()
			opened += n
			return true, err
		})
		m := b.meta()
		b.equal("ask", m.Ask, before.Ask+4)
		b.equal("census", b.census(1), ledger.Census{Open: 4})
		b.equal("tally", b.progress(1).Tally, ledger.Tally{Planned: 4, Listed: true})
		b.equal("opened", opened, 4)
	}},
	{"of many that begin a unit at once, each has a serial of its own and one may write", func(b bench) {
		b.running("t1", 1)
		serials := make([]int, 8)
		b.race(8, func(n int) (bool, error) {
			it, err := b.Begin(b.ctx, b.ref(1, 0), 1, 100)
			serials[n] = it.Serial
			return true, err
		})
		distinct := map[int]bool{}
		for _, s := range serials {
			distinct[s] = true
		}
		b.equal("serials", len(distinct), 8)
		wrote := b.race(8, func(n int) (bool, error) {
			err := b.RestDone(b.ctx, b.ref(1, 0), serials[n], one)
			if errors.Is(err, ledger.ErrFenced) {
				return false, nil
			}
			return true, err
		})
		b.equal("wrote", wrote, 1)
	}},
	{"readers, a lister and a prover at once lose nothing and count nothing twice", func(b bench) { b.jointly() }},
}

// race calls f n times at once, and returns how often it was true.
func (b bench) race(n int, f func(int) (bool, error)) (yes int) {
	b.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			is, err := f(i)
			if err != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if is {
				yes++
			}
		})
	}
	wg.Wait()
	return yes
}

// jointly lets four readers work through pages as they come, each unit in the
// hands of two of them, while a prover watches.
func (b bench) jointly() {
	const pages, each = 6, 6
	m := b.listing("t1")
	feed := make(chan unit.ID, 2*pages*each)
	watched := make(chan struct{})
	var workers, prover sync.WaitGroup
	prover.Go(func() { b.watch(watched) })
	for n := range 4 {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for id := range feed {
				b.read(r, ledger.Ref{Job: b.job, Run: m.Run, ID: id})
			}
		})
	}
	for n := range pages {
		p := page(n*each, (n+1)*each)
		for range 2 { // the answer was lost: the page is repeated, and sent again
			_, ids, err := b.Publish(b.ctx, b.lister(m.Run), p)
			if err != nil {
				b.Error(err)
			}
			for _, id := range ids {
				feed <- id
			}
		}
		if err := b.Advance(b.ctx, b.lister(m.Run), p); err != nil {
			b.Error(err)
		}
	}
	if err := b.Finish(b.ctx, b.lister(m.Run)); err != nil {
		b.Error(err)
	}
	close(feed)
	workers.Wait()
	close(watched)
	prover.Wait()
	for n := range pages * each {
		b.done(m.Run, n)
	}
	m = b.meta()
	b.equal("planned", m.Planned, pages*each)
	b.equal("tally", b.progress(m.Run).Tally, ledger.Tally{Done: pages * each, Planned: pages * each, Listed: true})
	b.equal("census", b.census(m.Run), ledger.Census{Done: pages * each, Counts: times(pages*each, one)})
	b.ok(b.Conclude(b.ctx, b.job, m.Run, m.Generation, ledger.Completed))
}

// read is one delivery: it may finish the unit, fail, give up or give back.
func (b bench) read(r *rand.Rand, ref ledger.Ref) {
	it, err := b.Begin(b.ctx, ref, 1, 3)
	if err == nil && it.State == ledger.Open {
		switch r.IntN(5) {
		case 0:
			_, err = b.Dead(b.ctx, ref, it.Serial, cause)
		case 1:
			err = b.GiveBack(b.ctx, ref, it.Serial)
		case 2:
			err = b.Fault(b.ctx, ref, it.Serial, ledger.Fault{Member: r.IntN(3)})
		case 3:
			err = b.Pause(b.ctx, ref, it.Serial, place, one)
		default:
			_, err = b.Done(b.ctx, ref, one)
		}
	}
	if err != nil && !errors.Is(err, ledger.ErrFenced) {
		b.Error(err)
	}
}

// watch checks what holds at every moment: done never falls, nor generation.
func (b bench) watch(end <-chan struct{}) {
	var last ledger.Census
	var generation int
	for range 200 { // a look at a ledger far away takes its time
		m, err := b.Meta(b.ctx, b.job)
		if err != nil {
			b.Error(err)
		}
		c, err := b.Prove(b.ctx, b.job, m.Run)
		if err != nil {
			b.Error(err)
		}
		if c.Done < last.Done || m.Generation < generation {
			b.Errorf("after %+v at generation %d came %+v at %d", last, generation, c, m.Generation)
		}
		if all := c.Done + c.Dead + c.Open; all < m.Planned {
			b.Errorf("%d units planned, then %d counted", m.Planned, all)
		}
		last, generation = c, m.Generation
		select {
		case <-end:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
