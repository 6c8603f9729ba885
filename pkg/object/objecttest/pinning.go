package objecttest

import (
	"bytes"
	"io"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

func pinning(t *testing.T, h Harness) {
	t.Run("an object that was replaced is drift, of the same size or not", func(t *testing.T) {
		for _, other := range []string{"abcdefghij", "longer than it was", "x", ""} {
			s, o := one(t, h, digits)
			s.Put(o.Key, []byte(other))
			_, err := read(t, s.Bucket, o, 0, o.Size)
			expect(t, err, failure.Member, failure.ETagDrift, "dir/key")
			_, err = read(t, s.Bucket, o, 5, 5)
			expect(t, err, failure.Member, failure.ETagDrift, "dir/key")
		}
	})
	t.Run("an object that is replaced between two windows is drift", func(t *testing.T) {
		s, o := one(t, h, digits)
		p := s.Bucket.Pin(o)
		defer p.Close()
		body := open(t, p, 0, 5)
		got, err := io.ReadAll(body)
		if string(got) != digits[:5] || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		_ = body.Close()
		s.Put(o.Key, []byte("abcdefghij"))
		_, err = p.ReadRange(t.Context(), 5, 5)
		expect(t, err, failure.Member, failure.ETagDrift, "dir/key")
	})
	t.Run("a body that is open while its object is replaced brings no byte of the new one", func(t *testing.T) {
		old, fresh := bytes.Repeat([]byte("o"), 1<<20), bytes.Repeat([]byte("n"), 1<<20)
		s, o := one(t, h, string(old))
		p := s.Bucket.Pin(o)
		defer p.Close()
		body := open(t, p, 0, o.Size)
		defer body.Close()
		if _, err := io.ReadFull(body, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		s.Put(o.Key, fresh)
		got, err := io.ReadAll(body)
		if bytes.ContainsRune(got, 'n') || err == nil && len(got) != len(old)-10 {
			t.Errorf("%d bytes, %d of them new, %v", len(got), bytes.Count(got, []byte("n")), err)
		}
	})
	t.Run("an object that is gone, or never was, is not found", func(t *testing.T) {
		s, o := one(t, h, digits)
		s.Delete(o.Key)
		_, err := read(t, s.Bucket, o, 0, o.Size)
		expect(t, err, failure.Member, failure.NotFound, "dir/key")
		_, err = read(t, s.Bucket, unit.Object{Key: s.Prefix + "dir/never", Size: 1, ETag: `"x"`}, 0, 1)
		expect(t, err, failure.Member, failure.NotFound, "dir/never")
	})
	t.Run("an object that is gone between two windows is not found", func(t *testing.T) {
		s, o := one(t, h, digits)
		p := s.Bucket.Pin(o)
		defer p.Close()
		body := open(t, p, 0, 5)
		_, _ = io.ReadAll(body)
		_ = body.Close()
		s.Delete(o.Key)
		_, err := p.ReadRange(t.Context(), 5, 5)
		expect(t, err, failure.Member, failure.NotFound, "dir/key")
	})
	t.Run("a bad object fails alone: a reader goes on to the next", func(t *testing.T) {
		s := h.New(t)
		s.fill([]string{"a", "b", "c"})
		var parts []object.Part
		for _, o := range listAll(t, s.Bucket, "") {
			parts = append(parts, object.Part{Object: o.Object, End: o.Size})
		}
		s.Put(s.Prefix+"a", []byte("replaced"))
		s.Delete(s.Prefix + "b")
		r := object.NewReader(t.Context(), s.Bucket, parts, object.Options{})
		defer r.Close()
		for _, want := range []failure.Reason{failure.ETagDrift, failure.NotFound, ""} {
			if err := r.Next(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			switch {
			case want != "":
				expect(t, err, failure.Member, want, s.Prefix)
			case err != nil || string(got) != s.Prefix+"c":
				t.Errorf("the good one: %q, %v", got, err)
			}
		}
	})
	t.Run("the version that replaced it can be pinned and read", func(t *testing.T) {
		s, o := one(t, h, digits)
		s.Put(o.Key, []byte("abc"))
		if got := whole(t, s.Bucket, find(t, s.Bucket, o.Key).Object); got != "abc" {
			t.Errorf("it holds %q", got)
		}
	})
}
