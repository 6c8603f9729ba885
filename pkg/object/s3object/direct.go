package s3object

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// direct is a client whose GETs cost a third of the SDK's. Of what the SDK does
// for a GET, little depends on the object; the rest comes out alike each time,
// from some four hundred allocations. So the SDK makes one GET, and its request
// is the model of those that follow. Nothing is derived from configuration here:
// endpoint, addressing, headers, region and service are those of a request that
// the SDK built and the store granted.
//
// An error response is never judged here. There is one judge, classify, and it
// reads errors of the SDK:
//
//   - Load, a broken connection, and what is the object's own fault (gone, or not
//     as it was pinned) are no doubt about the request. The SDK is given that very
//     answer as the one to a request of its own: it words the error, and a store
//     that asks to slow down is not asked twice.
//   - Anything else may be about the request: its signature, clock, token, region
//     or endpoint. The model is dropped and the SDK asks for itself, with all that
//     it knows of clocks and tokens, and gives a new model once it is granted.
type direct struct {
	*s3.Client
	http        s3.HTTPClient
	signer      s3.HTTPSignerV4
	credentials aws.CredentialsProvider // the SDK's, which caches; nil: requests are not signed

	model atomic.Pointer[model] // nil: not learned
}

// newDirect returns c with cheap GETs, or c itself if it has middleware or
// request logging, which must see every request.
func newDirect(c *s3.Client) API {
	o := c.Options()
	if len(o.APIOptions) > 0 || o.ClientLogMode != 0 {
		return c
	}
	return &direct{Client: c, http: o.HTTPClient, signer: o.HTTPSignerV4, credentials: o.Credentials}
}

// GetObject ignores opts while it works from a model: that was learned from a
// request with those opts.
func (d *direct) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	m := d.model.Load()
	if m == nil {
		return d.learn(ctx, in, opts)
	}
	r := m.request(ctx, in)
	if m.signed() {
		c, err := d.credentials.Retrieve(ctx)
		if err == nil {
			err = d.signer.SignHTTP(ctx, c, r, m.payload(), m.service, m.region, time.Now().Add(m.ahead))
		}
		if err != nil {
			return d.learn(ctx, in, opts)
		}
	}
	resp, err := d.http.Do(r)
	switch {
	case err != nil:
		return d.reword(ctx, in, opts, answer{err: err})
	case granted(resp.StatusCode):
		return output(resp), nil
	case undoubted(resp.StatusCode):
		return d.reword(ctx, in, opts, answer{resp: resp})
	}
	_ = resp.Body.Close()
	d.model.CompareAndSwap(m, nil)
	return d.learn(ctx, in, opts)
}

func granted(status int) bool { return status >= 200 && status < 300 }

// undoubted reports whether a refusal is about the object, or about load.
func undoubted(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// output holds what check and the reader use of resp.
func output(resp *http.Response) *s3.GetObjectOutput {
	out := &s3.GetObjectOutput{
		Body:         resp.Body,
		ETag:         aws.String(resp.Header.Get("ETag")),
		ContentRange: aws.String(resp.Header.Get("Content-Range")),
	}
	if resp.ContentLength >= 0 { // else it is sent in chunks
		out.ContentLength = aws.Int64(resp.ContentLength)
	}
	return out
}

// learn asks through the SDK and keeps the request as the model if it is granted.
func (d *direct) learn(ctx context.Context, in *s3.GetObjectInput, opts []func(*s3.Options)) (*s3.GetObjectOutput, error) {
	w := &witness{HTTPClient: d.http}
	out, err := d.Client.GetObject(ctx, in, with(opts, w)...)
	if err == nil && w.seen != nil {
		if m := learned(w.seen, w.at, aws.ToString(in.Key)); m != nil && (d.credentials != nil || !m.signed()) {
			d.model.Store(m)
		}
	}
	return out, err
}

// reword has the SDK turn a into one of its errors. No request is sent.
func (d *direct) reword(ctx context.Context, in *s3.GetObjectInput, opts []func(*s3.Options), a answer) (*s3.GetObjectOutput, error) {
	if a.resp != nil {
		defer a.resp.Body.Close() // the SDK may find no use for it
	}
	return d.Client.GetObject(ctx, in, with(opts, a)...)
}

// with returns opts with c as the client that sends the requests.
func with(opts []func(*s3.Options), c s3.HTTPClient) []func(*s3.Options) {
	return append(opts[:len(opts):len(opts)], func(o *s3.Options) { o.HTTPClient = c })
}

// witness sees the last request as it is sent.
type witness struct {
	s3.HTTPClient
	seen *http.Request
	at   time.Time
}

func (w *witness) Do(r *http.Request) (*http.Response, error) {
	w.seen, w.at = r, time.Now()
	return w.HTTPClient.Do(r)
}

// answer is a client that gives one known response to any request.
type answer struct {
	resp *http.Response
	err  error
}

func (a answer) Do(*http.Request) (*http.Response, error) { return a.resp, a.err }
