// Package inspect says what an object is: what its name and metadata promise,
// what its content is, and how its first records look.
//
// It decides nothing for a job: codecs and framers do, and where they have a
// verdict its guess is theirs. It reads only the beginning of an object.
//
// The law: what is printed of an object's content is bounded and holds no control
// characters, for it ends up on terminals.
package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Options tune Object. The zero value is usable.
type Options struct {
	Records     int // how many; 0 means 3
	RecordBytes int // shown of each; 0 means 200
	// Each, if not nil, is called with every complete record of the beginning,
	// and must not keep it.
	Each func(record []byte)
}

// readBytes of an object, decompressed, are enough to tell.
const readBytes = 1 << 20

// Metadata is what a store says about an object besides its pin.
type Metadata struct {
	ContentType, ContentEncoding string
	StorageClass                 string
}

// Finding is what an object is.
type Finding struct {
	Size         int64       `json:"size"`
	ETag         string      `json:"etag"`
	Version      string      `json:"version,omitempty"`
	LastModified time.Time   `json:"last_modified,omitzero"`
	StorageClass string      `json:"storage_class,omitempty"`
	Label        Description `json:"label"`   // by name and metadata
	Content      Description `json:"content"` // "" if it is not known
	// Mismatches are where label and content differ.
	Mismatches []string `json:"mismatches"`
	// Records are the first ones, shortened and escaped.
	Records []string `json:"records"`
	// Problem is why no more of the content could be read.
	Problem string `json:"problem,omitempty"`
}

// Description is a compression and a format.
type Description struct {
	Compression string `json:"compression"`
	Format      string `json:"format"`
}

// Object looks at o, pinned, through from. It fails only if o cannot be read;
// what is wrong with its content is in the Finding.
func Object(ctx context.Context, from object.Opener, o unit.Object, m Metadata, opt Options) (f *Finding, err error) {
	f = &Finding{
		Size: o.Size, ETag: o.ETag, Version: o.Version, LastModified: o.LastModified, StorageClass: m.StorageClass,
		Label: labelOf(o.Key, m), Mismatches: []string{}, Records: []string{},
	}
	if o.Size == 0 {
		f.Problem = "it is empty"
		return f, nil
	}
	in := object.NewReader(ctx, from, []object.Part{{Object: o, End: o.Size}}, object.Options{Window: readBytes, Ahead: -1})
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := in.Next(); err != nil {
		return nil, err
	}
	src := &source{r: in}
	head, whole, err := f.read(src)
	if src.err != nil {
		return nil, src.err // of the store, not of the content
	}
	switch {
	case err != nil:
		f.Problem = err.Error()
	case len(head) == 0:
		f.Problem = "it is empty"
	}
	if f.Content.Compression != "" && len(head) > 0 {
		f.records(head, whole, Options{Records: cmp.Or(opt.Records, 3), RecordBytes: cmp.Or(opt.RecordBytes, 200), Each: opt.Each})
	}
	f.compare()
	return f, nil
}

// read returns the beginning of the content, and whether that is all of it.
func (f *Finding) read(src io.Reader) (head []byte, whole bool, err error) {
	r := codec.NewReader(codec.Options{})
	defer r.Close()
	if err := r.Reset(src); err != nil {
		return nil, false, err
	}
	f.Content.Compression = string(r.Codec())
	var b bytes.Buffer
	_, err = io.CopyN(&b, r, readBytes)
	if errors.Is(err, io.EOF) {
		return b.Bytes(), true, nil
	}
	return b.Bytes(), false, err
}

// source keeps a fault of reading apart from what codecs say of what was read.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
