package codec

import (
	"bufio"
	"cmp"
	"io"

	"github.com/spate-go/spate/pkg/failure"
)

// bufferBytes is the size of the reads of compressed bytes.
const bufferBytes = 64 << 10

// Options tune a Reader. The zero value is usable.
type Options struct {
	// Force is the codec of every object; "" means that the content decides.
	// Content of another codec than a forced gzip or zstd is undecodable. A
	// forced Plain passes bytes through, whatever they are.
	Force Codec
	// Window is called before a zstd window larger than DefaultWindow is
	// allocated. bytes is the whole window, not its growth: an object whose
	// later frame needs more asks again with the larger number. An error
	// refuses the window, and Read returns it unchanged. The grant lasts until
	// Read returns an error, io.EOF included, or, for an object abandoned
	// earlier, until the next Reset or Close. nil grants every window up to
	// MaxWindow.
	Window func(bytes int64) error
	// MaxWindow is the largest zstd window, in bytes, that is read at all; a
	// larger one is failure.Member, too_large. 0 means DefaultMaxWindow.
	MaxWindow int64
}

// Reader reads one object after another, decompressed. It keeps its decoders
// and buffers, so that an object costs no allocation. It is for one goroutine.
type Reader struct {
	force Codec
	codec Codec

	src source // the object
	buf *bufio.Reader
	gz  gunzip
	zs  unzstd
	out source // what the decoder yields
	// begun: out is in use. That starts with the first Read, so that Reset
	// needs only a few bytes.
	begun bool
	err   error // why there is nothing to read; src and out know how reading ended
}

// NewReader returns a Reader that is at its end until Reset gives it an object.
func NewReader(o Options) *Reader {
	r := &Reader{force: o.Force, codec: Plain, err: io.EOF}
	r.zs.ask, r.zs.limit = o.Window, cmp.Or(o.MaxWindow, DefaultMaxWindow)
	r.zs.frames.admit = r.zs.admit // bound once, not for each object
	return r
}

// Reset starts to read src: it looks at the first bytes and chooses the codec.
// Its error is the source's own, unchanged, or failure.Member, undecodable.
func (r *Reader) Reset(src io.Reader) error {
	r.codec, r.begun = Plain, false
	r.zs.release()
	r.src.reset(src)
	r.err = r.start()
	return r.err
}

func (r *Reader) start() error {
	if err := r.src.failed(); err != nil {
		return err
	}
	c, err := r.choose(r.src.peek())
	if err != nil || c == Plain {
		return err
	}
	r.codec = c
	if r.buf == nil {
		r.buf = bufio.NewReaderSize(&r.src, bufferBytes)
	} else {
		r.buf.Reset(&r.src)
	}
	if c == Gzip {
		r.gz.reset(&r.src, r.buf)
		return nil
	}
	return r.zs.reset(r.buf)
}

func (r *Reader) choose(head []byte) (Codec, error) {
	switch r.force {
	case "":
		return Sniff(head)
	case Plain:
		return Plain, nil
	case Gzip, Zstd:
	default:
		return "", failure.Errorf(failure.Job, failure.Config, "read object: compression %q is unknown: use gzip, zstd or none", r.force)
	}
	c, name := identify(head)
	if c == r.force || len(head) == 0 { // an empty object is valid in every codec
		return c, nil
	}
	if c == Plain {
		name = "not compressed"
	} else if name == "" {
		name = string(c)
	}
	return "", failure.Errorf(failure.Member, failure.Undecodable,
		"read object: it is %s, and compression is forced to %s: let the content decide (auto)", name, r.force)
}

// Codec is the codec of the current object.
func (r *Reader) Codec() Codec { return r.codec }

// Read reads decompressed bytes; plain ones go from the source into p without
// another copy. An error of the source is returned unchanged. Bytes that do not
// decode, or end too early, are failure.Member, undecodable; the bytes before
// the damage were delivered by then. After an error it returns that error.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.codec == Plain {
		return r.src.Read(p)
	}
	if !r.begun {
		r.begun = true
		if r.err = r.begin(); r.err != nil {
			return 0, r.err
		}
	}
	return r.out.Read(p)
}

// begin looks at the decompressed content. An archive or UTF-16 is no more
// readable inside gzip, and an object compressed twice would come out as
// garbage. A forced codec skips the check: its user has said what to undo, and
// gets what is in it.
func (r *Reader) begin() error {
	if r.codec == Gzip {
		r.out.reset(&r.gz)
	} else {
		r.out.reset(&r.zs)
	}
	if r.force != "" {
		return nil
	}
	c, name := identify(r.out.peek())
	if c == Plain {
		return nil
	}
	if name == "" {
		name = string(c)
	}
	return failure.Errorf(failure.Member, failure.Undecodable,
		"decompress %s: the content is %s, which is not supported: store UTF-8 text, compressed once", r.codec, name)
}

// Close frees the decoders and forgets the source, which it does not close. A
// Reader that is Reset afterwards makes new ones.
func (r *Reader) Close() {
	r.zs.close()
	r.src, r.out, r.buf, r.gz = source{}, source{}, nil, gunzip{}
	r.zs.frames.reset(nil)
	r.codec, r.err = Plain, io.EOF
}
