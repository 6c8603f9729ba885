package dirobject

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Pin pins o.
func (b *Bucket) Pin(o unit.Object) object.Pinned { return &pinned{b: b, o: o} }

// pinned holds one descriptor from the first ReadRange to Close, so that all
// windows are of one file even if its name is given to another.
type pinned struct {
	b *Bucket
	o unit.Object

	mu   sync.Mutex
	file *os.File // guarded by mu
}

// ReadRange opens a window. The check by name finds a file that was replaced or
// removed, as S3 would say it; the descriptor alone would go on reading the old
// one.
func (p *pinned) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := p.b.file(p.o.Key)
	if err != nil {
		return nil, err
	}
	f, err := p.open(path)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, p.b.classify("read", path, err)
	}
	if err := p.same(fi); err != nil {
		return nil, err
	}
	return &body{p: p, f: f, r: io.NewSectionReader(f, off, n)}, nil
}

func (p *pinned) open(path string) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return p.file, nil
	}
	// Only a regular file is opened: a pipe would wait for its writer.
	fi, err := os.Stat(path)
	if err != nil {
		return nil, p.b.classify("open", path, err)
	}
	if !fi.Mode().IsRegular() {
		return nil, failure.Errorf(failure.Member, failure.NotFound, "open %q: it is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, p.b.classify("open", path, err)
	}
	p.file = f
	return f, nil // every read checks that it is the pinned one
}

// check fails if the open file is not the pinned version, or not any more.
func (p *pinned) check(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return p.b.classify("stat", f.Name(), err)
	}
	return p.same(fi)
}

func (p *pinned) same(fi os.FileInfo) error {
	if now := etag(fi); now != p.o.ETag {
		return failure.Errorf(failure.Member, failure.ETagDrift,
			"read %q: the file changed: it is %s and was %s: list again once it is no longer written to", p.o.Key, now, p.o.ETag)
	}
	return nil
}

// Close makes the last check and gives the descriptor back.
func (p *pinned) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	err := p.check(p.file)
	_ = p.file.Close() // nothing was written
	p.file = nil
	return err
}

// body reads one window.
type body struct {
	p *pinned
	f *os.File
	r *io.SectionReader
}

// Read checks after reading: a check before it says nothing about the bytes.
func (b *body) Read(buf []byte) (int, error) {
	n, err := b.r.Read(buf)
	if changed := b.p.check(b.f); changed != nil {
		return 0, changed
	}
	if err != nil && err != io.EOF {
		err = b.p.b.classify("read", b.f.Name(), err)
	}
	return n, err
}

// Close leaves the descriptor to the other windows.
func (b *body) Close() error { return nil }
