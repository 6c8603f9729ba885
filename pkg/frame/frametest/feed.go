package frametest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/record"
)

// testCase is one input under one limit.
type testCase struct {
	t     *testing.T
	h     Harness
	input []byte
	limit int
	rnd   *rand.Rand
	// lateFinal feeds all bytes as if more came, then none as the last.
	lateFinal bool
	whole     result // of one call
}

func newCase(t *testing.T, h Harness, input []byte, limit int, rnd *rand.Rand) *testCase {
	t.Helper()
	c := &testCase{t: t, h: h, input: input, limit: limit, rnd: rnd}
	c.whole = c.feed(c.f(), 0, func(int, int) int { return len(input) })
	return c
}

func (c *testCase) f() frame.Framer { return c.h.New(c.limit) }

func (c *testCase) fatalf(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("input %q, limit %d: %s", c.input, c.limit, fmt.Sprintf(format, args...))
}

func (c *testCase) same(how string, got result) {
	c.t.Helper()
	if !got.equal(c.whole) {
		c.fatalf("%s: got %v, in one piece %v", how, got, c.whole)
	}
}

// framed is a frame with a copy of its bytes and its place in the input.
type framed struct {
	record   []byte
	next     int64
	oversize bool
}

func (f framed) equal(g framed) bool {
	return f.next == g.next && f.oversize == g.oversize && bytes.Equal(f.record, g.record)
}

func (f framed) String() string {
	return fmt.Sprintf("{%q next %d oversize %v}", f.record, f.next, f.oversize)
}

type result struct {
	frames []framed
	blank  int64
	faulty bool
}

func (r result) equal(s result) bool {
	return slices.EqualFunc(r.frames, s.frames, framed.equal) && r.blank == s.blank && r.faulty == s.faulty
}

// feed plays the caller of a framer, and holds it to the contract at each call:
// it resets f to the offset at and hands over the input from there. size says
// how many bytes come with a call, from the number of calls before it and of the
// bytes that were handed back.
func (c *testCase) feed(f frame.Framer, at int64, size func(call, rest int) int) result {
	c.t.Helper()
	f.Reset(at)
	var r result
	input := c.input[at:]
	var rest []byte
	given, final := 0, false
	for call := 0; !final; call++ {
		n := min(max(size(call, len(rest)), 0), len(input)-given)
		final = given+n == len(input) && (!c.lateFinal || n == 0)
		// A new buffer for each call, without spare capacity, exposes whoever
		// keeps a view of it or looks past its end.
		buf := slices.Clip(slices.Concat(rest, input[given:given+n]))
		given += n
		offset := at + int64(given-len(buf))
		var dealt int
		var err error
		r.frames, dealt, err = c.split(f, r.frames, buf, offset, final)
		if err != nil {
			r.faulty = !errors.Is(err, io.EOF)
			break
		}
		if dealt == 0 && len(buf) >= f.Need() {
			c.fatalf("no progress with a buffer of %d bytes, Need is %d", len(buf), f.Need())
		}
		rest = bytes.Clone(buf[dealt:])
		copy(buf, bytes.Repeat([]byte{0xdb}, len(buf)))
	}
	r.blank = f.Blank()
	return r
}

// split makes one call and checks what it returns.
func (c *testCase) split(f frame.Framer, frames []framed, buf []byte, offset int64, final bool) ([]framed, int, error) {
	c.t.Helper()
	before := record.Frame{Start: -1, End: -2, Next: -3}
	out, n, err := f.Split([]record.Frame{before}, buf, final)
	switch {
	case n < 0 || n > len(buf):
		c.fatalf("%d bytes dealt with of %d", n, len(buf))
	case final && err == nil && n != len(buf):
		c.fatalf("final, and %d bytes dealt with of %d", n, len(buf))
	case len(out) == 0 || out[0] != before:
		c.fatalf("dst was not appended to: %v", out)
	case err != nil && !errors.Is(err, io.EOF):
		if scope, reason := failure.Of(err); scope != failure.Member || reason != failure.Undecodable {
			c.fatalf("error %v is of scope %v, %v", err, scope, reason)
		}
	}
	last := 0
	for _, fr := range out[1:] {
		if fr.Start < last || fr.End < fr.Start || fr.Next < fr.End || fr.Next > n {
			c.fatalf("frame %+v in %d bytes, %d dealt with, %d the Next before", fr, len(buf), n, last)
		}
		if size := fr.End - fr.Start; fr.Oversize && size != 0 || size > c.limit {
			c.fatalf("frame %+v of %d bytes", fr, size)
		}
		last = fr.Next
		next := offset + int64(fr.Next)
		if len(frames) > 0 && next <= frames[len(frames)-1].next {
			c.fatalf("frame %+v ends where an earlier one did", fr)
		}
		frames = append(frames, framed{bytes.Clone(buf[fr.Start:fr.End]), next, fr.Oversize})
	}
	return frames, n, err
}

func itoa(n int) string { return strconv.Itoa(n) }
