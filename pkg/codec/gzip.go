package codec

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/spate-go/spate/pkg/failure"
)

// gunzip reads every member of a gzip object. Bytes behind the last one that are
// no member fail: dropping them would be silent. Zeros up to the end of the object
// hold nothing: tools that write whole blocks fill the last one with them.
type gunzip struct {
	src    *source
	in     *bufio.Reader // of src
	z      *gzip.Reader  // kept from object to object
	begun  bool
	inside bool // of a member
}

func (g *gunzip) reset(src *source, in *bufio.Reader) {
	*g = gunzip{src: src, in: in, z: g.z}
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		if !g.inside {
			if err := g.next(); err != nil {
				return 0, err
			}
		}
		n, err := g.z.Read(p)
		if err != nil && err != io.EOF {
			return n, g.explain(err, "")
		}
		g.inside = err == nil
		if g.inside || n > 0 {
			return n, nil
		}
	}
}

// next begins a member, or returns io.EOF where there is none.
func (g *gunzip) next() error {
	wrong := "its header is not valid"
	if g.begun {
		wrong = "what follows a member is not another one"
		if err := g.padding(); err == io.EOF {
			return err
		} else if err != nil {
			return g.explain(err, wrong)
		}
	}
	if g.z == nil {
		g.z = new(gzip.Reader)
	}
	if err := g.z.Reset(g.in); err != nil {
		return g.explain(err, wrong)
	}
	g.z.Multistream(false)
	g.begun, g.inside = true, true
	return nil
}

// padding passes over zeros. It returns io.EOF where nothing else follows, and
// gzip.ErrHeader where something follows zeros.
func (g *gunzip) padding() error {
	for zeros := false; ; zeros = true {
		next, err := g.in.Peek(1)
		if err != nil {
			return err
		}
		if next[0] != 0 && !zeros {
			return nil
		}
		held, _ := g.in.Peek(g.in.Buffered())
		if len(bytes.TrimLeft(held, "\x00")) > 0 {
			return gzip.ErrHeader
		}
		_, _ = g.in.Discard(len(held))
	}
}

// explain returns the source's own error if it had one. badHeader says what an
// invalid header means at this point.
func (g *gunzip) explain(err error, badHeader string) error {
	if cause := g.src.failed(); cause != nil {
		return cause
	}
	if errors.Is(err, gzip.ErrHeader) {
		return failure.Errorf(failure.Member, failure.Undecodable, "decompress gzip: %s: %w", badHeader, err)
	}
	return undecodable(Gzip, err)
}

// undecodable marks what a decoder found wrong with bytes that did arrive.
func undecodable(c Codec, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return failure.Errorf(failure.Member, failure.Undecodable,
			"decompress %s: the object is cut short: write it again: %w", c, err)
	}
	return failure.Errorf(failure.Member, failure.Undecodable,
		"decompress %s: the object is corrupt: write it again: %w", c, err)
}
