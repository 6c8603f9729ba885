package codec_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	stdgzip "compress/gzip"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
)

func zstdLong(t testing.TB, content string, window int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(w, strings.NewReader(content))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// FuzzDecompress: no input panics, takes memory beyond its windows, or ends in
// an error that is not the member's; what decodes whole is what the standard
// library's gzip makes of it; and how the bytes arrive does not show.
func FuzzDecompress(f *testing.F) {
	for _, o := range sound() {
		f.Add([]byte(o.object[:min(len(o.object), 4<<10)]))
	}
	f.Add([]byte(gzipOf("abcd") + "trailing"))
	f.Add([]byte(gzipOf("abcd") + "\x00\x00x"))
	f.Add([]byte(zstdOf("abcd") + "trailing"))
	f.Add([]byte(windowFrame(31, rawBlock(true, "abcd"))))
	f.Add([]byte(singleSegment(1<<62, rleBlock(true, 'a', 100))))
	f.Fuzz(func(t *testing.T, object []byte) {
		const most = 8 << 20
		r := codec.NewReader(codec.Options{MaxWindow: 1 << 20})
		defer r.Close()
		read := func(src io.Reader) (string, error) {
			if err := r.Reset(src); err != nil {
				return "", err
			}
			b, err := io.ReadAll(io.LimitReader(r, most))
			return string(b), err
		}
		got, err := read(bytes.NewReader(object))
		if err != nil && !failure.Is(err, failure.Member) {
			t.Fatalf("%v is not the member's", err)
		}
		slow, slowErr := read(oneByOne{bytes.NewReader(object)})
		if slow != got || (slowErr == nil) != (err == nil) {
			t.Fatalf("byte by byte: %d bytes, %v; at once %d, %v", len(slow), slowErr, len(got), err)
		}
		if r.Codec() != codec.Gzip || err != nil || len(got) == most {
			return
		}
		z, err := stdgzip.NewReader(bytes.NewReader(object))
		if err != nil {
			t.Fatalf("the standard library finds %v", err)
		}
		want, err := io.ReadAll(z)
		padded := object[len(object)-1] == 0 // the library takes it for the beginning of a member
		if err != nil && !padded || string(want) != got {
			t.Fatalf("got %d bytes, the standard library %d, %v", len(got), len(want), err)
		}
	})
}

// oneByOne also hides every other method of its reader.
type oneByOne struct{ r io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

func BenchmarkReader(b *testing.B) {
	text := logs(8 << 20)
	piece := make([]byte, 256<<10)
	for _, bm := range []struct{ name, object string }{{"plain", text}, {"gzip", gzipOf(text)}, {"zstd", zstdOf(text)}} {
		b.Run(bm.name, func(b *testing.B) {
			r := codec.NewReader(codec.Options{})
			defer r.Close()
			src := strings.NewReader(bm.object)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(bm.object)
				if err := r.Reset(src); err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Read(piece); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
