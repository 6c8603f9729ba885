package s3object

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Pin pins o to its ETag, and to its version where that is known.
func (b *Bucket) Pin(o unit.Object) object.Pinned {
	return &pinned{b: b, o: o, etag: quoted(o.ETag)}
}

type pinned struct {
	b *Bucket
	o unit.Object

	mu   sync.Mutex
	etag string // guarded by mu; where none was listed, that of the first answer
}

// once turns the SDK's retries off: object.Reader has its own, which resume at
// the exact byte and are counted, and so has the lister.
func once(o *s3.Options) {
	o.Retryer = aws.NopRetryer{}
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
}

// ReadRange sends one GET. Where the whole object is asked for there is no Range
// header: S3 answers as cheaply, and an empty object has no range.
func (p *pinned) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	if err := checkKey(p.o.Key); err != nil {
		return nil, err
	}
	in := &s3.GetObjectInput{
		Bucket: &p.b.bucket, Key: &p.o.Key,
		RequestPayer: p.b.opt.payer(), ExpectedBucketOwner: p.b.opt.owner(),
	}
	whole := off == 0 && n == p.o.Size
	if !whole {
		in.Range = aws.String("bytes=" + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(off+n-1, 10))
	}
	if etag := p.pin(""); etag != "" {
		in.IfMatch = &etag
	}
	c := s3failure.Call{Verb: "get", Action: "s3:GetObject", Bucket: p.b.bucket, Key: p.o.Key}
	if p.o.Version != "" {
		in.VersionId = &p.o.Version
		c.Action = "s3:GetObjectVersion"
	}
	out, err := p.b.api.GetObject(ctx, in, once)
	if err != nil {
		return nil, c.Classify(ctx, err, answered)
	}
	if err := p.check(c, out, off, n, whole); err != nil {
		_ = out.Body.Close() // its connection goes with it
		return nil, err
	}
	return out.Body, nil
}

// Close has nothing left to check: every response was checked.
func (p *pinned) Close() error { return nil }

// pin returns the ETag that the object is pinned to; if there is none yet, it
// becomes etag. Without one the windows of an object might be of two versions.
func (p *pinned) pin(etag string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.etag == "" {
		p.etag = etag
	}
	return p.etag
}

// check compares the response with the request. The store is not trusted: there
// are proxies that drop Range, and stores that drop If-Match.
func (p *pinned) check(c s3failure.Call, out *s3.GetObjectOutput, off, n int64, whole bool) error {
	if etag := quoted(aws.ToString(out.ETag)); etag != "" {
		if pinned := p.pin(etag); pinned != etag {
			return failure.Errorf(failure.Member, failure.ETagDrift, "%s: it is %s now and was %s", c, etag, pinned)
		}
	}
	size := aws.ToInt64(out.ContentLength)
	if got := aws.ToString(out.ContentRange); !whole || got != "" {
		first, last, total, ok := parseContentRange(got)
		if !ok || first != off || last != off+n-1 {
			return failure.Errorf(failure.Transient, failure.RetriesExhausted,
				"%s: asked for bytes %d to %d, the answer's range is %q: the endpoint, or a proxy before it, does not serve ranges", c, off, off+n-1, got)
		}
		size = total
	} else if out.ContentLength == nil {
		return nil // sent in chunks; the reader counts
	}
	if size != p.o.Size {
		return failure.Errorf(failure.Member, failure.ETagDrift, "%s: it has %d bytes and was listed with %d", c, size, p.o.Size)
	}
	if l := out.ContentLength; l != nil && *l != n {
		return failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s: asked for %d bytes, the answer announces %d", c, n, *l)
	}
	return nil
}

// parseContentRange reads `bytes first-last/total`.
func parseContentRange(s string) (first, last, total int64, ok bool) {
	n, err := fmt.Sscanf(s, "bytes %d-%d/%d", &first, &last, &total)
	return first, last, total, n == 3 && err == nil
}
