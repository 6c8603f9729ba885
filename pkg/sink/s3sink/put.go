package s3sink

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spate-go/spate/pkg/failure/awsfailure/s3failure"
)

// put writes an object by one request.
func (s *Sink) put(ctx context.Context, key string, data []byte) error {
	return s.send(ctx, s.call("put", key), data, func(ctx context.Context, body io.Reader, sum *string) error {
		in := &s3.PutObjectInput{
			Bucket: &s.bucket, Key: &key, Body: body, ContentLength: aws.Int64(int64(len(data))), ChecksumCRC32: sum,
			ContentType: aws.String(s.opt.Compression.mediaType()), ExpectedBucketOwner: s.owner,
		}
		in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
		_, err := s.api.PutObject(ctx, in)
		return err
	})
}

// encryption asks for the KMS key, if there is one.
func (s *Sink) encryption() (types.ServerSideEncryption, *string) {
	if s.opt.KMSKey == "" {
		return "", nil
	}
	return types.ServerSideEncryptionAwsKms, &s.opt.KMSKey
}

// send makes a request with data as its body. S3 refuses it unless the bytes
// that arrive have this sum: it goes with the headers, where any store looks
// for it, and not in a trailer, where the SDK would put it.
func (s *Sink) send(ctx context.Context, c s3failure.Call, data []byte, request func(context.Context, io.Reader, *string) error) error {
	b := &body{r: *bytes.NewReader(data)}
	defer b.release()
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
	return s.try(ctx, c, func(ctx context.Context) error {
		return request(ctx, b, aws.String(base64.StdEncoding.EncodeToString(sum)))
	})
}

// try makes a request that ends.
func (s *Sink) try(ctx context.Context, c s3failure.Call, request func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	return c.Classify(ctx, request(limited), answered)
}

// body is a request's body. A transport may read on for a while after the
// request has failed, and by then the bytes may have another use.
type body struct {
	mu sync.Mutex
	r  bytes.Reader // guarded by mu
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.r.Read(p)
}

func (b *body) Seek(offset int64, whence int) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.r.Seek(offset, whence)
}

// release takes the bytes away; a transport that still reads gets the end.
func (b *body) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.r.Reset(nil)
}
