package sample

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// writer returns a writer into w whose Close ends the compressed stream and
// leaves w open.
func (c Compression) writer(w io.Writer) (io.WriteCloser, error) {
	switch c {
	case None, "":
		return open{w}, nil
	case Gzip:
		return gzip.NewWriter(w), nil
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // one, or the bytes depend on the machine
	}
	return nil, fmt.Errorf("make object: compression %q is not one of %s, %s, %s", c, None, Gzip, Zstd)
}

// open is a writer that has nothing to end.
type open struct{ io.Writer }

func (open) Close() error { return nil }
