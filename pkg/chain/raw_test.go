package chain_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/unit"
)

// gapped has frames with anything between them.
func gapped(r *rand.Rand) (*chain.Batch, []string) {
	b, want := &chain.Batch{Object: &unit.Object{}}, []string(nil)
	for range r.IntN(12) {
		b.Buf = append(b.Buf, strings.Repeat(" ", r.IntN(2))...)
		f := record.Frame{Start: len(b.Buf), End: len(b.Buf)}
		if f.Oversize = r.IntN(6) == 0; !f.Oversize {
			b.Buf = fmt.Appendf(b.Buf, "%0*d", r.IntN(4), len(want))
			f.End = len(b.Buf)
			want = append(want, string(b.Buf[f.Start:f.End]))
		}
		b.Buf = append(b.Buf, []string{"\n", "\n", "\n", "\r\n", ",", ""}[r.IntN(6)]...)
		f.Next = len(b.Buf)
		b.Frames = append(b.Frames, f)
	}
	return b, want
}

func TestRawCopiesEveryFrameWithItsSuffix(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		b, want := gapped(r)
		suffix := []string{"\n", "", "\r\n", ","}[r.IntN(4)]
		out := output()
		if err := chain.Raw(suffix)().Process(b, out); err != nil {
			t.Fatal(err)
		}
		got := rows(t, out)
		for i := range want {
			want[i] += suffix
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("suffix %q, %q %v:\n got %q\nwant %q", suffix, b.Buf, b.Frames, got, want)
		}
		n, m := int64(len(b.Frames)), int64(len(want))
		if out.Counts != counts(n, m, 0, n-m, 0) {
			t.Fatalf("got %+v", out.Counts)
		}
	}
}

func lines(n, size int) *chain.Batch {
	return batchOf(strings.Split(strings.Repeat(strings.Repeat("x", size)+"\n", n-1)+strings.Repeat("x", size), "\n")...)
}

func TestChainsAllocateNothing(t *testing.T) {
	type view struct{ b []byte }
	typed := chain.FlatMap(chain.Filter(chain.Map(chain.Decode(newViews, chain.Skip),
		func(_ *chain.Context, in *bytesView, out *view) error { out.b = in.b; return nil }),
		func(c *chain.Context, v *view) (bool, error) { return c.Index%3 > 0, nil }),
		func(_ *chain.Context, in *view, emit func(*view) error) error { return emit(in) })
	encode := func(dst []byte, v *view) ([]byte, error) { return append(append(dst, v.b...), '\n'), nil }
	for name, c := range map[string]chain.Constructor{"raw": chain.Raw("\n"), "typed": chain.Encode(typed, chain.Fail, encode)} {
		b, out, w := lines(500, 480), output(), c()
		if n := testing.AllocsPerRun(20, func() {
			out.Sinks[0].Reset()
			if err := w.Process(b, out); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations per batch", name, n)
		}
	}
}

func BenchmarkChain(b *testing.B) {
	pass := func(dst []byte, v *bytesView) ([]byte, error) { return append(append(dst, v.b...), '\n'), nil }
	for name, c := range map[string]chain.Constructor{
		"raw": chain.Raw("\n"), "typed": chain.Encode(chain.Decode(newViews, chain.Skip), chain.Skip, pass),
	} {
		b.Run(name, func(b *testing.B) {
			in, out, w := lines(500, 480), output(), c()
			b.SetBytes(int64(len(in.Buf)))
			b.ReportAllocs()
			for b.Loop() {
				out.Sinks[0].Reset()
				if err := w.Process(in, out); err != nil {
					b.Fatal(err)
				}
			}
			if !bytes.Equal(out.Sinks[0].Data, in.Buf) {
				b.Fatal("rows differ")
			}
		})
	}
}
