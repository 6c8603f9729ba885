package objecttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

const digits = "0123456789"

func reading(t *testing.T, h Harness) {
	t.Run("a range brings its bytes", func(t *testing.T) {
		s, o := one(t, h, digits)
		for name, r := range map[string][2]int64{
			"the first": {0, 1}, "the last": {9, 1}, "the middle": {3, 4}, "all": {0, 10}, "all but the first": {1, 9}, "all but the last": {0, 9},
		} {
			got, err := read(t, s.Bucket, o, r[0], r[1])
			if err != nil || got != digits[r[0]:r[0]+r[1]] {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	})
	t.Run("an empty object is listed, and read without bytes", func(t *testing.T) {
		s, o := one(t, h, "")
		if o.Size != 0 {
			t.Errorf("size = %d", o.Size)
		}
		if got, err := read(t, s.Bucket, o, 0, 0); got != "" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("calls overlap, and their bodies are read in any order", func(t *testing.T) {
		s, o := one(t, h, digits)
		p := s.Bucket.Pin(o)
		defer p.Close()
		var bodies []io.ReadCloser
		for i := range int64(len(digits)) {
			bodies = append(bodies, open(t, p, i, 1))
		}
		for _, i := range mixed(len(digits)) {
			got, err := io.ReadAll(bodies[i])
			if string(got) != digits[i:i+1] || err != nil {
				t.Errorf("body %d: %q, %v", i, got, err)
			}
			_ = bodies[i].Close()
		}
	})
	t.Run("a cancelled call ends with the context's error", func(t *testing.T) {
		s, o := one(t, h, digits)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Bucket.Pin(o).ReadRange(ctx, 0, 5); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a closed pin holds nothing, read to the end or not", func(t *testing.T) {
		s, o := one(t, h, digits)
		if s.Held == nil {
			return
		}
		p := s.Bucket.Pin(o)
		first, second := open(t, p, 0, 10), open(t, p, 2, 3)
		_, _ = io.ReadAll(first)
		if s.Held() == 0 {
			t.Error("nothing held while reading: Held cannot tell")
		}
		_, _ = first.Close(), second.Close()
		if err := p.Close(); err != nil || s.Held() != 0 {
			t.Errorf("%d held, %v", s.Held(), err)
		}
	})
	t.Run("a reader brings every object in windows of any size", func(t *testing.T) {
		s := h.New(t)
		s.fill([]string{"a", "b/c", "d"})
		for window := int64(1); window < 5; window++ {
			all(t, s, object.Options{Window: window, Ahead: 3})
		}
		all(t, s, object.Options{})
	})
}

// all reads the whole bucket, whose objects hold their keys.
func all(t *testing.T, s Store, opt object.Options) {
	t.Helper()
	var parts []object.Part
	for _, o := range listAll(t, s.Bucket, "") {
		parts = append(parts, object.Part{Object: o.Object, End: o.Size})
	}
	r := object.NewReader(t.Context(), s.Bucket, parts, opt)
	for _, p := range parts {
		if err := r.Next(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != p.Object.Key {
			t.Errorf("windows of %d: %q: %q, %v", opt.Window, p.Object.Key, got, err)
		}
	}
	if err := r.Next(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// one makes a bucket of one object and returns it as it is listed.
func one(t *testing.T, h Harness, data string) (Store, unit.Object) {
	t.Helper()
	s := h.New(t)
	s.Put(s.Prefix+"dir/key", []byte(data))
	return s, find(t, s.Bucket, s.Prefix+"dir/key").Object
}

func open(t *testing.T, p object.Pinned, off, n int64) io.ReadCloser {
	t.Helper()
	body, err := p.ReadRange(t.Context(), off, n)
	if err != nil {
		t.Fatalf("read %d bytes at %d: %v", n, off, err)
	}
	return body
}

// read reads one range of o, and closes.
func read(t *testing.T, b object.Opener, o unit.Object, off, n int64) (string, error) {
	t.Helper()
	p := b.Pin(o)
	body, err := p.ReadRange(t.Context(), off, n)
	if err != nil {
		_ = p.Close()
		return "", err
	}
	var got bytes.Buffer
	_, err = io.CopyN(&got, body, n)
	_ = body.Close()
	return got.String(), errors.Join(err, p.Close())
}

func whole(t *testing.T, b object.Opener, o unit.Object) string {
	t.Helper()
	got, err := read(t, b, o, 0, o.Size)
	if err != nil {
		t.Errorf("read %q: %v", o.Key, err)
	}
	return got
}

// expect checks an error's mark, and that its text names the key.
func expect(t *testing.T, err error, s failure.Scope, r failure.Reason, key string) {
	t.Helper()
	if scope, reason := failure.Of(err); err == nil || scope != s || reason != r {
		t.Errorf("got scope %d, %s: %v; want scope %d, %s", scope, reason, err, s, r)
		return
	}
	if !strings.Contains(err.Error(), key) {
		t.Errorf("the error does not name %q: %v", key, err)
	}
}
