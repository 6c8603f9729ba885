package s3object_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// tape answers at once, so that the cost of asking is what is left.
type tape struct{ body string }

func (p tape) Do(r *http.Request) (*http.Response, error) {
	return respond(r, http.StatusOK, p.body), nil
}

func benchmarkGet(b *testing.B, wrap func(*s3.Client) s3object.API) {
	const size = 8 << 10
	client := s3.New(s3.Options{Region: "us-east-1", Credentials: anyone, HTTPClient: tape{strings.Repeat("x", size)}})
	bucket := s3object.New(wrap(client), "bucket", "", s3object.Options{})
	o, buf := unit.Object{Key: "year=2026/month=11/part-00042.ndjson", Size: size, ETag: `"9b2cf535f27731c974343645a3985328"`}, make([]byte, size)
	b.ReportAllocs()
	for b.Loop() {
		body, err := bucket.Pin(o).ReadRange(b.Context(), 0, size)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(body, buf); err != nil {
			b.Fatal(err)
		}
		_ = body.Close()
	}
}

func BenchmarkGetThroughTheSDK(b *testing.B) {
	benchmarkGet(b, func(c *s3.Client) s3object.API { return wrapped{c} })
}

func BenchmarkGetPastTheSDK(b *testing.B) {
	benchmarkGet(b, func(c *s3.Client) s3object.API { return c })
}
