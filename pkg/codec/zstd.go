package codec

import (
	"bufio"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/failure"
)

const (
	// DefaultWindow is the zstd window that a Reader may hold without asking, in
	// bytes: what every level up to --ultra uses.
	DefaultWindow = 8 << 20
	// DefaultMaxWindow is the cap where Options set none, in bytes: that of the
	// zstd command and of --long=27.
	DefaultMaxWindow = 128 << 20
)

// unzstd reads every frame of a zstd object.
type unzstd struct {
	ask   func(bytes int64) error // nil: every window up to the limit is granted
	limit int64

	frames frames // asks admit
	dec    *zstd.Decoder
	window int64 // the largest granted to dec
}

func (u *unzstd) reset(in *bufio.Reader) error {
	u.frames.reset(in)
	if u.dec == nil {
		dec, err := zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), // in the caller's goroutine
			zstd.WithDecoderLowmem(true),   // one window and a block, not two windows
			zstd.WithDecoderMaxWindow(uint64(max(u.limit, zstd.MinWindowSize))))
		if err != nil {
			return failure.Errorf(failure.Job, failure.Config, "decompress zstd: limit of %v: %w", config.Size(u.limit), err)
		}
		u.dec = dec
	}
	return u.dec.Reset(&u.frames)
}

func (u *unzstd) Read(p []byte) (int, error) {
	n, err := u.dec.Read(p)
	if err == nil {
		return n, nil
	}
	u.release()
	// The decoder folds errors into its own; frames has them unchanged, the
	// source's among them.
	switch u.frames.err {
	case nil:
		return n, undecodable(Zstd, err)
	case io.EOF:
		if err != io.EOF {
			err = undecodable(Zstd, err)
		}
		return n, err
	}
	return n, u.frames.err
}

func (u *unzstd) admit(window uint64) error {
	if window > uint64(u.limit) {
		return failure.Errorf(failure.Member, failure.TooLarge,
			"decompress zstd: a frame declares a window of %v and the cap is %v: compress with a smaller --long",
			config.Size(min(window, math.MaxInt64)), config.Size(u.limit))
	}
	w := int64(window)
	if w > max(u.window, DefaultWindow) && u.ask != nil {
		if err := u.ask(w); err != nil {
			return err
		}
	}
	u.window = max(u.window, w)
	return nil
}

// release ends the grant of a window beyond the default. The decoder never
// gives memory back, so it is dropped whole.
func (u *unzstd) release() {
	if u.window > DefaultWindow {
		u.close()
	}
}

func (u *unzstd) close() {
	if u.dec != nil {
		u.dec.Close()
	}
	u.dec, u.window = nil, 0
}
