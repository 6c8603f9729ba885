package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

// rows are the objects that were put, each of one row that is its number, and when.
type rows struct {
	mu  sync.Mutex
	put map[string]time.Time // by row; guarded by mu
}

// patience is how long after the last put rows are waited for.
const patience = time.Minute

// took puts objects at a rate for some time, and says how long each took until its
// row was there.
func (b *bench) took(ctx context.Context, rate float64, d time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, d+patience)
	defer cancel()
	n := int(rate * d.Seconds())
	all := &rows{put: map[string]time.Time{}}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.put(gctx, all, n, time.Duration(float64(time.Second)/rate)) })
	var took []time.Duration
	g.Go(func() (err error) {
		took, err = b.look(gctx, all, n)
		return err
	})
	return took, g.Wait()
}

// put puts n objects, one each interval, some of them side by side.
func (b *bench) put(ctx context.Context, all *rows, n int, interval time.Duration) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	next := time.NewTicker(interval)
	defer next.Stop()
	for range n {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), g.Wait())
		case <-next.C:
		}
		b.puts++
		row := fmt.Sprintf(`{"object":%d,"fill":%q}`, b.puts, strings.Repeat("-", 1000))
		key := fmt.Sprintf("%08d.ndjson", b.puts)
		g.Go(func() error {
			all.mu.Lock()
			all.put[row] = time.Now()
			all.mu.Unlock()
			_, err := b.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.source, Key: &key, Body: strings.NewReader(row + "\n")})
			return err
		})
	}
	return g.Wait()
}

// look looks for rows until all n are there.
func (b *bench) look(ctx context.Context, all *rows, n int) ([]time.Duration, error) {
	var took []time.Duration
	seen := map[string]bool{}
	bucket, prefix, _ := strings.Cut(b.output, "/")
	for tick := time.NewTicker(100 * time.Millisecond); len(took) < n; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil, fmt.Errorf("%d of %d rows are there: %w", len(took), n, ctx.Err())
		case <-tick.C:
		}
		now := time.Now()
		pages := s3.NewListObjectsV2Paginator(b.s3, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, o := range page.Contents {
				if seen[*o.Key] {
					continue
				}
				seen[*o.Key] = true
				found, err := b.read(ctx, bucket, *o.Key, all, now)
				if err != nil {
					return nil, err
				}
				took = append(took, found...)
			}
		}
	}
	return took, nil
}

// read says how long the rows of an object took that was there at a time.
func (b *bench) read(ctx context.Context, bucket, key string, all *rows, at time.Time) ([]time.Duration, error) {
	out, err := b.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(out.Body)
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	var took []time.Duration
	for line := range strings.Lines(string(text)) {
		if put, ok := all.put[strings.TrimSuffix(line, "\n")]; ok { // else it is of an earlier round
			took = append(took, at.Sub(put))
		}
	}
	return took, nil
}
