package lambdakit

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

// Rows are what was put into a stack's source, each a line that names its
// object and itself, to be compared with what its sink holds.
type Rows struct {
	stack *Stack

	mu  sync.Mutex
	put map[string][]string // by key; guarded by mu
	was map[string]bool     // rows of versions that were replaced; guarded by mu
}

// NewRows returns an empty set of rows.
func NewRows(s *Stack) *Rows {
	return &Rows{stack: s, put: map[string][]string{}, was: map[string]bool{}}
}

// Put writes an object of n rows of so many bytes, with gzip where the key ends in
// .gz.
func (r *Rows) Put(ctx context.Context, key string, n, size int) error {
	return r.write(ctx, key, "", n, size)
}

// Replace writes version v of an object of n rows, which may have existed
// before. The rows of the version that it replaces may arrive, once: that
// depends on who is first.
func (r *Rows) Replace(ctx context.Context, key string, v, n int) error {
	return r.write(ctx, key, fmt.Sprintf(`"version":%d,`, v), n, 0)
}

func (r *Rows) write(ctx context.Context, key, version string, n, size int) error {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"from":%q,%s"row":%d,"fill":"`, key, version, i)
		rows[i] += strings.Repeat("-", max(0, size-len(rows[i])-3)) + `"}`
	}
	r.mu.Lock()
	for _, row := range r.put[key] {
		r.was[row] = true
	}
	r.put[key] = rows
	r.mu.Unlock()
	body, err := encode(key, strings.Join(rows, "\n")+"\n")
	if err != nil {
		return err
	}
	_, err = r.stack.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &r.stack.Name, Key: &key, Body: bytes.NewReader(body)})
	return err
}

func encode(key, text string) ([]byte, error) {
	if !strings.HasSuffix(key, ".gz") {
		return []byte(text), nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// Compare says how the lines of the objects under a prefix differ from the rows
// that were put, except those of some keys; "" if they do not.
func (r *Rows) Compare(ctx context.Context, under string, without ...string) (string, error) {
	got, err := r.lines(ctx, under)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted, lost, repeated := 0, 0, 0
	for key, rows := range r.put {
		if slices.Contains(without, key) {
			continue
		}
		for _, row := range rows {
			wanted++
			switch n := got[row]; {
			case n == 0:
				lost++
			case n > 1:
				repeated++
			}
			delete(got, row)
		}
	}
	for row := range r.was {
		if got[row] > 1 {
			repeated++
		}
		delete(got, row)
	}
	if lost+repeated+len(got) == 0 {
		return "", nil
	}
	return fmt.Sprintf("of %d rows %d are lost and %d repeated, and there are %d others", wanted, lost, repeated, len(got)), nil
}

// lines counts the lines of the objects under a prefix.
func (r *Rows) lines(ctx context.Context, under string) (map[string]int, error) {
	var (
		mu    sync.Mutex
		lines = map[string]int{}
		pages = s3.NewListObjectsV2Paginator(r.stack.S3, &s3.ListObjectsV2Input{Bucket: &r.stack.Name, Prefix: &under})
	)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			g.Go(func() error {
				b, err := Object(ctx, r.stack.S3, r.stack.Name, *o.Key)
				mu.Lock()
				defer mu.Unlock()
				for line := range bytes.Lines(b) {
					lines[string(bytes.TrimSuffix(line, []byte("\n")))]++
				}
				return err
			})
		}
	}
	return lines, g.Wait()
}
