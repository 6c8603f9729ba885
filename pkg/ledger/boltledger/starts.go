package boltledger

import (
	"sync"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

// starts are the starts of work of this process on units that have not ended. It
// grows with what was begun, not with what is planned.
type starts struct {
	mu sync.Mutex
	of map[startKey]start // guarded by mu
}

type startKey struct {
	job string
	id  unit.ID
}

type start struct {
	run      int // that the attempts are of
	serial   int
	attempts int
	last     bool
	counted  bool // attempts holds the last start, which may be given back
}

// onto completes an item of the file. Of an open one that this process has not
// begun, the attempts are those of a process that is gone: none.
func (s *starts) onto(job string, it *ledger.Item) {
	if it.State != ledger.Open {
		return
	}
	it.Attempts, it.Last = 0, false
	st, ok := s.get(job, it.ID)
	if !ok {
		return
	}
	it.Serial = st.serial
	if st.run == it.Run {
		it.Attempts, it.Last = st.attempts, st.last
	}
}

// begin notes a start of work that it shows.
func (s *starts) begin(job string, it ledger.Item) {
	s.set(job, it.ID, start{run: it.Run, serial: it.Serial, attempts: it.Attempts, last: it.Last, counted: true})
}

// giveBack takes the last start back, once.
func (s *starts) giveBack(job string, id unit.ID) {
	st, _ := s.get(job, id)
	if st.counted {
		st.attempts, st.last, st.counted = st.attempts-1, false, false
		s.set(job, id, st)
	}
}

func (s *starts) get(job string, id unit.ID) (start, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.of[startKey{job, id}]
	return st, ok
}

func (s *starts) set(job string, id unit.ID, st start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[startKey]start{}
	}
	s.of[startKey{job, id}] = st
}

// end forgets a unit that is done or dead.
func (s *starts) end(job string, id unit.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, startKey{job, id})
}
