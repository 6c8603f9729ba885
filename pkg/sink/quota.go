package sink

import "sync"

// Quota bounds the bytes to be written. It is safe for concurrent use.
type Quota struct {
	mu       sync.Mutex
	left     int64  // guarded by mu
	admitted Tokens // guarded by mu
}

// NewQuota returns a quota of that many bytes.
func NewQuota(bytes int64) *Quota { return &Quota{left: bytes} }

// Admit charges a block to the quota, once for all its attempts, and reports
// whether it fits. A block is admitted whole or not at all; one that does not
// fit is not charged.
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
