package sink

import (
	"cmp"
	"sync"
	"time"
)

// Outcome is what a call that a Breaker admitted says about the endpoint.
type Outcome int

// The outcomes.
const (
	// Answered is any response of a healthy endpoint, a refusal of these rows
	// included.
	Answered Outcome = iota + 1
	// Failed is no response, or one that says that the endpoint is not healthy.
	Failed
	// Abandoned says nothing about the endpoint: the caller gave up.
	Abandoned
)

// BreakerOptions tune a Breaker. The zero value is usable.
type BreakerOptions struct {
	Failures int           // failures in a row that open it; 0 means 3
	Open     time.Duration // how long it then admits nothing; 0 means 5 s
}

// Breaker is a circuit breaker: it keeps calls away from an endpoint that does
// not respond. After Failures failures in a row it opens and admits none; after
// Open it admits one, the probe, whose outcome closes it or opens it again. It
// is safe for concurrent use. It neither calls nor waits itself.
//
// The law: an endpoint that is down gets one call per Open, from whichever
// caller comes first, and not one from each.
type Breaker struct {
	o BreakerOptions

	mu       sync.Mutex
	failures int       // guarded by mu; in a row
	until    time.Time // guarded by mu; open until then, once failures are enough
	probing  bool      // guarded by mu
}

// NewBreaker returns a closed breaker.
func NewBreaker(o BreakerOptions) *Breaker {
	o.Failures = cmp.Or(max(o.Failures, 0), 3)
	o.Open = cmp.Or(max(o.Open, 0), 5*time.Second)
	return &Breaker{o: o}
}

// Admit reports whether a call may be made now. If so, its outcome is reported
// exactly once; a probe that is never reported would keep all others out.
func (b *Breaker) Admit() (report func(Outcome), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.o.Failures {
		return func(o Outcome) { b.report(o, false) }, true
	}
	if b.probing || time.Now().Before(b.until) {
		return nil, false
	}
	b.probing = true
	return func(o Outcome) { b.report(o, true) }, true
}

// report counts an outcome. Calls that were admitted before it opened may
// report late. A response closes it: that is what it waits for. A failure is no
// news, and only the probe's starts Open anew.
func (b *Breaker) report(o Outcome, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch o {
	case Answered:
		b.failures = 0
	case Failed:
		b.failures++
		if probe || b.failures == b.o.Failures {
			b.until = time.Now().Add(b.o.Open)
		}
	case Abandoned:
	}
}

// probed is how soon to look again while a probe is under way.
const probed = 100 * time.Millisecond

// Wait is how long Admit is sure to refuse; 0: it may admit now.
func (b *Breaker) Wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < b.o.Failures:
		return 0
	case b.probing:
		return probed
	}
	return max(time.Until(b.until), 0)
}
