package clickhousesink

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-faster/city"
	"github.com/pierrec/lz4/v4"
)

// The server's own compressed blocks, as its native protocol has them and, with
// decompress=1, its HTTP interface too:
//
//	16 bytes  CityHash128 (v1.0.2) of all that follows, low half first
//	 1 byte   method
//	 4 bytes  size of header and data, little endian: 9 more than the data's
//	 4 bytes  size of the data when it is decompressed
//	          data
const (
	lz4Checksum = 16
	lz4Header   = 9
	lz4Block    = piece // bytes of a block before compression: they stay in the processor's cache
	methodLZ4   = 0x82
	methodNone  = 0x02
)

// lz4Writer writes such blocks.
type lz4Writer struct {
	w    io.Writer
	c    lz4.Compressor
	in   []byte // less than a block, gathered
	out  []byte
	fail error
}

func newLZ4Writer() *lz4Writer {
	return &lz4Writer{in: make([]byte, 0, lz4Block), out: make([]byte, lz4Checksum+lz4Header+lz4.CompressBlockBound(lz4Block))}
}

// Reset starts over, with w as the output.
func (z *lz4Writer) Reset(w io.Writer) { z.w, z.in, z.fail = w, z.in[:0], nil }

func (z *lz4Writer) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 && z.fail == nil {
		if len(z.in) == 0 && len(p) >= lz4Block {
			z.block(p[:lz4Block])
			p = p[lz4Block:]
			continue
		}
		n := min(len(p), lz4Block-len(z.in))
		z.in = append(z.in, p[:n]...)
		p = p[n:]
		if len(z.in) == lz4Block {
			z.flush()
		}
	}
	if z.fail != nil {
		return 0, z.fail
	}
	return size, nil
}

// Close writes the rest. Without any bytes it writes no block.
func (z *lz4Writer) Close() error {
	if len(z.in) > 0 && z.fail == nil {
		z.flush()
	}
	return z.fail
}

func (z *lz4Writer) flush() {
	z.block(z.in)
	z.in = z.in[:0]
}

// block writes one block.
func (z *lz4Writer) block(in []byte) {
	data := z.out[lz4Checksum+lz4Header:]
	method := byte(methodLZ4)
	n, err := z.c.CompressBlock(in, data)
	if err != nil {
		z.fail = fmt.Errorf("compress lz4: %w", err)
		return
	}
	if n == 0 || n >= len(in) { // it does not compress
		method = methodNone
		n = copy(data, in)
	}
	block := z.out[:lz4Checksum+lz4Header+n]
	header := block[lz4Checksum:]
	header[0] = method
	binary.LittleEndian.PutUint32(header[1:], uint32(lz4Header+n))
	binary.LittleEndian.PutUint32(header[5:], uint32(len(in)))
	sum := city.CH128(header)
	binary.LittleEndian.PutUint64(block, sum.Low)
	binary.LittleEndian.PutUint64(block[8:], sum.High)
	_, z.fail = z.w.Write(block)
}
