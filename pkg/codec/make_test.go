package codec_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	stdgzip "compress/gzip"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/codec"
)

// gzipOf is one member.
func gzipOf(content string) string {
	var b bytes.Buffer
	w := stdgzip.NewWriter(&b)
	w.Name = "a-name.ndjson"
	_, _ = w.Write([]byte(content))
	_ = w.Close()
	return b.String()
}

// zstdOf is one frame as the library writes it, with a checksum.
func zstdOf(content string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	_, _ = w.Write([]byte(content))
	_ = w.Close()
	return b.String()
}

const zstdMagic = "\x28\xb5\x2f\xfd"

// Frames written by hand: signature, descriptor, window (2 to the log), blocks.
func windowFrame(log byte, blocks ...string) string {
	return zstdMagic + "\x00" + string([]byte{(log - 10) << 3}) + strings.Join(blocks, "")
}

// singleSegment declares its content's size, and no window of its own.
func singleSegment(size uint64, blocks ...string) string {
	return zstdMagic + "\xe0" + string(binary.LittleEndian.AppendUint64(nil, size)) + strings.Join(blocks, "")
}

func block(last bool, kind, size int) string {
	bits := size<<3 | kind<<1
	if last {
		bits |= 1
	}
	return string([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16)})
}

func rawBlock(last bool, content string) string { return block(last, 0, len(content)) + content }

func rleBlock(last bool, b byte, n int) string { return block(last, 1, n) + string([]byte{b}) }

func skippable(low byte, n int) string {
	return string([]byte{0x50 | low}) + "\x2a\x4d\x18" +
		string(binary.LittleEndian.AppendUint32(nil, uint32(n))) + strings.Repeat("?", n)
}

// logs is content that compresses about as logs do.
func logs(n int) string {
	rnd := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(`{"status":`)
		b.WriteString(slices.Clone([]string{"200", "404", "503"})[rnd.IntN(3)])
		b.WriteString(`,"path":"/v1/items/`)
		for range 12 {
			b.WriteByte(byte('a' + rnd.IntN(26)))
		}
		b.WriteString("\"}\n")
	}
	return b.String()[:n]
}

// read reads one object to its end with r.
func read(r *codec.Reader, src io.Reader) (string, error) {
	if err := r.Reset(src); err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

func decode(t *testing.T, o codec.Options, object string) (string, error) {
	t.Helper()
	r := codec.NewReader(o)
	defer r.Close()
	return read(r, strings.NewReader(object))
}
