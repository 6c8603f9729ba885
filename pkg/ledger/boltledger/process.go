package boltledger

import (
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// process is what only this process knows: the starts of work on units that
// have not ended, the lister of each job, and how much happened. It grows with
// what was begun, not with what is planned.
type process struct {
	mu     sync.Mutex
	starts map[startKey]start // guarded by mu
	leases map[string]lease   // by job; guarded by mu
	beats  map[runKey]int64   // guarded by mu
}

type startKey struct {
	job string
	id  unit.ID
}

type runKey struct {
	job string
	run int
}

type start struct {
	run      int // the one that the attempts are of
	serial   int
	attempts int
	last     bool
	counted  bool // attempts includes the last start, which may be given back
}

type lease struct {
	run    int
	holder string
	until  time.Time
}

// lease returns the run's lease; the zero value if nobody has taken it.
func (p *process) lease(job string, run int) lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is := p.leases[job]; is.run == run {
		return is
	}
	return lease{}
}

// take makes c.Holder the run's lister until the given time, unless somebody
// else is its lister now. It returns the lease that stands then.
func (p *process) take(c ledger.Lease, now, until time.Time) lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.leases[c.Job]
	if is.run == c.Run && is.holder != c.Holder && now.Before(is.until) {
		return is
	}
	if p.leases == nil {
		p.leases = map[string]lease{}
	}
	is = lease{run: c.Run, holder: c.Holder, until: until}
	p.leases[c.Job] = is
	return is
}

// beat shows that something happened to the run's units.
func (p *process) beat(job string, run int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beats == nil {
		p.beats = map[runKey]int64{}
	}
	p.beats[runKey{job, run}]++
}

func (p *process) beaten(job string, run int) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beats[runKey{job, run}]
}

// onto completes an item of the file. An open one that this process has not
// begun has no attempts: those of a process that is gone do not count.
func (p *process) onto(job string, it *ledger.Item) {
	if it.State != ledger.Open {
		return
	}
	it.Attempts, it.Last = 0, false
	st, ok := p.start(job, it.ID)
	if !ok {
		return
	}
	it.Serial = st.serial
	if st.run == it.Run {
		it.Attempts, it.Last = st.attempts, st.last
	}
}

// begin notes the start of work that the item shows.
func (p *process) begin(job string, it ledger.Item) {
	p.set(job, it.ID, start{run: it.Run, serial: it.Serial, attempts: it.Attempts, last: it.Last, counted: true})
}

// giveBack takes the last start back, once.
func (p *process) giveBack(job string, id unit.ID) {
	st, _ := p.start(job, id)
	if st.counted {
		st.attempts, st.last, st.counted = st.attempts-1, false, false
		p.set(job, id, st)
	}
}

// forgive takes all starts back, but not their serial.
func (p *process) forgive(job string, id unit.ID) {
	if st, ok := p.start(job, id); ok {
		p.set(job, id, start{run: st.run, serial: st.serial})
	}
}

func (p *process) start(job string, id unit.ID) (start, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st, ok := p.starts[startKey{job, id}]
	return st, ok
}

func (p *process) set(job string, id unit.ID, st start) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starts == nil {
		p.starts = map[startKey]start{}
	}
	p.starts[startKey{job, id}] = st
}

// end forgets a unit that is done or dead.
func (p *process) end(job string, id unit.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.starts, startKey{job, id})
}
