package dirobject_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/object/dirobject"
	"github.com/spate-go/spate/pkg/object/objecttest"
)

func TestConformance(t *testing.T) {
	objecttest.Run(t, objecttest.Harness{
		PageSize: 1000,
		Paths:    true,
		New: func(t *testing.T) objecttest.Store {
			dir := t.TempDir()
			s := objecttest.Store{
				Bucket: open(t, dir),
				Put:    func(key string, data []byte) { put(t, dir, key, data) },
				Delete: func(key string) {
					if err := os.Remove(filepath.Join(dir, key)); err != nil {
						t.Fatal(err)
					}
				},
			}
			if runtime.GOOS == "linux" {
				s.Held = func() int { return descriptors(t, dir) }
			}
			return s
		},
	})
}

func open(t *testing.T, dir string) *dirobject.Bucket {
	t.Helper()
	b, err := dirobject.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put replaces a file as careful programs do: the old one is left as it is.
func put(t *testing.T, dir, key string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	tmp := dir + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, path); err != nil {
		t.Fatal(err)
	}
}

// descriptors counts those of this process that are open on files below dir.
func descriptors(t *testing.T, dir string) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range fds {
		if path, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(path, dir) {
			n++
		}
	}
	return n
}
