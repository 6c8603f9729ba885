package object

import (
	"context"
	"errors"
	"io"

	"github.com/spate-go/spate/pkg/failure"
)

// part is a Part whose reading or fetching has begun.
type part struct {
	Part
	pin   Pinned
	sent  []*request // ahead, in order of offset
	asked int64      // the windows before this offset are sent

	cur     *request // the window that Read is in
	pos     int64    // the next byte for the consumer
	retries int      // of cur, in a row
	since   int64    // pos when cur's last request was sent
	err     error    // what Read ended with
	closed  bool     // pin is closed
}

// begin opens the next part; false: there is none.
func (r *Reader) begin() bool {
	if len(r.parts) == 0 {
		return false
	}
	p := &part{Part: r.parts[0]}
	r.parts = r.parts[1:]
	r.live = append(r.live, p)
	p.pin = r.opener.Pin(p.Object)
	p.pos, p.asked = p.Start, p.Start
	if p.Start < 0 || p.Start > p.End || p.limit() > p.Object.Size {
		p.err = failure.Errorf(failure.Unit, failure.UnsupportedDescriptor,
			"read %q: bytes %d to %d of an object of %d: the unit was not made from this object", p.Object.Key, p.Start, p.limit(), p.Object.Size)
		p.asked = p.End
	}
	return true
}

// fill sends requests ahead, across parts, as far as Options allow.
func (r *Reader) fill() {
	for i := 0; ; {
		switch {
		case i == len(r.live):
			if r.inFlight >= r.opt.Ahead || !r.begin() {
				return
			}
		case r.live[i].asked == r.live[i].End:
			i++
		default:
			p := r.live[i]
			n := min(r.opt.Window, p.End-p.asked)
			if r.inFlight >= r.opt.Ahead || r.inFlight > 0 && r.inFlightBytes+n > r.opt.AheadBytes {
				return
			}
			p.sent = append(p.sent, r.send(p, p.asked, p.asked+n))
			p.asked += n
			r.inFlight++
			r.inFlightBytes += n
		}
	}
}

// take returns the request of the window at p.pos, and sends those that may
// follow it now.
func (r *Reader) take(p *part) *request {
	var w *request
	switch {
	case len(p.sent) > 0:
		w = p.sent[0]
		p.sent = p.sent[1:]
		r.inFlight--
		r.inFlightBytes -= w.end - w.off
	case p.pos < p.End:
		w = r.send(p, p.pos, min(p.pos+r.opt.Window, p.End))
		p.asked = w.end
	default:
		return r.send(p, p.pos, min(p.pos+TailBytes, p.Limit))
	}
	r.fill()
	return w
}

// release cancels what is in flight for p and waits for it: a driver's Close
// may rely on none of its calls being in progress. It returns the last check's
// error.
func (r *Reader) release(p *part) error {
	for _, w := range p.sent {
		w.discard()
		r.inFlight--
		r.inFlightBytes -= w.end - w.off
	}
	p.sent = nil
	if p.cur != nil {
		p.cur.discard()
		p.cur = nil
	}
	return p.close()
}

func (p *part) close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	return p.pin.Close()
}

var errStalled = errors.New("the body stalled")

// request is a window that was asked for.
type request struct {
	pin      Pinned
	off, end int64
	ctx      context.Context // of the body, hence kept
	cancel   context.CancelCauseFunc
	answered chan struct{} // closed once body or err is set

	body io.ReadCloser // nil once closed
	err  error
}

// send asks for [off, end). Whoever takes or discards the request waits for its
// answer.
func (r *Reader) send(p *part, off, end int64) *request {
	w := &request{pin: p.pin, off: off, end: end, answered: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(r.ctx)
	select {
	case r.idle <- w:
	default:
		r.senders.Go(func() { send(w, r.idle) })
	}
	return w
}

// send serves one request after another. It lives as long as the Reader: a
// request needs a deep stack, and growing one each time is a twentieth of a
// small object's CPU time. There are as many as there ever were unanswered
// requests at once.
func send(w *request, more <-chan *request) {
	for ok := true; ok; w, ok = <-more {
		w.body, w.err = w.pin.ReadRange(w.ctx, w.off, w.end-w.off)
		close(w.answered)
	}
}

// discard ends a request in whatever state it is.
func (w *request) discard() {
	w.cancel(context.Canceled)
	<-w.answered
	w.close()
}

func (w *request) close() {
	if w.body != nil {
		_ = w.body.Close() // what was read is counted; the rest is of no interest
		w.body = nil
	}
	w.cancel(context.Canceled)
}

func (w *request) stalled() { w.cancel(errStalled) }
