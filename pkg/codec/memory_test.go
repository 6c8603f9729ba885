package codec_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
)

const mib = 1 << 20

func TestWindow(t *testing.T) {
	small, end := rawBlock(true, "small"), rawBlock(true, "end")
	tests := []struct {
		name    string
		object  string
		max     int64
		want    string
		asked   []int64
		tooBig  string // what the error says
		refused int64  // windows of this size are refused
	}{
		{"the default is not asked for", windowFrame(23, end), 0, "end", nil, "", 0},
		{"more is asked for, whole", windowFrame(24, end), 0, "end", []int64{16 * mib}, "", 0},
		{"--long=27 is read", windowFrame(27, end), 0, "end", []int64{128 * mib}, "", 0},
		{"--long=31 is over the cap", windowFrame(31, end), 0, "", nil, "window of 2GiB and the cap is 128MiB", 0},
		{"--long=31 is over any cap below", windowFrame(31, end), 1 << 30, "", nil, "window of 2GiB and the cap is 1GiB", 0},
		{"a cap below the default holds", windowFrame(22, end), 1 * mib, "", nil, "window of 4MiB and the cap is 1MiB", 0},
		{"a window of the cap is read", windowFrame(20, end), 1 * mib, "end", nil, "", 0},
		{"a later frame asks again for more", windowFrame(20, small) + windowFrame(24, small) + windowFrame(25, end), 0,
			"smallsmallend", []int64{16 * mib, 32 * mib}, "", 0},
		{"a later frame of less does not ask", windowFrame(25, small) + windowFrame(24, end), 0, "smallend", []int64{32 * mib}, "", 0},
		{"a window that was granted is not asked for again", windowFrame(25, small) + windowFrame(24, small) + windowFrame(25, end), 0,
			"smallsmallend", []int64{32 * mib}, "", 0},
		{"a later frame over the cap is refused", windowFrame(20, small) + windowFrame(31, end), 0, "small", nil, "window of 2GiB", 0},
		{"what is refused is not read", windowFrame(20, small) + windowFrame(24, end), 0, "small", []int64{16 * mib}, "", 16 * mib},
		{"content in one piece is its own window", singleSegment(20*mib, small), 0, "", []int64{20 * mib}, "", 20 * mib},
		{"content in one piece over the cap", singleSegment(1<<63, small), 0, "", nil, "window of 9223372036854775807B", 0},
		{"a size that is no round number", singleSegment(200*mib+1, small), 0, "", nil, "window of 209715201B and", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errRefused := errors.New("no memory")
			var asked []int64
			r := codec.NewReader(codec.Options{MaxWindow: tt.max, Window: func(n int64) error {
				asked = append(asked, n)
				if n == tt.refused {
					return errRefused
				}
				return nil
			}})
			defer r.Close()
			for range 2 { // a grant ends with its object
				asked = nil
				got, err := read(r, strings.NewReader(tt.object))
				if got != tt.want || !slices.Equal(asked, tt.asked) {
					t.Errorf("got %q, asked %v; want %q, %v", got, asked, tt.want, tt.asked)
				}
				switch {
				case tt.refused != 0:
					if err != errRefused {
						t.Errorf("got %v, want the refusal itself", err)
					}
				case tt.tooBig != "":
					if scope, reason := failure.Of(err); scope != failure.Member || reason != failure.TooLarge || !strings.Contains(err.Error(), tt.tooBig) {
						t.Errorf("got %v (%v, %v), want one that says %q", err, scope, reason, tt.tooBig)
					}
				case err != nil:
					t.Error(err)
				}
			}
		})
	}
	t.Run("with nobody to ask the cap alone decides", func(t *testing.T) {
		if got, err := decode(t, codec.Options{}, windowFrame(25, end)); got != "end" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A long match reaches back over the whole of a window that was granted.
func TestReaderDecodesAcrossALargeWindow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	far := make([]byte, 64<<10)
	for i := range far {
		far[i] = byte(rnd.IntN(256))
	}
	text := string(far) + strings.Repeat("x", 9*mib) + string(far)
	object := zstdLong(t, text, 16*mib)
	if len(object) > len(far)*3/2 {
		t.Fatalf("the encoder did not look back: %d bytes", len(object))
	}
	if got, err := decode(t, codec.Options{}, object); err != nil || got != text {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// allocated returns the bytes that run allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func drain(t *testing.T, r *codec.Reader, object string, piece []byte) (n int64) {
	t.Helper()
	if err := r.Reset(strings.NewReader(object)); err != nil {
		t.Fatal(err)
	}
	for {
		k, err := r.Read(piece)
		n += int64(k)
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestABombTakesNoMemory(t *testing.T) {
	const content = 24 * mib
	blocks := make([]string, 0, content/(128<<10))
	for n := 128 << 10; n <= content; n += 128 << 10 {
		blocks = append(blocks, rleBlock(n == content, 'x', 128<<10))
	}
	for name, object := range map[string]string{"gzip": gzipOf(strings.Repeat("x", content)), "zstd": windowFrame(20, blocks...)} {
		if len(object) > content/900 {
			t.Fatalf("%s: %d bytes are no bomb", name, len(object))
		}
		r := codec.NewReader(codec.Options{})
		piece := make([]byte, 256<<10)
		var n int64
		took := allocated(func() { n = drain(t, r, object, piece) })
		if n != content || took > 2*mib {
			t.Errorf("%s: %d bytes came out and %d were allocated", name, n, took)
		}
		r.Close()
	}
}

func TestALargeWindowIsGivenBack(t *testing.T) {
	r := codec.NewReader(codec.Options{})
	defer r.Close()
	held := func(object string) int64 {
		drain(t, r, object, make([]byte, 4<<10))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	frame := windowFrame(10, rawBlock(true, "abcd"))
	small := held(frame)
	if large := held(windowFrame(26, rawBlock(true, "abcd"))); large-small > 4*mib {
		t.Errorf("%d MiB are held after an object with a window of 64 MiB", (large-small)/mib)
	}
	for _, next := range []string{frame, gzipOf("abcd"), "abcd"} {
		_ = r.Reset(strings.NewReader(windowFrame(26, rawBlock(true, strings.Repeat("a", 100)))))
		_, _ = r.Read(make([]byte, 1)) // and left there
		if large := held(next); large-small > 4*mib {
			t.Errorf("%d MiB are held when %q follows an object that was left", (large-small)/mib, next)
		}
	}
}

func TestAnObjectCostsNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	text := logs(64 << 10)
	piece := make([]byte, 16<<10)
	for name, object := range map[string]string{"plain": text, "gzip": gzipOf(text), "zstd": zstdOf(text) + skippable(0, 8) + zstdOf(text)} {
		r := codec.NewReader(codec.Options{})
		src := strings.NewReader(object)
		n := testing.AllocsPerRun(20, func() {
			src.Reset(object)
			if err := r.Reset(src); err != nil {
				t.Fatal(err)
			}
			for {
				if _, err := r.Read(piece); err != nil {
					break
				}
			}
		})
		// A gzip member's name costs the string that the library keeps it in.
		if want := map[string]float64{"gzip": 1}[name]; n > want {
			t.Errorf("%s: %v allocations an object, want %v", name, n, want)
		}
		r.Close()
	}
}

func TestAReaderHasNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, object := range []string{gzipOf(logs(mib)), zstdOf(logs(mib))} {
		r := codec.NewReader(codec.Options{})
		if err := r.Reset(strings.NewReader(object)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines in the middle of an object, %d before", n, before)
		}
		r.Close()
	}
}
