package object

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/segment"
	"github.com/spate-go/spate/pkg/unit"
)

// TailBytes is the size of a request past a part's End: far more than a usual
// record, far less than a window.
const TailBytes = 64 << 10

// Part is a stretch of one object.
type Part struct {
	Object     unit.Object
	Start, End int64 // bytes [Start, End) are fetched in windows, ahead of the consumer
	// Limit, if greater than End, lets the bytes [End, Limit) be read too. They
	// are fetched on demand, TailBytes at a time.
	Limit int64
}

// limit is the offset that the part's Read ends at.
func (p *Part) limit() int64 { return max(p.End, p.Limit) }

// Options tune a Reader. The zero value is usable.
type Options struct {
	Window     int64 // bytes per request, which move no boundary (INV-3); 0 means segment.Bytes
	Ahead      int   // requests in flight beyond the current one; 0 means 8, less than 0 none
	AheadBytes int64 // bound on the sum of their sizes, but one is always allowed; 0 means 8 MiB
	Retries    int   // retries in a row of one window; 0 means 8, less than 0 none

	BackoffBase time.Duration // longest wait before the first retry, doubling; 0 means 200 ms
	BackoffMax  time.Duration // longest wait before any retry; 0 means 5 s
	Stall       time.Duration // a body that delivers nothing for this long is cut and retried; 0 means 30 s

	BytesRead  *metric.Value // bytes handed to the consumer; nil: not counted
	GetRetries *metric.Value // requests that had to be repeated; nil: not counted
}

// Reader reads parts of pinned objects one after another, as a tar.Reader reads
// its members. It is not safe for concurrent use.
//
// While one window's body is read, the requests of the following windows, of
// this part and the next ones, are already sent. Their bodies wait in their
// sockets: the Reader buffers nothing, and Read fills the caller's slice
// straight from a body. So the memory that it takes depends on Options alone
// (INV-6).
//
// The law: the bytes of a part are the bytes [Start, Limit) of the pinned
// version (INV-2), whatever the windows, the cuts and the retries, or Read ends
// with an error that is not io.EOF.
type Reader struct {
	ctx    context.Context // of all requests, which outlive the call that sent them
	cancel context.CancelFunc
	opener Opener
	opt    Options

	parts []Part  // not begun
	live  []*part // begun, in order; the first is the consumer's, once Next was called
	begun bool    // Next was called

	idle    chan *request // to senders that wait for one; its capacity is 0
	senders sync.WaitGroup

	inFlight      int   // requests ahead: sent and not yet taken by Read
	inFlightBytes int64 // the sum of their sizes
}

// NewReader returns a Reader of the parts, before the first of them. It makes no
// call. Cancelling ctx ends Next and Read with ctx.Err(); the caller closes the
// Reader all the same.
func NewReader(ctx context.Context, o Opener, parts []Part, opt Options) *Reader {
	ctx, cancel := context.WithCancel(ctx)
	return &Reader{ctx: ctx, cancel: cancel, opener: o, opt: opt.withDefaults(), parts: parts, idle: make(chan *request)}
}

// Next moves to the next part, abandoning the rest of the current one, and
// returns io.EOF after the last. It waits for no response: a part that cannot
// be read fails at Read, and Next skips it.
func (r *Reader) Next() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.begun && len(r.live) > 0 {
		_ = r.release(r.live[0]) // a part left early is not vouched for
		r.live = r.live[1:]
	}
	r.begun = true
	if len(r.live) == 0 && !r.begin() {
		return io.EOF
	}
	r.fill()
	return nil
}

// Read reads the current part. It returns io.EOF exactly at the part's end, and
// otherwise an error that is marked with its scope and names the object, or
// ctx.Err(); every further Read of the part repeats it.
func (r *Reader) Read(b []byte) (int, error) {
	if !r.begun || len(r.live) == 0 {
		return 0, errors.New("read: no current part: call Next first")
	}
	p := r.live[0]
	if p.err != nil {
		return 0, p.err
	}
	if len(b) == 0 {
		return 0, nil
	}
	for {
		w, err := r.window(p)
		if err != nil {
			p.err = err
			return 0, err
		}
		if n := r.read(p, w, b); n > 0 {
			return n, nil
		}
	}
}

// read makes one read of w's body. It leaves the body's end or fault in w, for
// the call of window that follows, so that bytes are handed on before an error.
func (r *Reader) read(p *part, w *request, b []byte) int {
	b = b[:min(int64(len(b)), w.end-p.pos)] // a body longer than asked for is not trusted
	stall := time.AfterFunc(r.opt.Stall, w.stalled)
	n, err := w.body.Read(b)
	stall.Stop()
	p.pos += int64(n)
	r.opt.BytesRead.Add(int64(n))
	switch {
	case p.pos == w.end && (!failure.Marked(err) || failure.Is(err, failure.Transient)): // complete: how the body ends no longer matters
		w.close()
		p.cur = nil
	case err != nil:
		w.close()
		w.err = w.cut(err)
	}
	return n
}

// Close cancels everything in flight and waits for it. It returns the error of
// the current part's last check, if that part had not failed before: a caller
// that stops before a part's Limit learns here whether its bytes are all of one
// version.
func (r *Reader) Close() error {
	r.cancel()
	var err error
	for i, p := range r.live {
		good := p.err == nil
		if e := r.release(p); i == 0 && r.begun && good {
			err = e
		}
	}
	r.live, r.parts = nil, nil
	if r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
	r.senders.Wait()
	return err
}

func (o Options) withDefaults() Options {
	o.Window = cmp.Or(o.Window, segment.Bytes)
	o.Ahead = cmp.Or(o.Ahead, 8)
	o.AheadBytes = cmp.Or(o.AheadBytes, 8<<20)
	o.Retries = cmp.Or(o.Retries, 8)
	o.BackoffBase = cmp.Or(o.BackoffBase, 200*time.Millisecond)
	o.BackoffMax = cmp.Or(o.BackoffMax, 5*time.Second)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	o.BytesRead = cmp.Or(o.BytesRead, new(metric.Value))
	o.GetRetries = cmp.Or(o.GetRetries, new(metric.Value))
	return o
}
