package failure_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/failure"
)

func TestAnExcerptIsOfWholeCharacters(t *testing.T) {
	for _, c := range []struct {
		text  string
		bytes int
		want  string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"añb", 2, "a…"},
		{"añb", 3, "añ…"},
		{"a\xffb", 3, "a\xffb"},
		{"a\xffbc", 3, "ab…"},
	} {
		if got := failure.Excerpt(c.text, c.bytes); got != c.want {
			t.Errorf("%q in %d bytes: %q, want %q", c.text, c.bytes, got, c.want)
		}
	}
}
