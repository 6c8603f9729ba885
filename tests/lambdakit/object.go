package lambdakit

import (
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Object returns the content of an object. A body that breaks off is read
// again: the SDK retries a call only up to its headers.
func Object(ctx context.Context, client *s3.Client, bucket, key string) ([]byte, error) {
	const tries = 3 // as many as the SDK makes
	for n := 1; ; n++ {
		out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(out.Body)
		_ = out.Body.Close() // it was read
		if err == nil || n == tries {
			return b, err
		}
	}
}
