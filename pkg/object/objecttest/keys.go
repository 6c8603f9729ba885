package objecttest

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// strange are keys that have gone wrong somewhere, and are good keys.
var strange = []string{
	"with space", " leading", "trailing ", "a+b", "a%b", "a%2Bb", "a%41", "100%", "year=2025/month=01/x", "a&b=c;d", "what?", "#1", "semi;colon", `quo"te`, "it's",
	`back\slash`, "<tag>", "[1]", "{x}", "~", "$x", "@", ":", "*", "tab\there", "new\nline", "return\rhere", "one\x01", "del\x7f", "bell\x07/below",
	"naïve/ключ/鍵", "e\u0301", "\u00e9", "\ufffd", "\U0001f980", "\u2028",
}

// unclean are keys of S3 that are not clean paths.
var unclean = []string{"a//b", "/a", "a/./b", "./a", "a/../b", "a/.."}

func keys(t *testing.T, h Harness) {
	t.Run("a strange key is listed as it was put, and read", func(t *testing.T) {
		s := h.New(t)
		all := append([]string{}, strange...)
		if !h.Paths {
			all = append(all, unclean...)
		}
		for _, k := range all {
			s.Put(s.Prefix+k, []byte("<"+k+">"))
		}
		if n := len(listAll(t, s.Bucket, "")); n != len(all) {
			t.Errorf("%d keys listed of %d", n, len(all))
		}
		for _, k := range all {
			o := find(t, s.Bucket, s.Prefix+k)
			if got := whole(t, s.Bucket, o.Object); got != "<"+k+">" {
				t.Errorf("%q holds %q", k, got)
			}
		}
	})
	t.Run("a key of 1024 bytes is listed and read", func(t *testing.T) {
		s := h.New(t)
		key := longKey(s.Prefix)
		s.Put(key, []byte("long"))
		if got := whole(t, s.Bucket, find(t, s.Bucket, key).Object); got != "long" {
			t.Errorf("it holds %q", got)
		}
	})
	t.Run("a key that nothing can have is an invalid key", func(t *testing.T) {
		s := h.New(t)
		bad := []string{""}
		if h.Paths {
			bad = append(bad, "..", "../a", "a/../../b", "/etc/hostname", ".", "a/", "a\x00b")
			bad = append(bad, unclean...)
		} else {
			bad = append(bad, strings.Repeat("k", 1025), "\xff")
		}
		for _, k := range bad {
			_, err := read(t, s.Bucket, unit.Object{Key: k, Size: 1, ETag: `"x"`}, 0, 1)
			expect(t, err, failure.Member, failure.InvalidKey, "")
		}
	})
	if h.Paths {
		return
	}
	t.Run("an object may be named like the directory of others", func(t *testing.T) {
		s := h.New(t)
		s.Put(s.Prefix+"a/b", []byte("below"))
		s.Put(s.Prefix+"a", []byte("plain"))
		for k, want := range map[string]string{"a": "plain", "a/b": "below"} {
			if got := whole(t, s.Bucket, find(t, s.Bucket, s.Prefix+k).Object); got != want {
				t.Errorf("%q holds %q", k, got)
			}
		}
	})
}

// longKey is a key of 1024 bytes of UTF-8 in segments that a file system takes.
func longKey(prefix string) string {
	k := prefix
	for len(k) < 1024 {
		k += strings.Repeat("é", min(100, (1024-len(k))/2)) + "/"
	}
	return k[:1023] + "x"
}
