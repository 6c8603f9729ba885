package spatetest

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// Op is a method of what a job works with.
type Op string

// The operations of source, feed and sink. Those of the ledger are beside
// [Faults.Ledger].
const (
	OpList      Op = "List"
	OpReadRange Op = "ReadRange"
	OpSend      Op = "Send"
	OpWrite     Op = "Write"
	OpCommit    Op = "Commit"
)

// Faults fails one call of one operation, whichever of its wrappers the call
// comes through. A test that runs with At = 1, 2, 3 … until Seen is less than
// At fails every call of Op once.
type Faults struct {
	Op Op
	At int // which call, from 1
	// Applied: the call takes effect and only its answer is lost. Otherwise it
	// takes none.
	Applied bool
	// Dies: the call counts whatever its operation, and all later ones fail too,
	// none of them applied, as when the process has ended.
	Dies bool
	Err  error // what the call returns; nil: a transient failure

	mu   sync.Mutex
	seen int // guarded by mu
}

// Seen is how often Op was called.
func (f *Faults) Seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// do runs a call, unless it is the one to fail.
func (f *Faults) do(op Op, call func() error) error {
	hit, applied := f.hits(op)
	if !hit {
		return call()
	}
	err := f.Err
	if err == nil {
		err = failure.Errorf(failure.Transient, failure.RetriesExhausted, "spatetest: fault of %s number %d", op, f.At)
	}
	if applied {
		return errors.Join(err, call())
	}
	return err
}

func (f *Faults) hits(op Op) (hit, applied bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != f.Op && !f.Dies {
		return false, false
	}
	f.seen++
	return f.seen == f.At || f.Dies && f.seen > f.At, f.Applied && f.seen == f.At
}

// Bucket is b with the faults of List and ReadRange.
func (f *Faults) Bucket(b object.Bucket) object.Bucket { return &faultyBucket{b, f} }

type faultyBucket struct {
	object.Bucket
	f *Faults
}

func (b *faultyBucket) List(ctx context.Context, after string) (page object.Page, err error) {
	err = b.f.do(OpList, func() error { page, err = b.Bucket.List(ctx, after); return err })
	return page, err
}

func (b *faultyBucket) Pin(o unit.Object) object.Pinned { return &faultyPinned{b.Bucket.Pin(o), b.f} }

type faultyPinned struct {
	object.Pinned
	f *Faults
}

func (p *faultyPinned) ReadRange(ctx context.Context, off, n int64) (body io.ReadCloser, err error) {
	err = p.f.do(OpReadRange, func() error { body, err = p.Pinned.ReadRange(ctx, off, n); return err })
	if err != nil && body != nil {
		_ = body.Close()
		body = nil
	}
	return body, err
}

// Sender is s with the faults of Send.
func (f *Faults) Sender(s feed.Sender) feed.Sender { return &faultySender{s, f} }

type faultySender struct {
	feed.Sender
	f *Faults
}

func (s *faultySender) Send(ctx context.Context, ms ...feed.Message) error {
	return s.f.do(OpSend, func() error { return s.Sender.Send(ctx, ms...) })
}

// Sink is s with the faults of Write and Commit.
func (f *Faults) Sink(s sink.Sink) sink.Sink { return &faultySink{s, f} }

type faultySink struct {
	sink.Sink
	f *Faults
}

func (s *faultySink) Write(ctx context.Context, b *sink.Block) error {
	return s.f.do(OpWrite, func() error { return s.Sink.Write(ctx, b) })
}

func (s *faultySink) Commit(ctx context.Context, u unit.ID, series int) error {
	return s.f.do(OpCommit, func() error { return s.Sink.Commit(ctx, u, series) })
}
