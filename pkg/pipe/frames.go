package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/record"
)

// frames frames and processes a member's records and returns how many it
// framed; beside an error, those before the fault.
func (r *run) frames(ctx context.Context, c *cursor) (int64, error) {
	framer, in, err := r.open(c)
	if err != nil {
		return c.framed(), err
	}
	buf := r.w.buf[:0]
	defer func() { r.w.buf = buf[:0] }()
	for {
		var readErr error
		buf, readErr = r.fill(in, buf, framer.Need())
		if readErr != nil && readErr != io.EOF {
			readErr = r.withKey(c, readErr)
		}
		used, err := r.piece(ctx, c, framer, buf, readErr == io.EOF)
		switch {
		case errors.Is(err, errMemberEnd):
			return c.framed(), nil
		case err != nil:
			return c.framed(), err
		case readErr == io.EOF:
			return c.framed(), nil
		case readErr != nil:
			return c.framed(), readErr
		}
		c.base += int64(used)
		buf = buf[:copy(buf, buf[used:])]
	}
}

// framed is how many records of the member were framed, by earlier calls too.
func (c *cursor) framed() int64 { return max(c.index, c.done) }

var errMemberEnd = errors.New("nothing more to read of this member")

// open prepares codec and framer for a member.
func (r *run) open(c *cursor) (frame.Framer, io.Reader, error) {
	r.src.err = nil
	if g := r.Unit.Range; g != nil { // plain: content was looked at before it was cut
		f := frame.InRange(r.w.framer, *g)
		c.direct = true
		if c.offset == 0 {
			c.origin = f.From()
		}
		if c.origin == 0 {
			r.metrics.codec(c.object.Key, codec.Plain)
		}
		f.Reset(c.origin)
		return f, &r.src, nil
	}
	r.w.framer.Reset(c.origin)
	if c.offset > 0 {
		c.direct = true
		return r.w.framer, &r.src, nil
	}
	if err := r.w.codec.Reset(&r.src); err != nil {
		return nil, nil, r.withKey(c, err)
	}
	if c.done == 0 {
		r.metrics.codec(c.object.Key, r.w.codec.Codec())
	}
	c.direct = r.lines && r.w.codec.Codec() == codec.Plain
	return r.w.framer, r.w.codec, nil
}

// fill reads on, growing the buffer only for a record that does not fit.
func (r *run) fill(in io.Reader, buf []byte, need int) ([]byte, error) {
	if len(buf) == cap(buf) {
		grown := make([]byte, len(buf), min(2*cap(buf), max(need, cap(buf)+1)))
		copy(grown, buf)
		buf = grown
	}
	// A buffer that grew for a long record is not filled whole: a piece stays a
	// piece, and so do its frames.
	free := buf[len(buf):min(len(buf)+pieceBytes, cap(buf))]
	n, err := io.ReadAtLeast(in, free, min(len(free), fillBytes))
	if err == io.ErrUnexpectedEOF && r.src.err == nil { // ReadAtLeast's own: errors from below are marked
		err = io.EOF
	}
	r.decoded += int64(n)
	r.metrics.bytesDecoded.Add(int64(n))
	return buf[:len(buf)+n], err
}

// withKey adds the object's key to an error that does not have it yet.
func (r *run) withKey(c *cursor, err error) error {
	if r.src.err != nil {
		return r.src.err
	}
	return fmt.Errorf("%s: %w", c.object.Key, err)
}

// piece frames and processes what buf holds and returns how much of it is
// dealt with.
func (r *run) piece(ctx context.Context, c *cursor, framer frame.Framer, buf []byte, final bool) (int, error) {
	frames, used, frameErr := framer.Split(r.w.frames[:0], buf, final)
	r.w.frames = frames[:0]
	if c.limit != noLimit {
		frames = frames[:min(int64(len(frames)), c.limit-c.index)]
	}
	frames, enough := r.limitFrames(r.skipFrames(c, frames))
	if err := r.records(ctx, c, buf, frames); err != nil {
		return used, err
	}
	if frameErr != nil && frameErr != io.EOF {
		return used, r.withKey(c, frameErr)
	}
	if frameErr == io.EOF || c.index == c.limit || enough {
		return used, errMemberEnd
	}
	return used, nil
}

// skipFrames skips the frames that another call or another series accounts for,
// and returns the rest.
func (r *run) skipFrames(c *cursor, frames []record.Frame) []record.Frame {
	n := min(int64(len(frames)), max(c.skip, c.done)-c.index)
	if n <= 0 {
		return frames
	}
	taken := c.base + int64(frames[n-1].Next)
	if c.done > 0 { // an earlier call decoded them too
		r.decoded -= taken - c.taken
	}
	c.taken = taken
	c.index += n
	return frames[n:]
}

// limitFrames cuts frames to what the limit on the whole job's records still
// allows.
func (r *run) limitFrames(frames []record.Frame) (_ []record.Frame, enough bool) {
	if r.config.Limit == nil {
		return frames, false
	}
	n := int64(len(frames))
	left := r.config.Limit.Add(-n)
	if left > 0 {
		return frames, false
	}
	return frames[:max(n+left, 0)], true
}

// batchFrames bounds the records that go through the chain before their rows
// are charged to memory.
const batchFrames = 1024

// records passes frames to the chain, cutting segments at the records where
// the rule says so.
func (r *run) records(ctx context.Context, c *cursor, buf []byte, frames []record.Frame) error {
	for len(frames) > 0 {
		// The first frame that ends at or after the cut ends its segment.
		end := c.taken + r.cut.Left() - c.base
		n := sort.Search(len(frames), func(i int) bool { return int64(frames[i].Next) >= end })
		n, err := r.process(ctx, c, buf, frames[:min(n+1, len(frames), batchFrames)])
		if n > 0 {
			next := c.base + int64(frames[n-1].Next)
			sealed := r.cut.Take(next - c.taken)
			c.taken = next
			if err == nil {
				err = r.spill(ctx)
			}
			if sealed && err == nil {
				err = r.seal(ctx, r.place(c, c.base+int64(len(buf))-c.taken))
			}
		}
		if err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}

// process runs the chain on frames of one segment and returns how many of them
// it dealt with.
func (r *run) process(ctx context.Context, c *cursor, buf []byte, frames []record.Frame) (int, error) {
	if r.rows == nil {
		r.take()
	}
	before, undecoded := r.out.Counts, r.out.Undecoded
	if err := r.room(); err != nil {
		return 0, r.withKey(c, err)
	}
	b := chain.Batch{
		Object: c.object, Member: c.ordinal, Buf: buf, Frames: frames, First: c.index,
		Base: c.origin + c.base, From: c.origin + c.taken,
	}
	err := r.transform(ctx, &b)
	r.metrics.processed(before, r.out.Counts, r.out.Undecoded-undecoded)
	n := len(frames)
	if e, ok := errors.AsType[*chain.RecordError](err); ok {
		n = int(e.Index - c.index)
	} else if err != nil {
		n = 0
	}
	c.index += int64(n)
	r.metrics.framed(frames[:n])
	if err == nil {
		err = r.mem.block(r.weigh(r.rows))
	}
	if err != nil {
		return n, r.withKey(c, err)
	}
	return n, nil
}

// transform runs the chain once a thread is free. A series that waits for a
// sink holds none.
func (r *run) transform(ctx context.Context, b *chain.Batch) error {
	if err := r.threads.acquire(ctx, r.turn); err != nil {
		return err
	}
	defer r.threads.release()
	return r.w.chain.Process(b, &r.out)
}
