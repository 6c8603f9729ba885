package lister_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// The calls that a lister makes.
var operations = []string{"List", "ReadRange", "Lease", "Publish", "Send", "Advance", "Finish"}

// fault lets calls of one operation fail from the one numbered at on: before they
// do anything, or after, so that only the answer is lost. It counts all calls.
type fault struct {
	op      string
	at      int // the first call to fail; 0: none
	applied bool
	span    int // how many calls fail; 0: one
	err     error
	dies    bool // all later calls of any operation fail too, none applied
	// wakes makes the call wait, before or after it does something, rather than
	// fail.
	wakes chan struct{}

	mu     sync.Mutex
	calls  map[string]int // guarded by mu
	struck bool           // guarded by mu
}

// around runs the call, or fails it, or both.
func (f *fault) around(op string, call func() error) error {
	switch hits, dead := f.hits(op); {
	case dead:
		return f.err
	case !hits:
		return call()
	case f.wakes != nil && f.applied:
		defer func() { <-f.wakes }()
		return call()
	case f.wakes != nil:
		<-f.wakes
		return call()
	case !f.applied:
		return f.err
	}
	if err := call(); err != nil {
		return err
	}
	return f.err
}

func (f *fault) hits(op string) (hits, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[op]++
	n := f.calls[op]
	dead = f.dies && f.struck
	hits = op == f.op && f.at > 0 && n >= f.at && n < f.at+max(f.span, 1)
	f.struck = f.struck || hits
	return hits, dead
}

// seen is how often the operations were called, of all of them without one.
func (f *fault) seen(ops ...string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for op, calls := range f.calls {
		if len(ops) == 0 || slices.Contains(ops, op) {
			n += calls
		}
	}
	return n
}

// actor is the world as one lister sees it, with the fault that it meets.
type actor struct {
	*world
	f *fault
}

func (a *actor) List(ctx context.Context, after string) (p object.Page, err error) {
	w := a.world
	err = a.f.around("List", func() error {
		if err := backoff.Wait(ctx, w.slow); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		i, found := slices.BinarySearchFunc(w.objects, after, func(o object.Listed, key string) int { return strings.Compare(o.Key, key) })
		if found {
			i++
		}
		end := min(i+w.size, len(w.objects))
		p = object.Page{Objects: w.objects[i:end], Last: after, More: end < len(w.objects)}
		if end > i {
			p.Last = w.objects[end-1].Key
		}
		return nil
	})
	return p, err
}

func (a *actor) Pin(o unit.Object) object.Pinned { return pinned{a.world, a.f, o} }

type pinned struct {
	w *world
	f *fault
	o unit.Object
}

func (p pinned) Close() error {
	if slices.Contains(p.w.changed, p.o.Key) {
		return failure.New(failure.Member, failure.ETagDrift, errors.New("changed while it was read"))
	}
	return nil
}

// counted is a body that says when it is closed.
type counted struct {
	io.Reader
	w *world
}

func (c counted) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.reading--
	return nil
}

func (p pinned) ReadRange(_ context.Context, off, n int64) (body io.ReadCloser, err error) {
	err = p.f.around("ReadRange", func() error {
		p.w.mu.Lock()
		p.w.asked = append(p.w.asked, fmt.Sprintf("%s %s %d+%d", p.o.Key, p.o.ETag, off, n))
		head, ok := p.w.heads[p.o.Key]
		p.w.mu.Unlock()
		b := bytes.Repeat([]byte("x"), int(n))
		if ok {
			if b, err = head(); err != nil {
				return err
			}
		}
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		p.w.reading++
		body = counted{bytes.NewReader(b), p.w}
		return nil
	})
	if err != nil && body != nil {
		body.Close() // the answer is lost, and nobody holds it
		body = nil
	}
	return body, err
}

func (a *actor) Start(context.Context, string, ledger.Start) (ledger.Meta, error) {
	a.t.Error("the lister started a job")
	return ledger.Meta{}, nil
}

func (a *actor) Lease(ctx context.Context, l ledger.Lease) (m ledger.Meta, err error) {
	err = a.f.around("Lease", func() error {
		m, err = a.ledger.Lease(ctx, l)
		return err
	})
	return m, err
}

// leased checks that a lister does not rely on a lease that lapsed.
func (w *world) leased(op string) {
	if m := w.meta(); m.State == ledger.Listing && !time.Now().Before(m.Leased) {
		w.t.Errorf("%s %v after the lease lapsed", op, time.Since(m.Leased))
	}
}

func (a *actor) Publish(ctx context.Context, l ledger.Lease, p ledger.Page) (stored ledger.Page, due []unit.ID, err error) {
	w := a.world
	w.leased("Publish")
	err = a.f.around("Publish", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if stored, due, err = w.ledger.Publish(ctx, l, p); err != nil {
			return err
		}
		was := p
		was.Units = slices.Clone(p.Units)
		w.given, w.were = append(w.given, p), append(w.were, was)
		if p.Last <= p.After {
			w.t.Errorf("a page from %q to %q", p.After, p.Last)
		}
		size := 0
		for _, u := range p.Units {
			size += len(u.Body)
		}
		if len(p.Units) > ledger.MaxPageUnits || size > ledger.MaxPageBytes {
			w.t.Errorf("a page of %d units and %d bytes", len(p.Units), size)
		}
		for _, u := range stored.Units {
			w.known[u.ID] = true
		}
		for _, id := range due {
			if w.sent[id] == nil {
				w.owed[id] = true
			}
		}
		return nil
	})
	return stored, due, err
}

func (a *actor) Advance(ctx context.Context, l ledger.Lease, p ledger.Page) error {
	w := a.world
	w.leased("Advance")
	return a.f.around("Advance", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.allSent("the page was left")
		was := w.meta()
		if err := w.ledger.Advance(ctx, l, p); err != nil {
			return err
		}
		if w.meta().Page != was.Page {
			w.pages = append(w.pages, p)
		}
		return nil
	})
}

func (a *actor) Finish(ctx context.Context, l ledger.Lease) error {
	w := a.world
	w.leased("Finish")
	return a.f.around("Finish", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.allSent("the end marker was set")
		w.finished = true
		return w.ledger.Finish(ctx, l)
	})
}

func (a *actor) Send(_ context.Context, ms ...feed.Message) error {
	w := a.world
	return a.f.around("Send", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, m := range ms {
			if !w.known[m.ID] {
				w.t.Errorf("INV-7: unit %s is sent and the ledger does not know it", m.ID)
			}
			if m.Job != "job" {
				w.t.Errorf("unit %s is sent for job %q", m.ID, m.Job)
			}
			w.sent[m.ID] = m.Body
			delete(w.owed, m.ID)
		}
		w.sends = append(w.sends, len(ms))
		return nil
	})
}
