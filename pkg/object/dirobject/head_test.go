package dirobject_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object/dirobject"
)

func TestHeadIsWhatAListingSays(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := dirobject.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	page, err := b.List(t.Context(), "")
	if err != nil || len(page.Objects) != 1 {
		t.Fatal(page, err)
	}
	if got, err := b.Head("a/b"); err != nil || got != page.Objects[0].Object {
		t.Errorf("%+v, %v; listed %+v", got, err, page.Objects[0])
	}
	for _, key := range []string{"a", "a/c", "../x", ""} {
		if _, err := b.Head(key); !failure.Is(err, failure.Member) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
