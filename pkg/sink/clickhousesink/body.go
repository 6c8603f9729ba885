package clickhousesink

import (
	"io"
	"sync"
)

// body is a request's. It is made anew for each time that the request is sent,
// from rows that are never copied as a whole.
//
// A transport may read on for a while after the request has failed, and by then
// the rows may be used for something else: release takes them away.
type body struct {
	size int64 // -1: not known beforehand
	make func() io.Reader

	mu       sync.Mutex
	released bool        // guarded by mu
	opened   []io.Closer // guarded by mu; what has to be closed
}

// length is the Content-Length, -1 where bytes are counted only as they go.
func (b *body) length() int64 { return b.size }

// open begins the body.
func (b *body) open() io.ReadCloser {
	r := b.make()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := r.(io.Closer); ok {
		b.opened = append(b.opened, c)
	}
	return &reading{b: b, r: r}
}

// release ends all readers; who reads on finds the end too early.
func (b *body) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = true
	for _, c := range b.opened {
		_ = c.Close() // it gives back buffers
	}
	b.opened = nil
}

type reading struct {
	b *body
	r io.Reader
}

func (o *reading) Read(p []byte) (int, error) {
	o.b.mu.Lock()
	defer o.b.mu.Unlock()
	if o.b.released {
		return 0, io.ErrUnexpectedEOF
	}
	return o.r.Read(p)
}

// Close leaves the rows to release: another reader may be at them.
func (o *reading) Close() error { return nil }
