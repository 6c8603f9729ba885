package s3sink_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/klauspost/compress/zstd"

	"github.com/spate-go/spate/pkg/sink/s3sink"
)

// store is a bucket as S3 keeps one. It refuses what S3 would, counts calls, and
// fails one of them.
type store struct {
	t *testing.T

	mu      sync.Mutex
	objects map[string]stored  // guarded by mu
	uploads map[string]*upload // guarded by mu: by id
	calls   []string           // guarded by mu: names of the calls so far
	at      int                // guarded by mu: which call fails, from 1; 0: none
	fails   string             // guarded by mu: calls of this name fail; "": none
	applied bool               // guarded by mu: a failing call takes effect all the same
	err     error              // guarded by mu: what a failing call gives; nil: slowDown
	during  func(call string)  // called within a call, without mu; nil: nothing
	under   int                // guarded by mu: calls under way, and
	most    int                // how many at most
}

type stored struct {
	data      []byte
	etag      string
	mediaType string
	owner     string
	kms       string
}

type upload struct {
	key    string
	parts  map[int32]stored
	object stored
}

func newStore(t *testing.T) *store {
	return &store{t: t, objects: map[string]stored{}, uploads: map[string]*upload{}}
}

// answered is an error that S3 answered with.
func answered(status int, code, message string) error {
	return &smithy.OperationError{ServiceID: "S3", OperationName: "Call", Err: &awshttp.ResponseError{
		RequestID: "1",
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}}},
			Err:      &smithy.GenericAPIError{Code: code, Message: message},
		},
	}}
}

// call runs apply, unless this call is the one to fail.
func (s *store) call(ctx context.Context, name string, apply func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	hit := len(s.calls) == s.at || name == s.fails
	s.under++
	s.most = max(s.most, s.under)
	during := s.during
	s.mu.Unlock()
	if during != nil {
		during(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	if err := ctx.Err(); err != nil {
		return &smithy.OperationError{ServiceID: "S3", OperationName: name, Err: &aws.RequestCanceledError{Err: err}}
	}
	if !hit {
		return apply()
	}
	if s.applied {
		if err := apply(); err != nil {
			return err
		}
	}
	if s.err != nil {
		return s.err
	}
	return answered(503, "SlowDown", "Please reduce your request rate.")
}

// read takes a body, and checks that it is what was announced.
func (s *store) read(body io.Reader, length *int64, sum *string) ([]byte, error) {
	data := make([]byte, aws.ToInt64(length))
	n, err := io.ReadFull(body, data)
	if more, _ := io.Copy(io.Discard, body); err != nil || more > 0 {
		s.t.Errorf("a body of %d bytes has %d and %d more: %v", len(data), n, more, err)
	}
	want := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data)))
	if aws.ToString(sum) != want {
		return nil, answered(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.")
	}
	return data, nil
}

func etag(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

func (s *store) PutObject(ctx context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return &s3.PutObjectOutput{}, s.call(ctx, "put", func() error {
		data, err := s.read(in.Body, in.ContentLength, in.ChecksumCRC32)
		if err == nil {
			s.objects[*in.Key] = stored{data, etag(data), aws.ToString(in.ContentType), aws.ToString(in.ExpectedBucketOwner), aws.ToString(in.SSEKMSKeyId)}
		}
		if in.ContentEncoding != nil {
			s.t.Errorf("%s: Content-Encoding %s", *in.Key, *in.ContentEncoding)
		}
		return err
	})
}

func (s *store) CreateMultipartUpload(ctx context.Context, in *s3.CreateMultipartUploadInput, _ ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error) {
	out := &s3.CreateMultipartUploadOutput{}
	return out, s.call(ctx, "create", func() error {
		id := fmt.Sprint("upload-", len(s.calls))
		out.UploadId = &id
		s.uploads[id] = &upload{*in.Key, map[int32]stored{}, stored{
			mediaType: aws.ToString(in.ContentType), owner: aws.ToString(in.ExpectedBucketOwner), kms: aws.ToString(in.SSEKMSKeyId),
		}}
		if in.ChecksumAlgorithm != "CRC32" {
			s.t.Errorf("parts have a CRC32, and the upload was begun with %q", in.ChecksumAlgorithm)
		}
		return nil
	})
}

func (s *store) upload(id, key *string) (*upload, error) {
	u, ok := s.uploads[*id]
	if !ok || u.key != *key {
		return nil, answered(404, "NoSuchUpload", "The specified upload does not exist.")
	}
	return u, nil
}

func (s *store) UploadPart(ctx context.Context, in *s3.UploadPartInput, _ ...func(*s3.Options)) (*s3.UploadPartOutput, error) {
	out := &s3.UploadPartOutput{}
	return out, s.call(ctx, "part", func() error {
		u, err := s.upload(in.UploadId, in.Key)
		if err != nil {
			return err
		}
		data, err := s.read(in.Body, in.ContentLength, in.ChecksumCRC32)
		if err == nil {
			out.ETag = aws.String(etag(data))
			u.parts[*in.PartNumber] = stored{data: data, etag: *out.ETag}
		}
		return err
	})
}

func (s *store) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, _ ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	return &s3.CompleteMultipartUploadOutput{}, s.call(ctx, "complete", func() error {
		u, err := s.upload(in.UploadId, in.Key)
		if err != nil {
			return err
		}
		var sums []byte
		for i, p := range in.MultipartUpload.Parts {
			part, ok := u.parts[int32(i+1)]
			if *p.PartNumber != int32(i+1) || !ok || part.etag != *p.ETag || p.ChecksumCRC32 == nil {
				return answered(400, "InvalidPart", "")
			}
			if len(part.data) < 5<<20 && i < len(in.MultipartUpload.Parts)-1 {
				return answered(400, "EntityTooSmall", "")
			}
			u.object.data = append(u.object.data, part.data...)
			sum := md5.Sum(part.data)
			sums = append(sums, sum[:]...)
		}
		u.object.etag = fmt.Sprintf(`"%x-%d"`, md5.Sum(sums), len(in.MultipartUpload.Parts))
		s.objects[u.key] = u.object
		delete(s.uploads, *in.UploadId)
		return nil
	})
}

func (s *store) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, _ ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	return &s3.AbortMultipartUploadOutput{}, s.call(ctx, "abort", func() error {
		_, err := s.upload(in.UploadId, in.Key)
		delete(s.uploads, *in.UploadId)
		return err
	})
}

// keys are those of the objects.
func (s *store) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func (s *store) object(key string) stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		s.t.Fatalf("%q is not there, but %q", key, slices.Sorted(maps.Keys(s.objects)))
	}
	return o
}

// all are the rows of all objects, in the order of their units' blocks.
func (s *store) all() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := map[string][]byte{}
	for key, o := range s.objects {
		objects[key] = o.data
	}
	return contents(s.t, objects)
}

// contents are the rows of objects, in the order of their units' blocks.
func contents(t *testing.T, objects map[string][]byte) []byte {
	keys := slices.SortedFunc(maps.Keys(objects), func(a, b string) int {
		return strings.Compare(sortable(t, a), sortable(t, b))
	})
	var rows []byte
	for _, key := range keys {
		rows = append(rows, unpacked(t, key, objects[key])...)
	}
	return rows
}

// sortable is a key without its directories and with its numbers in one length.
func sortable(t *testing.T, key string) string {
	name := key[strings.LastIndex(key, "/")+1:]
	var series, segment, n int
	if _, err := fmt.Sscanf(name[25:], "-%d.%d-%d.ndjson", &series, &segment, &n); err != nil {
		t.Errorf("key %q: %v", key, err)
	}
	return fmt.Sprintf("%s-%03d.%03d-%06d", name[:25], series, segment, n)
}

// unpacked undoes the compression that the key names, by other readers where
// there are any.
func unpacked(t *testing.T, key string, data []byte) []byte {
	var in io.Reader = bytes.NewReader(data)
	var err error
	switch {
	case strings.HasSuffix(key, ".gz"):
		in, err = gzip.NewReader(in)
	case strings.HasSuffix(key, ".zst"):
		in, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	}
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	rows, err := io.ReadAll(in)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return rows
}

// hanging never answers an abort.
type hanging struct{ *store }

func (h hanging) AbortMultipartUpload(ctx context.Context, _ *s3.AbortMultipartUploadInput, _ ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// late reads bodies from their start once started is closed, as a transport may
// whose request has failed.
type late struct {
	*store
	started chan struct{}
	wg      sync.WaitGroup

	count sync.Mutex
	read  int64 // guarded by count
}

func (l *late) PutObject(ctx context.Context, in *s3.PutObjectInput, o ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	out, err := l.store.PutObject(ctx, in, o...)
	if _, err := in.Body.(io.Seeker).Seek(0, io.SeekStart); err != nil {
		l.t.Error(err)
	}
	l.wg.Go(func() {
		<-l.started
		n, _ := io.Copy(io.Discard, in.Body)
		l.count.Lock()
		defer l.count.Unlock()
		l.read += n
	})
	return out, err
}

// faulty fails the calls of one name, on top of another API.
type faulty struct {
	s3sink.API
	name    string
	applied bool
}

func (f *faulty) UploadPart(ctx context.Context, in *s3.UploadPartInput, o ...func(*s3.Options)) (*s3.UploadPartOutput, error) {
	return fault(f, "part", func() (*s3.UploadPartOutput, error) { return f.API.UploadPart(ctx, in, o...) })
}

func (f *faulty) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, o ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	return fault(f, "complete", func() (*s3.CompleteMultipartUploadOutput, error) { return f.API.CompleteMultipartUpload(ctx, in, o...) })
}

func fault[T any](f *faulty, name string, call func() (*T, error)) (*T, error) {
	if f.name != name {
		return call()
	}
	if f.applied {
		if out, err := call(); err != nil {
			return out, err
		}
	}
	return nil, answered(503, "SlowDown", "")
}
