package s3object_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/object/objecttest"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// TestConformanceOnEndpoint runs the suite on whatever AWS_ENDPOINT_URL names, in
// a bucket of its own that it leaves there: point it at what is thrown away.
func TestConformanceOnEndpoint(t *testing.T) {
	awstest.Require(t, "S3")
	awstest.Credentials(t)
	client, err := s3object.NewClient(t.Context(), s3object.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bucket := fmt.Sprintf("spate-object-%08x", rand.Uint32())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{sdk, direct} {
		t.Run(way, func(t *testing.T) {
			stores := 0
			objecttest.Run(t, objecttest.Harness{
				PageSize: 1000,
				New: func(t *testing.T) objecttest.Store {
					stores++
					return store(t, client, way, bucket, fmt.Sprintf("%s+%d/", way, stores))
				},
			})
		})
	}
}

func store(t *testing.T, client *s3.Client, way, bucket, prefix string) objecttest.Store {
	bodies := &counting{HTTPClient: client.Options().HTTPClient}
	counted := s3.New(client.Options(), func(o *s3.Options) { o.HTTPClient = bodies })
	s := objecttest.Store{
		Bucket: patient{s3object.New(counted, bucket, prefix, s3object.Options{})},
		Prefix: prefix,
		Put: func(key string, data []byte) {
			if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data)}); err != nil {
				t.Fatalf("put %q: %v", key, err)
			}
		},
		Delete: func(key string) {
			if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
				t.Fatalf("delete %q: %v", key, err)
			}
		},
		Held: func() int { return int(bodies.open.Load()) },
	}
	if way == sdk {
		s.Bucket = patient{s3object.New(wrapped{counted}, bucket, prefix, s3object.Options{})}
		return s
	}
	// The first GET is the SDK's all the same.
	s.Put("first", []byte("1"))
	first, err := s.Bucket.Pin(unit.Object{Key: "first", Size: 1}).ReadRange(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	return s
}

// counting counts the bodies that are open.
type counting struct {
	s3.HTTPClient
	open atomic.Int64
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.HTTPClient.Do(r)
	if err == nil {
		c.open.Add(1)
		resp.Body = &counted{ReadCloser: resp.Body, c: c}
	}
	return resp, err
}

type counted struct {
	io.ReadCloser
	c      *counting
	closed atomic.Bool
}

func (b *counted) Close() error {
	if !b.closed.Swap(true) {
		b.c.open.Add(-1)
	}
	return b.ReadCloser.Close()
}
