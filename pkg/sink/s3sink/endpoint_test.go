package s3sink_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/sink/s3sink"
	"github.com/spate-go/spate/pkg/sink/sinktest"
)

// endpoint is a new bucket at what AWS_ENDPOINT_URL names, which is left there:
// point it at what is thrown away.
func endpoint(t *testing.T) (*s3.Client, string) {
	t.Helper()
	cfg := awstest.Config(t, "S3")
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := fmt.Sprintf("spate-sink-%08x", rand.Uint32())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	return client, bucket
}

// objects are those under a prefix of the bucket, and their ETags.
func objects(t *testing.T, client *s3.Client, bucket, prefix string) (data map[string][]byte, etags map[string]string) {
	t.Helper()
	data, etags = map[string][]byte{}, map[string]string{}
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			data[*o.Key] = get(t, client, bucket, *o.Key)
			etags[*o.Key] = aws.ToString(o.ETag)
		}
	}
	return data, etags
}

// get reads an object. The SDK repeats the call, but not what broke off behind it.
func get(t *testing.T, client *s3.Client, bucket, key string) []byte {
	t.Helper()
	var broken error
	for range 3 {
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			t.Fatalf("get %q: %v", key, err)
		}
		if out.ContentEncoding != nil {
			t.Errorf("%s: Content-Encoding %s", key, *out.ContentEncoding)
		}
		data, err := io.ReadAll(out.Body)
		_ = out.Body.Close() // it was read
		if err == nil {
			return data
		}
		broken = err
	}
	t.Fatalf("read %q: %v", key, broken)
	return nil
}

func TestConformanceOnEndpoint(t *testing.T) {
	client, bucket := endpoint(t)
	for _, name := range []string{"gzip", "zstd and partitioned"} {
		o := variants()[name]
		t.Run(name, func(t *testing.T) {
			stores := 0
			sinktest.Run(t, sinktest.Harness{
				Dedup: true, Unordered: o.Partition != nil,
				New: func(t *testing.T) (sink.Sink, func() []byte) {
					stores++
					o := o
					o.Prefix = fmt.Sprintf("%s/%d/", name, stores)
					s, err := s3sink.New(client, bucket, o)
					if err != nil {
						t.Fatal(err)
					}
					return s, func() []byte {
						data, _ := objects(t, client, bucket, o.Prefix)
						return contents(t, data)
					}
				},
				Broken: func(t *testing.T) sink.Sink {
					s, err := s3sink.New(client, bucket+"-is-not-there", o)
					if err != nil {
						t.Fatal(err)
					}
					return s
				},
			})
		})
	}
}

func TestKeysOfAnyPartitionAreWrittenToEndpoint(t *testing.T) {
	client, bucket := endpoint(t)
	names := []string{"a b", "a+b", "a%41b", "a=b&c", "tab\tkey", "ctl\x01key", "ünï", "'quote\"", "..", "x/../y", "", "\xff", "year=2026/month=01"}
	rows := make([]string, len(names))
	for i, n := range names {
		rows[i] = n + "|"
	}
	rows[3] += strings.Repeat("x", 6<<20) // in parts
	s, err := s3sink.New(client, bucket, s3sink.Options{Prefix: "p q+/", Partition: first, PartSize: 5 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b, retried := block(0, 0, rows...), sink.Retry(s, sink.RetryOptions{})
	write(t, retried, b)
	data, etags := objects(t, client, bucket, "p q+/")
	if got := strings.Split(strings.TrimSuffix(string(contents(t, data)), "\n"), "\n"); !slices.Equal(got, rows) {
		t.Errorf("%d rows, want %d", len(got), len(rows))
	}
	write(t, retried, b)
	if _, again := objects(t, client, bucket, "p q+/"); len(again) != len(names) || fmt.Sprint(again) != fmt.Sprint(etags) {
		t.Errorf("after a repeat: %v\nbefore: %v", again, etags)
	}
}

// begun keeps the ids of uploads in parts: of one whose id never came nobody can
// do away with what is left.
type begun struct {
	s3sink.API
	mu  sync.Mutex
	ids map[string]bool // guarded by mu
}

func (b *begun) CreateMultipartUpload(ctx context.Context, in *s3.CreateMultipartUploadInput, o ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error) {
	out, err := b.API.CreateMultipartUpload(ctx, in, o...)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ids[aws.ToString(out.UploadId)] = true
	}
	return out, err
}

// TestFaultsLeaveNoUploadOnEndpoint is TestNoSingleFaultShows for the calls of an
// upload in parts.
func TestFaultsLeaveNoUploadOnEndpoint(t *testing.T) {
	client, bucket := endpoint(t)
	rows := strings.Repeat("0123456789", 1<<20+1)
	uploads := &begun{API: client, ids: map[string]bool{}}
	open := func() (n int) {
		out, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range out.Uploads {
			if uploads.ids[aws.ToString(u.UploadId)] {
				n++
			}
		}
		return n
	}
	made, err := uploads.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("k")})
	if err != nil || open() != 1 {
		t.Fatalf("the endpoint lists %d uploads, and one is open: %v", open(), err)
	}
	if _, err := client.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: aws.String("k"), UploadId: made.UploadId}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"part", "complete"} {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, applied %t", name, applied), func(t *testing.T) {
				f := &faulty{API: uploads, name: name, applied: applied}
				s, err := s3sink.New(f, bucket, s3sink.Options{Prefix: fmt.Sprintf("%s-%t/", name, applied), PartSize: 5 << 20})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Write(t.Context(), block(0, 0, rows)); err == nil {
					t.Error("no error")
				}
				f.name = ""
				write(t, sink.Retry(s, sink.RetryOptions{}), block(0, 0, rows))
				if n := open(); n != 0 {
					t.Errorf("%d uploads are open", n)
				}
				data, etags := objects(t, client, bucket, fmt.Sprintf("%s-%t/", name, applied))
				for key, got := range data {
					if string(got) != rows+"\n" || !strings.HasSuffix(etags[key], `-3"`) {
						t.Errorf("%s: %d bytes, ETag %s", key, len(got), etags[key])
					}
				}
			})
		}
	}
}
