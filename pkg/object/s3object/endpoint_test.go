package s3object_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/object/objecttest"
	"github.com/spate-go/spate/pkg/object/s3object"
)

// TestConformanceOnEndpoint runs the suite on whatever AWS_ENDPOINT_URL names, in
// a bucket of its own that it leaves there: point it at what is thrown away.
func TestConformanceOnEndpoint(t *testing.T) {
	if os.Getenv("AWS_ENDPOINT_URL") == "" && os.Getenv("AWS_ENDPOINT_URL_S3") == "" {
		if os.Getenv("SPATE_TEST_AWS") == "required" {
			t.Fatal("SPATE_TEST_AWS=required, and AWS_ENDPOINT_URL is not set")
		}
		t.Skip("AWS_ENDPOINT_URL is not set")
	}
	credentials(t)
	client, err := s3object.NewClient(t.Context(), s3object.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bucket := fmt.Sprintf("spate-object-%08x", rand.Uint32())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	stores := 0
	objecttest.Run(t, objecttest.Harness{
		PageSize: 1000,
		New: func(t *testing.T) objecttest.Store {
			stores++
			return store(t, client, bucket, fmt.Sprintf("run+%d/", stores))
		},
	})
}

// credentials sets what an endpoint of one's own takes, where nothing is set.
func credentials(t *testing.T) {
	t.Helper()
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		if os.Getenv(k) == "" {
			t.Setenv(k, v)
		}
	}
}

func store(t *testing.T, client *s3.Client, bucket, prefix string) objecttest.Store {
	api := &counting{Client: client}
	return objecttest.Store{
		Bucket: s3object.New(api, bucket, prefix, s3object.Options{}),
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
		Held: func() int { return int(api.open.Load()) },
	}
}

// counting counts the bodies that are open.
type counting struct {
	*s3.Client
	open atomic.Int64
}

func (c *counting) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	out, err := c.Client.GetObject(ctx, in, opts...)
	if err == nil {
		c.open.Add(1)
		out.Body = &counted{ReadCloser: out.Body, c: c}
	}
	return out, err
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
