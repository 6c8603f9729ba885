package memobject

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Body is what a body reads from.
type Body = io.Reader

// ErrCut is the error that a body cut by Cut ends with.
var ErrCut = errors.New("connection reset by peer")

// Cut returns the first n bytes of body and ErrCut after them.
func Cut(body Body, n int64) Body {
	return io.MultiReader(io.LimitReader(body, n), broken{})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, ErrCut }

// Slow returns body with a wait before each read, which ends with ctx.
func Slow(ctx context.Context, body Body, wait time.Duration) Body {
	return slow{ctx, body, wait}
}

type slow struct {
	ctx  context.Context // of the ReadRange that opened body
	body Body
	wait time.Duration
}

func (s slow) Read(b []byte) (int, error) {
	t := time.NewTimer(s.wait)
	defer t.Stop()
	select {
	case <-t.C:
		return s.body.Read(b)
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// Pin pins o.
func (b *Bucket) Pin(o unit.Object) object.Pinned { return &pinned{b: b, o: o} }

type pinned struct {
	b *Bucket
	o unit.Object
}

func (p *pinned) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	r := Request{Key: p.o.Key, Off: off, N: n}
	p.b.mu.Lock()
	p.b.requests = append(p.b.requests, r)
	p.b.mu.Unlock()
	if err := p.b.called(ctx, OpGet, p.o.Key, off); err != nil {
		return nil, err
	}
	if k := p.o.Key; k == "" || len(k) > 1024 || !utf8.ValidString(k) {
		return nil, failure.Errorf(failure.Member, failure.InvalidKey, "get %.100q: no object can have this key", k)
	}
	data, err := p.b.read(p.o)
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 || off+n > int64(len(data)) {
		return nil, failure.Errorf(failure.Member, failure.ETagDrift, "get %q: bytes %d to %d of %d", p.o.Key, off, off+n, len(data))
	}
	var src Body = bytes.NewReader(data[off : off+n])
	if p.b.Wrap != nil {
		src = p.b.Wrap(ctx, r, src)
	}
	return &body{ctx: ctx, src: src, b: p.b}, nil
}

func (p *pinned) Close() error { return nil }

// read returns the bytes of the pinned version and counts a body as open.
func (b *Bucket) read(o unit.Object) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.current(o.Key)
	if o.Version != "" {
		e = nil
		for _, v := range b.versions[o.Key] {
			if v.Version == o.Version && !v.deleted {
				e = v
			}
		}
	}
	switch {
	case e == nil:
		return nil, failure.Errorf(failure.Member, failure.NotFound, "get %q: no such object", o.Key)
	case o.ETag != "" && e.ETag != o.ETag:
		return nil, failure.Errorf(failure.Member, failure.ETagDrift, "get %q: it is %s now and was %s", o.Key, e.ETag, o.ETag)
	case e.archived:
		return nil, failure.Errorf(failure.Member, failure.Archived, "get %q: archived: restore it first", o.Key)
	}
	b.open++
	return e.data, nil
}

// body ends when its context does, as one that comes through a socket would.
type body struct {
	ctx   context.Context // of the ReadRange that opened it
	src   Body
	b     *Bucket
	close sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.src.Read(p)
}

func (b *body) Close() error {
	b.close.Do(func() {
		b.b.mu.Lock()
		b.b.open--
		b.b.mu.Unlock()
	})
	return nil
}
