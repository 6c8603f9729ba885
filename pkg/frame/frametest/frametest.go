// Package frametest is the suite that every framer passes: what comes out
// depends on the bytes alone, whatever the chunks, the buffer and the past of
// the framer. It holds no knowledge of a format; the harness brings a reference
// that is too simple to be wrong.
package frametest

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/frame"
)

// Outcome is everything that an input holds.
type Outcome struct {
	// Records in order; a nil one stands for a record over the limit.
	Records [][]byte
	// Blank is the number of blank lines.
	Blank int64
	// Faulty says that a fault in the input ends it after Records.
	Faulty bool
}

// Harness is a format under test.
type Harness struct {
	// New makes the framer with a record limit in bytes.
	New func(limit int) frame.Framer
	// Reference says what a whole input holds. It shares no code with the framer.
	Reference func(input []byte, limit int) Outcome
	// Inputs are inputs worth trying by themselves.
	Inputs []string
	// Tokens are strung together at random into further inputs.
	Tokens []string
	// Resumes says that a framer that is Reset to the Next of a frame, and
	// given the bytes from there, finds the frames after it.
	Resumes bool
}

// Run checks every law on the harness's inputs and on random ones.
func Run(t *testing.T, h Harness) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	inputs := append([]string{""}, h.Inputs...)
	for range 24 {
		inputs = append(inputs, randomInput(rnd, h.Tokens))
	}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			for _, input := range inputs {
				for _, limit := range []int{1, 2, 3, 5, 17, 1 << 10} {
					l.check(newCase(t, h, []byte(input), limit, rnd))
				}
			}
		})
	}
}

// Check checks every law on one input, for fuzz targets.
func Check(t *testing.T, h Harness, input []byte, limit int, seed uint64) {
	t.Helper()
	for _, l := range laws {
		l.check(newCase(t, h, input, limit, rand.New(rand.NewPCG(seed, 0))))
	}
}

func randomInput(rnd *rand.Rand, tokens []string) string {
	var b strings.Builder
	if len(tokens) > 0 {
		for range rnd.IntN(24) {
			b.WriteString(tokens[rnd.IntN(len(tokens))])
		}
	}
	return b.String()
}

// laws are checked one by one, so that a failure names what is broken.
var laws = []struct {
	name  string
	check func(c *testCase)
}{
	{"a whole input gives what the reference finds", (*testCase).matchesReference},
	{"no cut in two shows", (*testCase).cutAnywhere},
	{"no chunking shows, down to single bytes", (*testCase).cutOften},
	{"a buffer of Need bytes is enough", (*testCase).smallBuffer},
	{"the end may come with no bytes", (*testCase).lateEnd},
	{"Reset leaves nothing of what was before", (*testCase).startAnew},
	{"framing goes on from the Next of any frame", (*testCase).resume},
}

func (c *testCase) matchesReference() {
	c.t.Helper()
	want, got := c.h.Reference(c.input, c.limit), c.whole
	if len(got.frames) != len(want.Records) || got.blank != want.Blank || got.faulty != want.Faulty {
		c.fatalf("got %v, want %d records, %d blank, faulty %v", got, len(want.Records), want.Blank, want.Faulty)
	}
	for i, r := range want.Records {
		f := got.frames[i]
		if f.oversize != (r == nil) || !bytes.Equal(f.record, r) {
			c.fatalf("record %d is %v, want %q (nil is oversize: %v)", i, f, r, r == nil)
		}
	}
}

func (c *testCase) cutAnywhere() {
	c.t.Helper()
	for _, cut := range c.someOf(len(c.input), 300) {
		c.same("cut at "+itoa(cut), c.feed(c.f(), 0, func(call, _ int) int {
			if call == 0 {
				return cut
			}
			return len(c.input)
		}))
	}
}

func (c *testCase) cutOften() {
	c.t.Helper()
	c.same("in single bytes", c.feed(c.f(), 0, func(int, int) int { return 1 }))
	for range 4 {
		longest := 1 + c.rnd.IntN(len(c.input)+1)
		c.same("in chunks of up to "+itoa(longest), c.feed(c.f(), 0, func(int, int) int { return c.rnd.IntN(longest + 1) }))
	}
}

// smallBuffer fills a buffer of Need bytes each time: feed fails if a full one
// makes no progress.
func (c *testCase) smallBuffer() {
	c.t.Helper()
	f := c.f()
	need := f.Need()
	c.same("in a buffer of Need bytes", c.feed(f, 0, func(_, rest int) int { return need - rest }))
}

func (c *testCase) lateEnd() {
	c.t.Helper()
	c.lateFinal = true
	c.same("with a late end", c.feed(c.f(), 0, func(int, int) int { return len(c.input) }))
	c.same("in single bytes with a late end", c.feed(c.f(), 0, func(int, int) int { return 1 }))
}

func (c *testCase) startAnew() {
	c.t.Helper()
	f := c.f()
	for range 4 {
		cut := c.rnd.IntN(len(c.input) + 1)
		f.Reset(0)
		_, _, _ = f.Split(nil, bytes.Clone(c.input[:cut]), c.rnd.IntN(2) == 0)
		f.Reset(0)
		if f.Blank() != 0 {
			c.fatalf("Blank is %d after Reset", f.Blank())
		}
		c.same("after "+itoa(cut)+" bytes and Reset", c.feed(f, 0, func(int, int) int { return len(c.input) }))
	}
}

func (c *testCase) resume() {
	c.t.Helper()
	if !c.h.Resumes {
		return
	}
	for _, i := range c.someOf(len(c.whole.frames), 30) {
		fr := c.whole.frames[i]
		got := c.feed(c.f(), fr.next, func(int, int) int { return 1 + c.rnd.IntN(8) })
		want := result{frames: c.whole.frames[i+1:], blank: got.blank, faulty: c.whole.faulty}
		if !got.equal(want) {
			c.fatalf("from %d, the Next of frame %d: got %v, want %v", fr.next, i, got, want)
		}
	}
}

// someOf returns the numbers below n: all of them, or, if there are more than
// limit, a few at random, for each costs a reading of the whole input.
func (c *testCase) someOf(n, limit int) []int {
	all := c.rnd.Perm(n)
	if n > limit {
		all = all[:10]
	}
	return all
}
