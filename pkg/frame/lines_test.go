package frame_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/frame/frametest"
	"github.com/spate-go/spate/pkg/record"
)

// lineReference reads lines in the simplest way: all of the input at once.
func lineReference(skipBlank bool) func(input []byte, limit int) frametest.Outcome {
	return func(input []byte, limit int) (out frametest.Outcome) {
		if skipBlank && contained(input) {
			return frametest.Outcome{Faulty: true}
		}
		text := strings.TrimPrefix(string(input), "\ufeff")
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1] // nothing is behind the last line feed
		}
		for _, l := range lines {
			l, _ = strings.CutSuffix(l, "\r")
			switch {
			case skipBlank && strings.Trim(l, " \t\r") == "":
				out.Blank++
			case len(l) > limit:
				out.Records = append(out.Records, nil)
			default:
				out.Records = append(out.Records, append([]byte{}, l...))
			}
		}
		return out
	}
}

func linesHarness() frametest.Harness {
	return frametest.Harness{
		New:       func(limit int) frame.Framer { return frame.Lines(limit) },
		Reference: lineReference(false),
		Inputs:    lineInputs,
		Tokens:    lineTokens,
		Resumes:   true,
	}
}

func ndjsonHarness() frametest.Harness {
	h := linesHarness()
	h.New = func(limit int) frame.Framer { return frame.NDJSON(limit) }
	h.Reference = lineReference(true)
	h.Inputs = slices.Concat(lineInputs, containerInputs)
	return h
}

var lineTokens = []string{
	"\n", "\n", "\r\n", "\r", " ", "\t", "a", "bb", "ccc", "0123456789", "\ufeff", "\xef\xbb", "é", "\x00", "\xff",
	strings.Repeat(" ", 20), strings.Repeat("long", 300),
}

var lineInputs = []string{
	"a", "a\n", "a\nb", "\n", "\n\n", "\r", "\r\n", "a\r", "a\r\n", "a\r\r\n", "\r\r\n", "a\rb\n",
	"\ufeff", "\ufeffa\n", "\ufeff\n", "\ufeff\ufeffa\n", "a\n\ufeffb\n", "\xef\xbb", "\xef", "\xef\xbba\n",
	"abc\nabcd\nabc\r\nabcd\r\nabc", "abcd", "abc\r", "abcd\r", "abcdefghijklmnopqrstuvwxyz\nx\n",
	"          \nx\n", "          ", "         x", "          x\ny",
	"{\"a\":1}\n \t\r\n{\"a\":2}\n",
}

func TestLinesKeepsTheLawsOfFramers(t *testing.T) { frametest.Run(t, linesHarness()) }

func TestNDJSONKeepsTheLawsOfFramers(t *testing.T) { frametest.Run(t, ndjsonHarness()) }

func FuzzNDJSON(f *testing.F) {
	for _, in := range lineInputs {
		f.Add([]byte(in), uint8(3), uint64(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, limit uint8, seed uint64) {
		if len(input) > 2<<10 {
			t.Skip("every cut of it would be tried")
		}
		frametest.Check(t, ndjsonHarness(), input, 1+int(limit), seed)
		frametest.Check(t, linesHarness(), input, 1+int(limit), seed)
	})
}

// records frames input in one call; a record over the limit shows as "<over>".
func records(f frame.Framer, input string) []string {
	frames, _, _ := f.Split(nil, []byte(input), true)
	out := []string{}
	for _, fr := range frames {
		if fr.Oversize {
			out = append(out, "<over>")
			continue
		}
		out = append(out, input[fr.Start:fr.End])
	}
	return out
}

func TestLines(t *testing.T) {
	const limit = 4
	lines := func() frame.Framer { return frame.Lines(limit) }
	ndjson := func() frame.Framer { return frame.NDJSON(limit) }
	tests := []struct {
		name  string
		f     func() frame.Framer
		input string
		want  string // joined by |
		blank int64
	}{
		{"a line feed ends a record", lines, "a\nb\n", "a|b", 0},
		{"the last line needs no line feed", lines, "a\nb", "a|b", 0},
		{"one carriage return goes with the line feed", lines, "a\r\r\nb\r\n", "a\r|b", 0},
		{"a carriage return at the very end goes too", lines, "a\r", "a", 0},
		{"a carriage return inside a line stays", lines, "a\rb\n", "a\rb", 0},
		{"an empty line is a record of lines", lines, "a\n\nb\n", "a||b", 0},
		{"a line of white space is a record of lines", lines, "a\n \t\nb\n", "a| \t|b", 0},
		{"a blank line is no record of NDJSON and is counted", ndjson, "a\n\n \t\r\n\r\r\nb\n", "a|b", 3},
		{"white space around a record stays", ndjson, " a \n", " a ", 0},
		{"a no-break space is not blank", ndjson, "\u00a0\n", "\u00a0", 0},
		{"a blank line over the limit is blank", ndjson, "          \na\n", "a", 1},
		{"a blank line over the limit is over it for lines", lines, "          \na\n", "<over>|a", 0},
		{"a byte order mark at the start goes", ndjson, "\ufeffa\n", "a", 0},
		{"a second byte order mark stays", lines, "\ufeff\ufeffa\n", "\ufeffa", 0},
		{"a byte order mark further on stays", lines, "a\n\ufeffb\n", "a|\ufeffb", 0},
		{"a byte order mark does not count towards the limit", lines, "\ufeffabcd\n", "abcd", 0},
		{"a byte order mark alone is no record", lines, "\ufeff", "", 0},
		{"a byte order mark before a blank line leaves it blank", ndjson, "\ufeff\na", "a", 1},
		{"NUL and invalid UTF-8 stay", lines, "\x00\xff\n", "\x00\xff", 0},
		{"a record of exactly the limit is one", lines, "abcd\nabcd\r\nabcd", "abcd|abcd|abcd", 0},
		{"a record over the limit comes out as such", lines, "a\nabcde\nb\n", "a|<over>|b", 0},
		{"a record over the limit at the end comes out too", ndjson, "a\nabcdefgh", "a|<over>", 0},
		{"a line feed alone is one empty line", lines, "\n", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.f()
			got := records(f, tt.input)
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
			if f.Blank() != tt.blank {
				t.Errorf("got %d blank lines, want %d", f.Blank(), tt.blank)
			}
		})
	}
	t.Run("an empty object has no record and a line feed has one", func(t *testing.T) {
		for input, want := range map[string]int{"": 0, "\n": 1, "\n\n": 2, "\ufeff": 0, "\r": 1} {
			if got := len(records(lines(), input)); got != want {
				t.Errorf("%q: got %d records, want %d", input, got, want)
			}
		}
	})
	t.Run("a byte order mark is kept where the object does not start", func(t *testing.T) {
		f := frame.Lines(8)
		f.Reset(3)
		if got := records(f, "\ufeffa\n"); got[0] != "\ufeffa" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a limit of 0 is the default", func(t *testing.T) {
		if got := frame.NDJSON(0).Need(); got != frame.DefaultMaxRecord+2 {
			t.Errorf("Need is %d", got)
		}
	})
	t.Run("the delimiter is the line feed", func(t *testing.T) {
		if b, ok := frame.NDJSON(0).Delimiter(); b != '\n' || !ok {
			t.Errorf("got %q, %v", b, ok)
		}
	})
}

func TestLinesAllocatesNothing(t *testing.T) {
	buf := logLines(256<<10, 480)
	for name, f := range map[string]frame.Framer{"lines": frame.Lines(1 << 20), "ndjson": frame.NDJSON(1 << 20)} {
		dst, _, _ := f.Split(nil, buf, false)
		if n := testing.AllocsPerRun(20, func() { f.Reset(0); dst, _, _ = f.Split(dst[:0], buf, false) }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// The work for a record that arrives in n pieces must not grow with n squared.
// Searched anew with each piece it would take some 2,000 times as long as the
// one search that it is compared with.
func TestLinesSearchesALongRecordOnce(t *testing.T) {
	const piece, pieces = 4 << 10, 4 << 10
	long := bytes.Repeat([]byte("x"), piece*pieces)
	f := frame.Lines(len(long))
	once := fastest(func() { _ = bytes.IndexByte(long, '\n') })
	split := fastest(func() {
		f.Reset(0)
		for n := piece; n <= len(long); n += piece {
			_, _, _ = f.Split(nil, long[:n], false)
		}
	})
	if split > 100*once {
		t.Errorf("in pieces it took %v, one search %v", split, once)
	}
}

func fastest(run func()) time.Duration {
	best := time.Hour
	for range 5 {
		start := time.Now()
		run()
		best = min(best, time.Since(start))
	}
	return best
}

// logLines is n bytes of lines of the given length with their line feed.
func logLines(n, line int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + rnd.IntN(90))
		if i%line == line-1 {
			b[i] = '\n'
		}
	}
	return b
}

func BenchmarkSplit(b *testing.B) {
	const piece = 256 << 10
	buf := logLines(piece, 480)
	for name, f := range map[string]frame.Framer{"lines": frame.Lines(1 << 20), "ndjson": frame.NDJSON(1 << 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(piece)
			b.ReportAllocs()
			f.Reset(0)
			var dst []record.Frame
			for b.Loop() {
				dst, _, _ = f.Split(dst[:0], buf, true)
			}
		})
	}
}
