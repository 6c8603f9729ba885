package reader

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/ledger"
)

// metas caches the metas of jobs for a while, so that a stream of small units
// does not read the job's item for each of them.
type metas struct {
	ledger ledger.Worker
	keep   time.Duration

	mu   sync.Mutex
	jobs map[string]known // guarded by mu
}

type known struct {
	ledger.Meta
	until time.Time
}

// get returns the job's meta, and whether it was read just now.
func (m *metas) get(ctx context.Context, job string) (_ ledger.Meta, fresh bool, err error) {
	m.mu.Lock()
	k, ok := m.jobs[job]
	m.mu.Unlock()
	if ok && time.Now().Before(k.until) {
		return k.Meta, false, nil
	}
	meta, err := m.read(ctx, job)
	return meta, true, err
}

// read reads the job's meta from the ledger and caches it.
func (m *metas) read(ctx context.Context, job string) (ledger.Meta, error) {
	until := time.Now().Add(m.keep) // from before the call: the answer may be as old as that
	meta, err := ledger.Ask(ctx, func() (ledger.Meta, error) { return m.ledger.Meta(ctx, job) })
	if err != nil || m.keep == 0 {
		return meta, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.jobs, func(_ string, k known) bool { return !time.Now().Before(k.until) })
	if m.jobs == nil {
		m.jobs = map[string]known{}
	}
	m.jobs[job] = known{meta, until}
	return meta, nil
}

// forget drops the meta of a job that was just changed here.
func (m *metas) forget(job string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, job)
}

// change applies to a cached meta what this process has written to the job.
func (m *metas) change(job string, change func(*ledger.Meta)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.jobs[job]; ok {
		change(&k.Meta)
		m.jobs[job] = k
	}
}
