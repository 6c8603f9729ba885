package clickhousesink

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func checkLevel(c Compression, level int) error {
	top := 0
	switch c {
	case None, LZ4:
	case Gzip:
		top = gzip.BestCompression
	case Zstd:
		top = 22
	default:
		return wrong("compression %q is not one of %s, %s, %s and %s", c, None, Gzip, Zstd, LZ4)
	}
	switch {
	case level == 0 || level > 0 && level <= top:
		return nil
	case top == 0:
		return wrong("level %d: %s has none", level, c)
	}
	return wrong("level %d: %s has 1 to %d", level, c, top)
}

// encoder is a writer that compresses into another, and can be reset.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// packing makes compressed readers. Encoders are kept for the next insert.
type packing struct {
	compression Compression
	level       int
	encoders    sync.Pool // of encoder
}

// encoding is the bodies' Content-Encoding: none for lz4, whose framing is the
// server's own.
func (p *packing) encoding() string {
	switch p.compression {
	case Gzip, Zstd:
		return string(p.compression)
	case None, LZ4:
	}
	return ""
}

func (p *packing) encoder() encoder {
	if e, ok := p.encoders.Get().(encoder); ok {
		return e
	}
	switch p.compression {
	case Gzip:
		level := p.level
		if level == 0 {
			level = gzip.BestSpeed
		}
		w, _ := gzip.NewWriterLevel(nil, level) // that was checked
		return w
	case Zstd:
		level := zstd.SpeedFastest
		if p.level != 0 {
			level = zstd.EncoderLevelFromZstd(p.level)
		}
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // options that are in range
		return w
	case LZ4:
		return newLZ4Writer()
	case None:
	}
	return nil
}

// pack compresses src, in pieces, as it is asked for.
func (p *packing) pack(src source) source {
	if p.compression == None {
		return src
	}
	r := &packed{p: p, src: src, enc: p.encoder()}
	r.enc.Reset(&r.out)
	return r
}

type packed struct {
	p     *packing
	src   source
	enc   encoder // nil: closed
	out   bytes.Buffer
	taken int // of src
	ended bool
}

func (r *packed) next(limit int) ([]byte, error) {
	for r.out.Len() == 0 {
		if r.ended || r.enc == nil {
			return nil, io.EOF
		}
		r.out.Reset()
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	return r.out.Next(limit), nil
}

// fill compresses what comes next, up to a multiple of whole pieces: encoders that
// work on such need not gather them. Writes are to memory and do not fail.
func (r *packed) fill() error {
	data, err := r.src.next(piece - r.taken%piece)
	r.taken += len(data)
	if _, e := r.enc.Write(data); e != nil {
		return e
	}
	if err == io.EOF {
		r.ended = true
		return r.enc.Close()
	}
	return err
}

// Close gives the encoder to the next insert.
func (r *packed) Close() error {
	if c, ok := r.src.(io.Closer); ok {
		_ = c.Close()
	}
	if r.enc != nil {
		r.enc.Reset(io.Discard)
		r.p.encoders.Put(r.enc)
		r.enc = nil
	}
	return nil
}
