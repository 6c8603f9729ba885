package frame_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// part is what one range gave.
type part struct {
	records []string // "<over>" for one over the limit
	nexts   []int64  // in the object
	blank   int64
	read    int64 // offset behind the last byte that was handed over
}

// readRange reads one range as a reader does: from one byte before it, piece by
// piece, until the framer has had enough or the object ends.
func readRange(t *testing.T, f frame.Framer, object string, at int64, piece func() int) part {
	t.Helper()
	var p part
	var dst []record.Frame
	var rest []byte
	f.Reset(at)
	for pos := at; ; {
		n := min(int64(piece()), int64(len(object))-pos)
		buf := slices.Concat(rest, []byte(object[pos:pos+n]))
		pos += n
		base := pos - int64(len(buf))
		var dealt int
		var err error
		dst, dealt, err = f.Split(dst[:0], buf, pos == int64(len(object)))
		for _, fr := range dst {
			r := string(buf[fr.Start:fr.End])
			if fr.Oversize {
				r = "<over>"
			}
			p.records = append(p.records, r)
			p.nexts = append(p.nexts, base+int64(fr.Next))
			if fr.Next > dealt {
				t.Fatalf("Next %d behind the %d bytes dealt with", fr.Next, dealt)
			}
		}
		p.blank, p.read = f.Blank(), pos
		if errors.Is(err, io.EOF) || pos == int64(len(object)) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		if dealt == 0 && len(buf) >= f.Need() {
			t.Fatalf("no progress with %d bytes", len(buf))
		}
		rest = bytes.Clone(buf[dealt:])
	}
}

// checkPartition reads object whole and in the ranges between cuts and compares.
func checkPartition(t *testing.T, inner func() frame.Framer, object string, cuts []int64, piece func() int) {
	t.Helper()
	whole := readRange(t, inner(), object, 0, func() int { return len(object) })
	var all part
	cuts = append(append([]int64{0}, cuts...), int64(len(object)))
	for i := range len(cuts) - 1 {
		r := unit.Range{Start: cuts[i], End: cuts[i+1], Delimiter: '\n'}
		x := frame.InRange(inner(), r)
		p := readRange(t, x, object, x.From(), piece)
		all.records = append(all.records, p.records...)
		all.nexts = append(all.nexts, p.nexts...)
		all.blank += p.blank
		// Reading again from a record that was framed gives the ones behind it.
		for j, next := range p.nexts {
			if q := readRange(t, x, object, next, piece); !slices.Equal(q.records, p.records[j+1:]) {
				t.Fatalf("%q, range %v from %d: got %q, want %q", object, r, next, q.records, p.records[j+1:])
			}
		}
	}
	if !slices.Equal(all.records, whole.records) || !slices.Equal(all.nexts, whole.nexts) || all.blank != whole.blank {
		t.Fatalf("%q cut at %v:\nranges %q %v, %d blank\nwhole  %q %v, %d blank",
			object, cuts, all.records, all.nexts, all.blank, whole.records, whole.nexts, whole.blank)
	}
}

func innerFramers(limit int) map[string]func() frame.Framer {
	return map[string]func() frame.Framer{
		"lines":  func() frame.Framer { return frame.Lines(limit) },
		"ndjson": func() frame.Framer { return frame.NDJSON(limit) },
	}
}

func TestRangesShareOutTheRecordsExactly(t *testing.T) {
	objects := append([]string{
		"aé\nbé\r\n\r\n\n\nc\n", "one\ntwo\nthree", strings.Repeat("x", 40) + "\ny\n", "y\n" + strings.Repeat("x", 40),
	}, lineInputs...)
	for name, inner := range innerFramers(5) {
		t.Run("cut in two at every byte, "+name, func(t *testing.T) {
			for _, object := range objects {
				for cut := range int64(len(object)) + 1 {
					for size := 1; size < 9; size++ {
						checkPartition(t, inner, object, []int64{cut}, func() int { return size })
					}
				}
			}
		})
		t.Run("one byte a range, "+name, func(t *testing.T) {
			for _, object := range objects {
				var cuts []int64
				for cut := 1; cut < len(object); cut++ {
					cuts = append(cuts, int64(cut))
				}
				checkPartition(t, inner, object, cuts, func() int { return 3 })
			}
		})
		t.Run("cut at random, "+name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 0))
			for range 300 {
				var b strings.Builder
				for range rnd.IntN(20) {
					b.WriteString(lineTokens[rnd.IntN(len(lineTokens))])
				}
				checkPartition(t, inner, b.String(), randomCuts(rnd, b.Len()), func() int { return 1 + rnd.IntN(12) })
			}
		})
	}
}

func randomCuts(rnd *rand.Rand, size int) []int64 {
	var cuts []int64
	for range rnd.IntN(6) {
		cuts = append(cuts, rnd.Int64N(int64(size)+1))
	}
	slices.Sort(cuts)
	return cuts
}

func FuzzRange(f *testing.F) {
	for _, in := range lineInputs {
		f.Add(in, uint8(3), uint64(1))
	}
	f.Fuzz(func(t *testing.T, object string, limit uint8, seed uint64) {
		if len(object) > 4<<10 {
			t.Skip("too long for its many reads")
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		cuts := randomCuts(rnd, len(object))
		for _, inner := range innerFramers(1 + int(limit)) {
			checkPartition(t, inner, object, cuts, func() int { return 1 + rnd.IntN(64) })
		}
	})
}

func TestInRange(t *testing.T) {
	const object = "aaaa\nbbbb\r\ncccc\n"
	//              0    5     11   15
	tests := []struct {
		name       string
		start, end int64
		want       string
		from, read int64 // the first byte asked for, and behind the last
	}{
		{"the whole object", 0, 16, "aaaa|bbbb|cccc", 0, 16},
		{"a record belongs to the range of its first byte", 0, 6, "aaaa|bbbb", 0, 11},
		{"a range that begins at a record has it", 5, 11, "bbbb", 4, 11},
		{"a range that begins behind a first byte has not", 6, 16, "cccc", 5, 16},
		{"a range that begins between CR and LF", 10, 16, "cccc", 9, 16},
		{"a range that ends before a first byte", 1, 5, "", 0, 4},
		{"a range that ends behind a first byte", 1, 6, "bbbb", 0, 11},
		{"a range inside a record reads no more than itself", 6, 8, "", 5, 7},
		{"a range of nothing", 5, 5, "", 4, 5},
		{"a range of the last line feed", 15, 16, "", 14, 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := frame.InRange(frame.NDJSON(8), unit.Range{Start: tt.start, End: tt.end, Delimiter: '\n'})
			if x.From() != tt.from {
				t.Errorf("From is %d, want %d", x.From(), tt.from)
			}
			p := readRange(t, x, object, x.From(), func() int { return 1 })
			if got := strings.Join(p.records, "|"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if p.read != tt.read {
				t.Errorf("read up to %d, want %d", p.read, tt.read)
			}
		})
	}
	t.Run("io.EOF comes with the last record and again after it", func(t *testing.T) {
		x := frame.InRange(frame.Lines(8), unit.Range{Start: 0, End: 5, Delimiter: '\n'})
		frames, n, err := x.Split(nil, []byte(object), false)
		if len(frames) != 1 || n != 5 || !errors.Is(err, io.EOF) {
			t.Fatalf("got %v, %d, %v", frames, n, err)
		}
		if frames, n, err = x.Split(nil, []byte(object[5:]), true); len(frames) != 0 || n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("then got %v, %d, %v", frames, n, err)
		}
	})
	t.Run("frames that are there already stay", func(t *testing.T) {
		there := record.Frame{Start: 1, End: 2, Next: 3}
		x := frame.InRange(frame.Lines(8), unit.Range{Start: 1, End: 16, Delimiter: '\n'})
		frames, _, _ := x.Split([]record.Frame{there}, []byte(object), true)
		if len(frames) != 3 || frames[0] != there || frames[1].Start != 5 {
			t.Errorf("got %v", frames)
		}
	})
	t.Run("a byte order mark goes from the first range only", func(t *testing.T) {
		for _, tt := range []struct {
			start int64
			want  string
		}{{0, "a"}, {1, "\ufeffb"}} {
			x := frame.InRange(frame.Lines(8), unit.Range{Start: tt.start, End: 5 + 4*tt.start, Delimiter: '\n'})
			p := readRange(t, x, "\ufeffa\n\ufeffb\n", x.From(), func() int { return 2 })
			if got := strings.Join(p.records, "|"); got != tt.want {
				t.Errorf("from %d: got %q, want %q", tt.start, got, tt.want)
			}
		}
	})
}
