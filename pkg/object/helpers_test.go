package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/unit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bytesOf are n bytes of which no two stretches are alike.
func bytesOf(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// put makes objects of the given sizes, k0, k1 …, and a whole part for each.
func put(b *memobject.Bucket, sizes ...int) (parts []object.Part, data [][]byte) {
	for i, n := range sizes {
		d := bytesOf(n, uint64(i))
		o := b.Put(fmt.Sprint("k", i), d)
		o.Version = "" // as it is listed
		parts, data = append(parts, object.Part{Object: o, End: o.Size}), append(data, d)
	}
	return parts, data
}

// next goes to the next part and reads all of it.
func next(t *testing.T, r *object.Reader) ([]byte, error) {
	t.Helper()
	if err := r.Next(); err != nil {
		t.Fatalf("next: %v", err)
	}
	return io.ReadAll(r)
}

// good reads the parts and expects their data, then the end.
func good(t *testing.T, r *object.Reader, data [][]byte) {
	t.Helper()
	for i, want := range data {
		if got, err := next(t, r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("part %d: %d bytes of %d, equal %t, %v", i, len(got), len(want), bytes.Equal(got, want), err)
		}
	}
	if err := r.Next(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func expect(t *testing.T, err error, s failure.Scope, r failure.Reason) {
	t.Helper()
	if scope, reason := failure.Of(err); err == nil || errors.Is(err, io.EOF) || scope != s || reason != r {
		t.Errorf("got scope %d, %s: %v; want scope %d, %s", scope, reason, err, s, r)
	}
}

func transient(key string) error {
	return failure.Errorf(failure.Transient, failure.RetriesExhausted, "get %q: 503 SlowDown", key)
}

// script is an opener whose pins do what the test says.
type script struct {
	read  func(ctx context.Context, off, n int64) (io.ReadCloser, error)
	close func() error
}

func (s *script) Pin(unit.Object) object.Pinned { return s }

func (s *script) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	return s.read(ctx, off, n)
}

func (s *script) Close() error {
	if s.close != nil {
		return s.close()
	}
	return nil
}
