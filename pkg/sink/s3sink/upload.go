package s3sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"
)

// abortTimeout is for what has to happen even when the context has ended.
const abortTimeout = 10 * time.Second

// upload writes an object in parts. Only the last step shows it, so one that
// fails before leaves what was there; its parts cost money until it is aborted.
func (s *Sink) upload(ctx context.Context, key string, data []byte) error {
	id, err := s.begin(ctx, key)
	if err != nil {
		return err
	}
	parts, err := s.parts(ctx, key, id, data)
	if err == nil {
		err = s.try(ctx, s.call("complete upload of", key), func(ctx context.Context) error {
			_, err := s.api.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
				Bucket: &s.bucket, Key: &key, UploadId: &id, ExpectedBucketOwner: s.owner,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			})
			return err
		})
	}
	if err != nil {
		return s.abort(ctx, key, id, err)
	}
	return nil
}

func (s *Sink) begin(ctx context.Context, key string) (id string, err error) {
	in := &s3.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
		ContentType: aws.String(s.opt.Compression.mediaType()), ExpectedBucketOwner: s.owner,
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	err = s.try(ctx, s.call("begin upload of", key), func(ctx context.Context) error {
		out, err := s.api.CreateMultipartUpload(ctx, in)
		if err == nil {
			id = aws.ToString(out.UploadId)
		}
		return err
	})
	return id, err
}

// parts sends data and returns once no request is under way.
func (s *Sink) parts(ctx context.Context, key, id string, data []byte) ([]types.CompletedPart, error) {
	size := int(s.opt.PartSize)
	parts := make([]types.CompletedPart, (len(data)+size-1)/size)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opt.Concurrency)
	for i := range parts {
		g.Go(func() error {
			stretch := data[i*size : min((i+1)*size, len(data))]
			number := aws.Int32(int32(i + 1))
			c := s.call(fmt.Sprintf("upload part %d of %d of", i+1, len(parts)), key)
			return s.send(ctx, c, stretch, func(ctx context.Context, body io.Reader, sum *string) error {
				out, err := s.api.UploadPart(ctx, &s3.UploadPartInput{
					Bucket: &s.bucket, Key: &key, UploadId: &id, PartNumber: number, ExpectedBucketOwner: s.owner,
					Body: body, ContentLength: aws.Int64(int64(len(stretch))), ChecksumCRC32: sum,
				})
				if err == nil {
					parts[i] = types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: sum}
				}
				return err
			})
		})
	}
	return parts, g.Wait()
}

// abort ends an upload because of cause, which it returns, and after it why the
// parts are still there if they are.
func (s *Sink) abort(ctx context.Context, key, id string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_, err := s.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &s.bucket, Key: &key, UploadId: &id, ExpectedBucketOwner: s.owner,
	})
	if api, ok := errors.AsType[smithy.APIError](err); err == nil || ok && api.ErrorCode() == "NoSuchUpload" {
		return cause
	}
	return fmt.Errorf("%w; and the parts of upload %s stay until a lifecycle rule ends it: %v", cause, id, err) //nolint:errorlint // the cause's mark counts alone
}
