package codec

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/failure"
)

const (
	maxFrameHeader = 18 // signature 4, descriptor 1, window 1, dictionary 4, content size 8
	minFrameWindow = 1 << 10
	blockHeader    = 3
	frameChecksum  = 4
)

// frames hands the bytes of zstd frames to a decoder and walks their outer
// structure on the way: headers and block sizes, nothing of the content. So
// admit is asked about every frame before the decoder sees it, and can refuse a
// window that the decoder would simply allocate. Skippable frames are dropped.
type frames struct {
	in *bufio.Reader
	// admit is asked about each frame's window, in bytes.
	admit func(window uint64) error

	header   zstd.Header
	inFrame  bool  // the next piece is a block, not a frame
	checksum bool  // of the frame, after its last block
	left     int64 // bytes of the current piece that were not handed out yet
	err      error // how it ended; io.EOF between two frames only
}

func (f *frames) reset(in *bufio.Reader) { *f = frames{in: in, admit: f.admit} }

func (f *frames) Read(p []byte) (int, error) {
	for f.left == 0 && f.err == nil {
		f.err = f.next()
	}
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	if n > 0 {
		return n, nil // an error that came with bytes comes again at the next Read
	}
	f.err = endsInside(err)
	return 0, f.err
}

// next finds the piece to hand out: a frame's header, or a block.
func (f *frames) next() error {
	if f.inFrame {
		return f.block()
	}
	head, end := f.in.Peek(maxFrameHeader)
	if len(head) == 0 {
		return end
	}
	switch err := f.header.Decode(head); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return endsInside(end)
	case errors.Is(err, zstd.ErrMagicMismatch):
		return notAFrame(head)
	case err != nil:
		return undecodable(Zstd, err)
	case f.header.Skippable:
		return f.skip(int64(f.header.HeaderSize) + int64(f.header.SkippableSize))
	}
	return f.frame(&f.header)
}

func (f *frames) frame(h *zstd.Header) error {
	if h.DictionaryID != 0 {
		return failure.Errorf(failure.Member, failure.Undecodable,
			"decompress zstd: a frame needs dictionary %d: compress without a dictionary", h.DictionaryID)
	}
	window := h.WindowSize
	if h.SingleSegment { // decoded in one piece, which then is the window
		window = max(h.FrameContentSize, minFrameWindow)
	}
	if err := f.admit(window); err != nil {
		return err
	}
	f.left, f.inFrame, f.checksum = int64(h.HeaderSize), true, h.HasCheckSum
	return nil
}

func (f *frames) block() error {
	b, end := f.in.Peek(blockHeader)
	if len(b) < blockHeader {
		return endsInside(end)
	}
	const isRLE = 1
	bits := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
	last, kind, size := bits&1 != 0, bits>>1&3, bits>>3
	if kind == isRLE {
		size = 1 // the byte that is repeated
	}
	f.left = blockHeader + size
	if last {
		f.inFrame = false
		if f.checksum {
			f.left += frameChecksum
		}
	}
	return nil
}

func (f *frames) skip(n int64) error {
	for n > 0 {
		k, err := f.in.Discard(int(min(n, 1<<30)))
		if err != nil {
			return endsInside(err)
		}
		n -= int64(k)
	}
	return nil
}

// endsInside turns an io.EOF in the middle of a frame into the error of an
// object that is cut short.
func endsInside(err error) error {
	if err == io.EOF {
		return undecodable(Zstd, io.ErrUnexpectedEOF)
	}
	return err
}

func notAFrame(head []byte) error {
	if _, name := identify(head); name != "" {
		return failure.Errorf(failure.Member, failure.Undecodable,
			"decompress zstd: among the frames is %s, which is not supported", name)
	}
	return failure.Errorf(failure.Member, failure.Undecodable,
		"decompress zstd: what follows a frame is not another one: %w", zstd.ErrMagicMismatch)
}
