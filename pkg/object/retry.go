package object

import (
	"context"
	"errors"
	"io"

	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/failure"
)

// progress is how much of a window a request must deliver for its retries to be
// counted anew. Without that a consumer that waits for a slow sink, whose idle
// bodies the store hangs up on, would run out of retries although everything
// works. If any byte were enough, a store that delivers one byte per request
// would be asked eight million times for one window.
const progress = TailBytes

// ErrNoAnswer is wrapped by the error of a read whose retries are used up: the
// fault may pass, so it says nothing about the object.
var ErrNoAnswer = errors.New("no complete answer")

// window returns the request that p.pos lies in, its body open: the current one,
// its successor, or a repetition of it. At the part's end it returns io.EOF.
func (r *Reader) window(p *part) (*request, error) {
	for {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if p.cur == nil {
			if p.pos == p.limit() {
				return nil, r.finish(p)
			}
			p.cur = r.take(p)
			p.retries, p.since = 0, p.pos
		}
		select {
		case <-p.cur.answered:
		case <-r.ctx.Done():
			return nil, r.ctx.Err()
		}
		if p.cur.err == nil {
			return p.cur, nil
		}
		if err := r.retry(p); err != nil {
			return nil, err
		}
	}
}

// finish makes the last check of a part that was read to its end.
func (r *Reader) finish(p *part) error {
	if err := p.close(); err != nil {
		return mark(p, err)
	}
	return io.EOF
}

// retry waits and requests the rest of the current window, from the exact byte.
// It returns the error where a retry is of no use.
func (r *Reader) retry(p *part) error {
	w := p.cur
	w.close()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if !failure.Is(w.err, failure.Transient) {
		return mark(p, w.err)
	}
	if p.pos-p.since >= progress {
		p.retries = 0
	}
	if p.retries >= r.opt.Retries {
		return failure.Errorf(failure.Unit, failure.RetriesExhausted,
			"read %q at byte %d: %w after %d retries: %w", p.Object.Key, p.pos, ErrNoAnswer, p.retries, w.err)
	}
	p.retries++
	r.opt.GetRetries.Add(1)
	if err := backoff.Wait(r.ctx, backoff.Delay(r.opt.BackoffBase, r.opt.BackoffMax, p.retries)); err != nil {
		return err
	}
	p.cur, p.since = r.send(p, p.pos, w.end), p.pos
	return nil
}

// cut classifies a body that ended early. Unless the driver marked the error,
// the transport broke.
func (w *request) cut(err error) error {
	if failure.Marked(err) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(context.Cause(w.ctx), errStalled) {
		err = errStalled
	}
	return failure.Errorf(failure.Transient, failure.RetriesExhausted, "body of bytes %d to %d: %w", w.off, w.end-1, err)
}

// mark returns err as the driver marked it. An unmarked error is unknown and
// goes back to the feed, as a unit failure that names the object.
func mark(p *part, err error) error {
	if failure.Marked(err) {
		return err
	}
	return failure.Errorf(failure.Unit, failure.RetriesExhausted, "read %q: %w", p.Object.Key, err)
}
