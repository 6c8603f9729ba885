package clickhousesink

import (
	"io"
	"sync"
)

// source produces bytes on demand.
type source interface {
	// next returns the next bytes, at most limit, valid until the next call;
	// with io.EOF there are none. A source that is an io.Closer gives its
	// buffers back when closed.
	next(limit int) ([]byte, error)
}

// piece is what is compressed, or handed to a connection, at once.
const piece = 256 << 10

// body is a request's. It is generated again each time that the request is
// sent, from rows that are never copied as a whole.
//
// A transport may read on for a while after the request has failed, and by then
// the rows may be used for something else: release takes them away.
type body struct {
	size int64 // -1: not known beforehand
	make func() source
	own  bool // the source returns no views of the rows

	mu       sync.Mutex
	released bool        // guarded by mu
	opened   []io.Closer // guarded by mu; what has to be closed
	writing  int         // guarded by mu; readers that may be using a source's buffers
}

// length is the Content-Length, -1 where bytes are counted only as they go.
func (b *body) length() int64 { return b.size }

// open begins the body.
func (b *body) open() io.ReadCloser {
	src := b.make()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := src.(io.Closer); ok {
		b.opened = append(b.opened, c)
	}
	return &reading{b: b, src: src}
}

// release ends all readers; one that is still reading gets an end that is too
// early.
func (b *body) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = true
	b.close()
}

// close gives the buffers back once nobody uses them. It is called with mu
// held.
func (b *body) close() {
	if !b.released || b.writing > 0 {
		return
	}
	for _, c := range b.opened {
		_ = c.Close()
	}
	b.opened = nil
}

// use counts the users of the buffers.
func (b *body) use(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing += n
	b.close()
}

type reading struct {
	b   *body
	src source
}

func (o *reading) Read(p []byte) (int, error) {
	o.b.mu.Lock()
	defer o.b.mu.Unlock()
	data, err := o.next(len(p))
	return copy(p, data), err
}

// next is called with mu held.
func (o *reading) next(limit int) ([]byte, error) {
	if o.b.released {
		return nil, io.ErrUnexpectedEOF
	}
	return o.src.next(limit)
}

// WriteTo writes the pieces themselves, larger ones than a transport would ask
// for. It does not hold up release while a connection takes one.
func (o *reading) WriteTo(w io.Writer) (n int64, err error) {
	if !o.b.own {
		return io.Copy(w, struct{ io.Reader }{o})
	}
	o.b.use(1)
	defer o.b.use(-1)
	for {
		o.b.mu.Lock()
		data, err := o.next(piece)
		o.b.mu.Unlock()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		wrote, err := w.Write(data)
		n += int64(wrote)
		if err != nil {
			return n, err
		}
	}
}

// Close leaves the rows to release: another reader may be at them.
func (o *reading) Close() error { return nil }
