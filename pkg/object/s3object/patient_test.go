package s3object_test

import (
	"context"
	"io"
	"net/http"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// patient is a bucket at the end of a network, as whoever uses one sees it: what
// failed for a reason that may pass is asked again, and a body goes on where it
// broke off. A driver does neither.
type patient struct{ object.Bucket }

const tries = 3 // of one call

func again[T any](ask func() (T, error)) (got T, err error) {
	for range tries {
		if got, err = ask(); !failure.Is(err, failure.Transient) {
			break
		}
	}
	return got, err
}

func (p patient) List(ctx context.Context, after string) (object.Page, error) {
	return again(func() (object.Page, error) { return p.Bucket.List(ctx, after) })
}

func (p patient) Pin(o unit.Object) object.Pinned { return patientPin{p.Bucket.Pin(o)} }

type patientPin struct{ object.Pinned }

func (p patientPin) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	body, err := again(func() (io.ReadCloser, error) { return p.Pinned.ReadRange(ctx, off, n) })
	if err != nil {
		return nil, err
	}
	return &patientBody{body, ctx, p, off, off + n, tries}, nil
}

type patientBody struct {
	io.ReadCloser
	ctx      context.Context // of the call that the body is of
	pin      patientPin
	off, end int64
	left     int // tries
}

func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.off += int64(n)
	if err == nil || err == io.EOF || b.ctx.Err() != nil || b.off == b.end || b.left == 0 {
		return n, err
	}
	b.left--
	_ = b.ReadCloser.Close() // it is broken
	b.ReadCloser, err = b.pin.ReadRange(b.ctx, b.off, b.end-b.off)
	if err != nil {
		b.ReadCloser = http.NoBody
	}
	return n, err
}
