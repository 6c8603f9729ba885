package memfeed

import (
	"cmp"
	"container/heap"
	"time"
)

// turns holds what is ready: a queue for each job, the jobs in turn.
type turns struct {
	n    int
	jobs map[string][]*entry // no empty ones
	ring []string            // jobs that have something ready, next first
}

func (t *turns) push(e *entry) {
	t.n++
	t.enlist(e.Job)
	t.jobs[e.Job] = append(t.jobs[e.Job], e)
}

// unpop puts back what pop took, before the rest of its job.
func (t *turns) unpop(e *entry) {
	t.n++
	t.enlist(e.Job)
	t.jobs[e.Job] = append([]*entry{e}, t.jobs[e.Job]...)
}

func (t *turns) enlist(job string) {
	if t.jobs == nil {
		t.jobs = map[string][]*entry{}
	}
	if len(t.jobs[job]) == 0 {
		t.ring = append(t.ring, job)
	}
}

// pop takes the next entry of the job whose turn it is; nil if none is ready.
func (t *turns) pop() *entry {
	if t.n == 0 {
		return nil
	}
	t.n--
	job := t.ring[0]
	t.ring = t.ring[1:]
	q := t.jobs[job]
	e := q[0]
	q[0] = nil // the array lives on, the body must not
	if len(q) == 1 {
		delete(t.jobs, job)
	} else {
		t.jobs[job] = q[1:]
		t.ring = append(t.ring, job)
	}
	return e
}

// schedule is a heap of the delayed messages: what is due first on top and, of
// two that are due at once, the one that failed first.
type schedule []*entry

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	return cmp.Or(s[i].due.Compare(s[j].due), cmp.Compare(s[i].failed, s[j].failed)) < 0
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(*entry)) }

func (s *schedule) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return e
}

// delay makes e due at a time. The caller holds the lock.
func (f *Feed) delay(e *entry, due time.Time) {
	f.failures++
	e.due, e.failed = due, f.failures
	heap.Push(&f.delayed, e)
}

// promote makes ready what is due. The caller holds the lock.
func (f *Feed) promote(now time.Time) {
	for f.delayed.Len() > 0 && !f.delayed[0].due.After(now) {
		f.ready.push(heap.Pop(&f.delayed).(*entry))
	}
}
