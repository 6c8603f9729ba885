package s3sink

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/failure"
)

// Compression is how objects are compressed.
type Compression string

// The compressions.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

func (c Compression) extension() string {
	switch c {
	case Gzip:
		return ".gz"
	case Zstd:
		return ".zst"
	case None:
	}
	return ""
}

// mediaType is of the bytes as they are.
func (c Compression) mediaType() string {
	switch c {
	case Gzip:
		return "application/gzip"
	case Zstd:
		return "application/zstd"
	case None:
	}
	return "application/x-ndjson"
}

func (c Compression) check(level int) error {
	top := 0
	switch c {
	case "", None:
	case Gzip:
		top = gzip.BestCompression
	case Zstd:
		top = 22
	default:
		return fmt.Errorf("compression %q is not one of %s, %s and %s", c, None, Gzip, Zstd)
	}
	switch {
	case level == 0 || level > 0 && level <= top:
		return nil
	case top == 0:
		return fmt.Errorf("level %d: compression none has no levels", level)
	}
	return fmt.Errorf("level %d: %s has 1 to %d", level, c, top)
}

// maxWindow is the largest window that every zstd decoder must accept.
const maxWindow = 8 << 20

// packing compresses, the same rows always to the same bytes: headers hold
// neither name nor time, and one goroutine makes an object.
type packing struct {
	compression Compression
	level       int
	zstd        *zstd.Encoder // shared; nil: it is not used
	packers     sync.Pool     // of *packer
}

// packer is what an object's compression needs and the next one uses again.
type packer struct {
	data []byte
	gzip *gzip.Writer // nil: it was not used yet
}

func newPacking(c Compression, level int) (*packing, error) {
	p := &packing{compression: c, level: level}
	if level == 0 {
		p.level = gzip.DefaultCompression
	}
	if c == Zstd {
		o := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(maxWindow)}
		if level != 0 {
			o[0] = zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level))
		}
		var err error
		if p.zstd, err = zstd.NewWriter(nil, o...); err != nil {
			return nil, failure.Errorf(failure.Job, failure.Config, "compress zstd: %w", err)
		}
	}
	return p, nil
}

// pack returns the object that rows become, which is the caller's until it calls
// done.
func (p *packing) pack(rows []byte) (data []byte, done func()) {
	if p.compression == None {
		return rows, func() {}
	}
	k, ok := p.packers.Get().(*packer)
	if !ok {
		k = new(packer)
	}
	if p.compression == Zstd {
		k.data = p.zstd.EncodeAll(rows, k.data[:0])
	} else {
		k.deflate(rows, p.level)
	}
	return k.data, func() { p.packers.Put(k) }
}

func (k *packer) deflate(rows []byte, level int) {
	out := bytes.NewBuffer(k.data[:0])
	if k.gzip == nil {
		k.gzip, _ = gzip.NewWriterLevel(out, level) // that New has checked
	} else {
		k.gzip.Reset(out)
	}
	_, _ = k.gzip.Write(rows) // to memory
	_ = k.gzip.Close()
	k.data = out.Bytes()
}
