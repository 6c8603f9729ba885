package s3object

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// model is what the GETs of one bucket have in common. It is immutable.
type model struct {
	shared          *http.Request // its URL ends where the key begins
	service, region string        // of the signature; "": it had none
	ahead           time.Duration // by which the store's clock is ahead of this one
}

const (
	algorithm   = "AWS4-HMAC-SHA256"
	dateFormat  = "20060102T150405Z"
	payloadHash = "X-Amz-Content-Sha256"

	// Clocks that differ by less count as equal; S3 tolerates 15 minutes.
	tolerable = time.Minute
)

// inCommon are the headers that do not depend on the object, nor on the call.
var inCommon = []string{"Accept-Encoding", "User-Agent", payloadHash, "X-Amz-Request-Payer", "X-Amz-Expected-Bucket-Owner"}

// learned derives a model from r, a request for key that was sent at the time
// at. It is nil if r was not signed with Signature Version 4 and the client's
// own credentials: multi-Region access points want version 4a, and directory
// buckets session credentials.
func learned(r *http.Request, at time.Time, key string) *model {
	raw, ok := strings.CutSuffix(r.URL.EscapedPath(), httpbinding.EscapePath(key, false))
	if !ok || r.Header.Get("X-Amz-S3session-Token") != "" {
		return nil
	}
	m := &model{shared: &http.Request{
		Method: http.MethodGet, Header: http.Header{},
		URL: &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: strings.TrimSuffix(r.URL.Path, key), RawPath: raw},
	}}
	for _, name := range inCommon {
		if v, ok := r.Header[name]; ok {
			m.shared.Header[name] = v[:len(v):len(v)]
		}
	}
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		return m
	}
	// AWS4-HMAC-SHA256 Credential=ID/date/region/service/aws4_request, SignedHeaders=…
	scope, ok := strings.CutPrefix(authorization, algorithm+" Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/")
	date, err := time.Parse(dateFormat, r.Header.Get("X-Amz-Date"))
	if !ok || len(parts) < 5 || err != nil {
		return nil
	}
	m.region, m.service = parts[len(parts)-3], parts[len(parts)-2]
	if ahead := date.Sub(at); ahead.Abs() > tolerable {
		m.ahead = ahead
	}
	return m
}

func (m *model) signed() bool { return m.service != "" }

// payload is the hash of the empty body.
func (m *model) payload() string { return m.shared.Header.Get(payloadHash) }

// request asks for in, unsigned. The path is escaped here, as S3 wants it: its
// keys are not paths, so nothing may clean them, and net/url would not escape a
// `+`.
func (m *model) request(ctx context.Context, in *s3.GetObjectInput) *http.Request {
	r := m.shared.WithContext(ctx)
	u, key := *m.shared.URL, aws.ToString(in.Key)
	u.Path += key
	u.RawPath += httpbinding.EscapePath(key, false)
	if in.VersionId != nil {
		u.RawQuery = "versionId=" + url.QueryEscape(*in.VersionId)
	}
	r.URL = &u
	r.Header = make(http.Header, 10) // two for the object, three for the signature
	for name, v := range m.shared.Header {
		r.Header[name] = v
	}
	if in.Range != nil {
		r.Header["Range"] = []string{*in.Range}
	}
	if in.IfMatch != nil {
		r.Header["If-Match"] = []string{*in.IfMatch}
	}
	return r
}
