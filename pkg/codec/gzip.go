package codec

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/spate-go/spate/pkg/failure"
)

// gunzip reads every member of a gzip object. Bytes behind the last one that
// are no member fail: dropping them would be silent.
type gunzip struct {
	src   *source
	in    *bufio.Reader // of src
	z     *gzip.Reader  // kept from object to object
	begun bool
}

func (g *gunzip) reset(src *source, in *bufio.Reader) {
	*g = gunzip{src: src, in: in, z: g.z}
}

func (g *gunzip) Read(p []byte) (int, error) {
	if !g.begun {
		g.begun = true
		if g.z == nil {
			g.z = new(gzip.Reader)
		}
		if err := g.z.Reset(g.in); err != nil {
			return 0, g.explain(err, "its header is not valid")
		}
	}
	n, err := g.z.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, g.explain(err, "what follows a member is not another one")
}

// explain gives the source's fault if it had one; badHeader says what a header
// that is no header means at this place.
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
