package objecttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/object"
)

// ordered are keys in the order of their bytes, which is neither that of a
// directory walk nor that of UTF-16.
var ordered = []string{
	"A", "a+b", "a-b", "a.b", "a/b", "a/b-c", "a/b.c/d", "a/c/d", "a/z", "a0", "aa", "b/c/d/e", "b/c/d0", "b/c0", "z", "\u00e9", "\uffee", "\U0001f600",
}

func listing(t *testing.T, h Harness) {
	t.Run("an empty bucket is one empty page, the last", func(t *testing.T) {
		s := h.New(t)
		p := list(t, s.Bucket, "")
		if len(p.Objects) != 0 || p.More {
			t.Errorf("page = %+v", p)
		}
	})
	t.Run("keys come in the order of their bytes, with their sizes", func(t *testing.T) {
		s := h.New(t)
		keys := s.fill(ordered)
		all := listAll(t, s.Bucket, "")
		if d := cmp.Diff(keys, names(all)); d != "" {
			t.Error(d)
		}
		for _, o := range all {
			if o.Size != int64(len(o.Key)) || o.ETag == "" || o.LastModified.IsZero() || o.Archived {
				t.Errorf("listed %+v", o)
			}
		}
	})
	t.Run("a listing goes on after any key, whether there is one or not", func(t *testing.T) {
		s := h.New(t)
		keys := s.fill(ordered)
		for _, after := range slices.Concat(keys, []string{s.Prefix + "0", s.Prefix + "a", s.Prefix + "a/", s.Prefix + "a/b.", s.Prefix + "a/b/c", s.Prefix + "b/c/d", s.Prefix + "\U0010ffff"}) {
			var want []string
			for _, k := range keys {
				if k > after {
					want = append(want, k)
				}
			}
			if d := cmp.Diff(want, names(listAll(t, s.Bucket, after))); d != "" {
				t.Errorf("after %q: %s", after, d)
			}
		}
	})
	t.Run("pages join without a gap or a repetition, and each can be had again", func(t *testing.T) {
		s := h.New(t)
		var want []string
		for i := range 2*h.PageSize + 1 {
			want = append(want, fmt.Sprintf("d%d/%06d", i%3, i))
		}
		slices.Sort(want)
		want = s.fill(want)
		var got []string
		for after, more := "", true; more; {
			p := list(t, s.Bucket, after)
			if len(p.Objects) > h.PageSize {
				t.Fatalf("a page of %d", len(p.Objects))
			}
			if d := cmp.Diff(p, list(t, s.Bucket, after)); d != "" {
				t.Fatalf("the same page again: %s", d)
			}
			got = append(got, names(p.Objects)...)
			if more = p.More; more && p.Last <= after {
				t.Fatalf("the page after %q ends at %q", after, p.Last)
			}
			after = p.Last
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
	t.Run("what was put or deleted before the call shows in it", func(t *testing.T) {
		s := h.New(t)
		for i := range 5 {
			s.fill([]string{fmt.Sprint("d/k", i)})
			if n := len(listAll(t, s.Bucket, "")); n != i+1 {
				t.Fatalf("%d objects listed of %d", n, i+1)
			}
		}
		s.Delete(s.Prefix + "d/k2")
		if got := names(listAll(t, s.Bucket, s.Prefix+"d/k1")); len(got) != 2 {
			t.Errorf("after a deletion: %q", got)
		}
	})
	t.Run("a cancelled call ends with the context's error", func(t *testing.T) {
		s := h.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Bucket.List(ctx, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
}

// fill puts an object for each key, holding its own key, and returns the keys.
func (s Store) fill(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = s.Prefix + k
	}
	for _, i := range mixed(len(out)) {
		s.Put(out[i], []byte(out[i]))
	}
	return out
}

// mixed are the numbers below n, out of order.
func mixed(n int) []int {
	var out []int
	for i := range 7 {
		for j := (i * 3) % 7; j < n; j += 7 {
			out = append(out, j)
		}
	}
	return out
}

func list(t *testing.T, b object.Lister, after string) object.Page {
	t.Helper()
	p, err := b.List(t.Context(), after)
	if err != nil {
		t.Fatalf("list after %q: %v", after, err)
	}
	return p
}

func listAll(t *testing.T, b object.Lister, after string) []object.Listed {
	t.Helper()
	var all []object.Listed
	for {
		p := list(t, b, after)
		all = append(all, p.Objects...)
		if !p.More {
			return all
		}
		after = p.Last
	}
}

func names(objects []object.Listed) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Key)
	}
	return out
}

// find returns the one object that is listed under key.
func find(t *testing.T, b object.Lister, key string) object.Listed {
	t.Helper()
	all := listAll(t, b, "")
	i := slices.IndexFunc(all, func(o object.Listed) bool { return o.Key == key })
	if i < 0 {
		t.Fatalf("%q is not in the listing:\n%s", key, strings.Join(names(all), "\n"))
	}
	return all[i]
}
