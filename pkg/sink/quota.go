package sink

import "sync"

// Quota is a number of bytes to write. It is safe for concurrent use.
type Quota struct {
	mu       sync.Mutex
	left     int64  // guarded by mu
	admitted Tokens // guarded by mu
}

// NewQuota returns a quota of so many bytes.
func NewQuota(bytes int64) *Quota { return &Quota{left: bytes} }

// Admit takes the bytes of a block from the quota, once for all its attempts,
// and reports whether they were in it. A block is admitted whole or not at all,
// and one that is not takes nothing.
func (q *Quota) Admit(token string, bytes int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.admitted.Has(token) {
		return true
	}
	if bytes > q.left {
		return false
	}
	q.left -= bytes
	q.admitted.Add(token)
	return true
}
