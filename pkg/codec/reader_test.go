package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
)

// sound lists objects that read well, and what is in them.
func sound() []struct {
	name, object, want string
	codec              codec.Codec
} {
	text := logs(300 << 10)
	return []struct {
		name, object, want string
		codec              codec.Codec
	}{
		{"an empty object", "", "", codec.Plain},
		{"one byte", "a", "a", codec.Plain},
		{"three bytes of a gzip signature", "\x1f\x8b\x08", "\x1f\x8b\x08", codec.Plain},
		{"as many bytes as are looked at", "0123456789abcdef", "0123456789abcdef", codec.Plain},
		{"plain text", text, text, codec.Plain},
		{"a gzip member", gzipOf(text), text, codec.Gzip},
		{"an empty gzip member", gzipOf(""), "", codec.Gzip},
		{"gzip members, some of them empty", gzipOf("a\n") + gzipOf("") + gzipOf(text) + gzipOf("b"), "a\n" + text + "b", codec.Gzip},
		{"a gzip member and a zero", gzipOf(text) + "\x00", text, codec.Gzip},
		{"gzip members and a block's zeros", gzipOf("a\n") + gzipOf(text) + strings.Repeat("\x00", 512), "a\n" + text, codec.Gzip},
		{"a gzip member and more zeros than are read at once", gzipOf("a") + strings.Repeat("\x00", 200_000), "a", codec.Gzip},
		{"a zstd frame", zstdOf(text), text, codec.Zstd},
		{"blocks that are longer than the buffer", windowFrame(17, rawBlock(false, text[:128<<10]), rawBlock(true, text[:120<<10])),
			text[:128<<10] + text[:120<<10], codec.Zstd},
		{"an empty zstd frame", windowFrame(20, rawBlock(true, "")), "", codec.Zstd},
		{"zstd frames, some of them empty", zstdOf("a\n") + windowFrame(10, rawBlock(true, "")) + zstdOf(text) + zstdOf("b"), "a\n" + text + "b", codec.Zstd},
		{"a skippable frame first", skippable(0, 9) + zstdOf("abcd"), "abcd", codec.Zstd},
		{"a skippable frame in the middle", zstdOf("abcd") + skippable(7, 100_000) + zstdOf("e"), "abcde", codec.Zstd},
		{"a skippable frame last", zstdOf("abcd") + skippable(15, 0), "abcd", codec.Zstd},
		{"skippable frames only", skippable(0, 3) + skippable(1, 0), "", codec.Zstd},
		{"blocks of one repeated byte", windowFrame(17, rleBlock(false, 'a', 5), rleBlock(false, 'b', 0), rawBlock(true, "c")), "aaaaac", codec.Zstd},
		{"a frame that declares its size only", singleSegment(4, rawBlock(true, "abcd")), "abcd", codec.Zstd},
	}
}

func TestReaderGivesWhatWasCompressed(t *testing.T) {
	shapes := map[string]func(io.Reader) io.Reader{
		"as it comes":           func(r io.Reader) io.Reader { return r },
		"byte by byte":          iotest.OneByteReader,
		"in halves":             iotest.HalfReader,
		"with io.EOF and bytes": func(r io.Reader) io.Reader { return endsWithBytes{r} },
		"never asked again":     func(r io.Reader) io.Reader { return &once{r: r} },
	}
	for _, tt := range sound() {
		for shape, wrap := range shapes {
			t.Run(tt.name+", "+shape, func(t *testing.T) {
				forces := []codec.Codec{"", tt.codec}
				for _, force := range forces {
					r := codec.NewReader(codec.Options{Force: force})
					got, err := read(r, wrap(strings.NewReader(tt.object)))
					if err != nil || got != tt.want {
						t.Errorf("forced %q: got %d bytes, %v, want %d", force, len(got), err, len(tt.want))
					}
					if r.Codec() != tt.codec {
						t.Errorf("forced %q: codec is %q, want %q", force, r.Codec(), tt.codec)
					}
					r.Close()
				}
			})
		}
		t.Run(tt.name+", and it is a good reader", func(t *testing.T) {
			r := codec.NewReader(codec.Options{})
			defer r.Close()
			if err := r.Reset(strings.NewReader(tt.object)); err != nil {
				t.Fatal(err)
			}
			if err := iotest.TestReader(r, []byte(tt.want)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReaderReadsAnyForcedPlain(t *testing.T) {
	for _, object := range []string{gzipOf("abcd"), zstdOf("abcd"), "PK\x03\x04aa", "\xff\xfea\x00"} {
		if got, err := decode(t, codec.Options{Force: codec.Plain}, object); err != nil || got != object {
			t.Errorf("%q: got %q, %v", object, got, err)
		}
	}
}

func TestReaderRefusesOtherContentThanIsForced(t *testing.T) {
	tests := []struct {
		force  codec.Codec
		object string
		says   string
	}{
		{codec.Gzip, "plain text", "not compressed, and compression is forced to gzip"},
		{codec.Gzip, "a", "not compressed"},
		{codec.Gzip, zstdOf("a"), "it is zstd"},
		{codec.Zstd, gzipOf("a"), "it is gzip, and compression is forced to zstd"},
		{codec.Zstd, "PK\x03\x04aaaa", "zip archive"},
	}
	for _, tt := range tests {
		_, err := decode(t, codec.Options{Force: tt.force}, tt.object)
		wantUndecodable(t, err, tt.says)
	}
	for _, force := range []codec.Codec{codec.Gzip, codec.Zstd} {
		if got, err := decode(t, codec.Options{Force: force}, ""); got != "" || err != nil {
			t.Errorf("an empty object forced to %s: %q, %v", force, got, err)
		}
	}
	_, err := decode(t, codec.Options{Force: "lz4"}, "abcd")
	if scope, reason := failure.Of(err); scope != failure.Job || reason != failure.Config {
		t.Errorf("an unknown codec: %v", err)
	}
}

func TestReaderRefusesWhatIsNoTextInside(t *testing.T) {
	for name, pack := range map[string]func(string) string{"gzip": gzipOf, "zstd": zstdOf} {
		for _, tt := range []struct{ content, says string }{
			{gzipOf("abcd"), "is gzip"}, {zstdOf("abcd"), "is zstd"},
			{"\xff\xfea\x00", "UTF-16"}, {"PK\x03\x04aaaa", "zip"},
		} {
			_, err := decode(t, codec.Options{}, pack(tt.content))
			wantUndecodable(t, err, "decompress "+name+": the content is")
			wantUndecodable(t, err, tt.says)
			got, err := decode(t, codec.Options{Force: codec.Codec(name)}, pack(tt.content))
			if err != nil || got != tt.content {
				t.Errorf("%s forced: got %q, %v", name, got, err)
			}
		}
	}
}

func TestReaderNeverEndsWellOnPartOfAnObject(t *testing.T) {
	text := logs(2000)
	for name, object := range map[string]string{
		"gzip": gzipOf(text), "zstd": zstdOf(text), "skippable": skippable(0, 40),
		"raw zstd":        windowFrame(17, rawBlock(false, "abcd"), rawBlock(true, "efgh")),
		"zstd of a block": singleSegment(4, rawBlock(true, "abcd")),
	} {
		for n := 4; n < len(object); n++ {
			got, err := decode(t, codec.Options{}, object[:n])
			if err == nil || !strings.HasPrefix(text, got) && !strings.HasPrefix("abcdefgh", got) {
				t.Fatalf("%s cut to %d of %d bytes: got %q, %v", name, n, len(object), got, err)
			}
			wantUndecodable(t, err, "cut short")
		}
	}
}

func TestReaderGivesTheBytesBeforeTheDamage(t *testing.T) {
	text := logs(500 << 10)
	for name, pack := range map[string]func(string) string{"gzip": gzipOf, "zstd": zstdOf} {
		object := pack(text)
		got, err := decode(t, codec.Options{}, object[:len(object)/2])
		wantUndecodable(t, err, name)
		if len(got) < len(text)/8 || !strings.HasPrefix(text, got) {
			t.Errorf("%s: got %d of %d bytes", name, len(got), len(text))
		}
	}
}

func TestReaderFindsDamage(t *testing.T) {
	text := logs(500)
	for name, pack := range map[string]func(string) string{"gzip": gzipOf, "zstd": zstdOf} {
		object := pack(text)
		for i := 4; i < len(object); i++ {
			bad := []byte(object)
			bad[i] ^= 1 << (i % 8)
			got, err := decode(t, codec.Options{}, string(bad))
			// Some bits, as of a gzip header's time, change nothing.
			if err == nil && got != text {
				t.Fatalf("%s with byte %d changed: got %q", name, i, got)
			}
			if err != nil && !failure.Is(err, failure.Member) {
				t.Fatalf("%s with byte %d changed: %v is not the member's", name, i, err)
			}
		}
	}
}

func TestReaderDropsNoBytesBehind(t *testing.T) {
	for _, tt := range []struct{ name, object, says string }{
		{"text behind gzip", gzipOf("abcd") + "text that is no member", "what follows a member"},
		{"a byte behind gzip", gzipOf("abcd") + "x", "gzip"},
		{"a byte behind a zero behind gzip", gzipOf("abcd") + "\x00x", "what follows a member"},
		{"a byte behind many zeros behind gzip", gzipOf("abcd") + strings.Repeat("\x00", 200_000) + "x", "what follows a member"},
		{"gzip behind zeros behind gzip", gzipOf("abcd") + "\x00\x00" + gzipOf("efgh"), "what follows a member"},
		{"zstd behind gzip", gzipOf("abcd") + zstdOf("efgh"), "what follows a member"},
		{"text behind zstd", zstdOf("abcd") + "text that is no frame", "what follows a frame"},
		{"a byte behind zstd", zstdOf("abcd") + "x", "zstd"},
		{"gzip behind zstd", zstdOf("abcd") + gzipOf("efgh"), "what follows a frame"},
		{"lz4 behind a skippable frame", skippable(0, 4) + "\x04\x22\x4d\x18aaaaaaaaaa", "lz4"},
		{"a frame with a dictionary", zstdMagic + "\x01\x38\x07" + rawBlock(true, "abcd"), "dictionary 7"},
		{"a reserved block", windowFrame(17, block(true, 3, 0)), "corrupt"},
		{"a gzip header with reserved flags", "\x1f\x8b\x08\xff" + strings.Repeat("\x00", 40), "header"},
		{"a gzip header of another method", "\x1f\x8b\x07\x00" + strings.Repeat("\x00", 40), "header"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode(t, codec.Options{}, tt.object)
			wantUndecodable(t, err, tt.says)
			r := codec.NewReader(codec.Options{})
			defer r.Close()
			_, err = read(r, iotest.OneByteReader(strings.NewReader(tt.object)))
			wantUndecodable(t, err, tt.says)
		})
	}
}

// failing ends with err after the bytes of r.
type failing struct {
	r   io.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// endsWithBytes gives as much as fits, and its end together with the last bytes.
type endsWithBytes struct{ r io.Reader }

func (e endsWithBytes) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = e.r.Read(p[n:])
		n += k
	}
	return n, err
}

// once panics when it is read after it ended.
type once struct {
	r   io.Reader
	end error
}

func (o *once) Read(p []byte) (int, error) {
	if o.end != nil {
		panic("read again after " + o.end.Error())
	}
	var n int
	n, o.end = o.r.Read(p)
	return n, o.end
}

// A transport fault is not bad data, wherever it strikes, and whatever error it
// is: io.ErrUnexpectedEOF is how a cut body looks.
func TestReaderPassesTheSourcesErrorOn(t *testing.T) {
	text := logs(400)
	faults := []error{
		failure.New(failure.Transient, failure.RetriesExhausted, errors.New("reset")),
		failure.New(failure.Member, failure.ETagDrift, errors.New("changed")),
		context.Canceled, io.ErrUnexpectedEOF, io.ErrNoProgress,
	}
	r := codec.NewReader(codec.Options{})
	defer r.Close()
	for name, object := range map[string]string{
		"plain": text, "gzip": gzipOf(text) + gzipOf("a"), "padded": gzipOf("a") + strings.Repeat("\x00", 100), "skippable": skippable(3, 50),
		"zstd": zstdOf(text) + windowFrame(17, rawBlock(true, "")) + zstdOf("a"),
	} {
		for n := range len(object) + 1 {
			for _, fault := range faults {
				var src io.Reader = failing{strings.NewReader(object[:n]), fault}
				if n%2 == 0 {
					src = endsWithBytes{src}
				}
				err := r.Reset(&once{r: src})
				if n < codec.HeadBytes && err != fault {
					t.Fatalf("%s, %v after %d bytes: Reset gives %v", name, fault, n, err)
				}
				if err == nil {
					_, err = io.ReadAll(r)
				}
				if err != fault {
					t.Fatalf("%s, %v after %d of %d bytes: got %v", name, fault, n, len(object), err)
				}
				if _, again := r.Read(make([]byte, 8)); again != fault {
					t.Fatalf("%s: then got %v", name, again)
				}
			}
		}
	}
}

func TestReaderIsAsNewAfterReset(t *testing.T) {
	objects := []string{
		"", "ab", logs(70_000), gzipOf(logs(90_000)), zstdOf(logs(90_000)), gzipOf("abcd")[:20], zstdOf("abcd")[:9],
		gzipOf("abcd") + "x", zstdOf("abcd") + "x", "PK\x03\x04aaaa", gzipOf(zstdOf("abcd")), windowFrame(31, rawBlock(true, "")),
		windowFrame(24, rawBlock(true, "a window of 16 MiB")), skippable(0, 4),
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	kept := codec.NewReader(codec.Options{})
	for range 400 {
		object := objects[rnd.IntN(len(objects))]
		if rnd.IntN(4) == 0 { // left in the middle
			_ = kept.Reset(strings.NewReader(object))
			_, _ = kept.Read(make([]byte, rnd.IntN(50)))
			continue
		}
		if rnd.IntN(20) == 0 {
			kept.Close()
		}
		got, gotErr := read(kept, strings.NewReader(object))
		want, wantErr := decode(t, codec.Options{}, object)
		if got != want || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("%.20q: got %d bytes, %v; a new reader gives %d, %v", object, len(got), gotErr, len(want), wantErr)
		}
	}
	_ = kept.Reset(strings.NewReader("abcd"))
	kept.Close()
	kept.Close()
	if n, err := kept.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after Close: %d, %v", n, err)
	}
}

// recorder keeps the buffers that it was asked to fill.
type recorder struct {
	r    io.Reader
	asks [][]byte
}

func (r *recorder) Read(p []byte) (int, error) {
	r.asks = append(r.asks, p)
	return r.r.Read(p)
}

func TestReaderReadsPlainBytesInPlace(t *testing.T) {
	text := logs(1 << 20)
	src := &recorder{r: strings.NewReader(text)}
	r := codec.NewReader(codec.Options{})
	defer r.Close()
	if err := r.Reset(src); err != nil {
		t.Fatal(err)
	}
	if asked := len(src.asks[0]); len(src.asks) != 1 || asked > codec.HeadBytes {
		t.Errorf("Reset asked for %d bytes in %d reads", asked, len(src.asks))
	}
	p := make([]byte, 256<<10)
	n, err := r.Read(p)
	if err != nil || n != len(p) || !bytes.Equal(p, []byte(text[:n])) {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	if last := src.asks[len(src.asks)-1]; &last[len(last)-1] != &p[len(p)-1] {
		t.Error("the source was not asked to fill the caller's buffer")
	}
}
