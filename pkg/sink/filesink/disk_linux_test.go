package filesink_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spate-go/spate/pkg/sink/filesink"
)

// mount puts a file system of its own over dir, where that is allowed. Elsewhere
// the faults that disk makes stand for the real ones.
func mount(t *testing.T, dir string, flags uintptr, data string) {
	t.Helper()
	err := syscall.Mount("tmpfs", dir, "tmpfs", flags, data)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("mounting needs root: only TestEachOperationFailsOnce and TestErrorsSayWhatToDo cover a bad disk here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func TestRealFullDisk(t *testing.T) {
	modes(t, func(t *testing.T, dir, journal bool) {
		disk := t.TempDir()
		mount(t, disk, 0, "size=64k")
		o := filesink.Options{Path: filepath.Join(disk, "out.ndjson")}
		if dir {
			o.Path = filepath.Join(disk, "out") + "/"
		}
		if journal {
			o.Journal = filepath.Join(t.TempDir(), "journal")
		}
		s, err := filesink.New(o)
		if err != nil {
			t.Fatal(err)
		}
		row := strings.Repeat("x", 1023) + "\n"
		write(t, s, block(unitA, 0, strings.Repeat(row, 10)))
		for range 2 { // no write that cannot fit takes room from one that can
			err = s.Write(t.Context(), block(unitA, 1, strings.Repeat(row, 100)))
			wantConfig(t, err, ": no space left on device: free space or set sink.file.path to another disk, then run again")
			if !dir {
				holds(t, o.Path, strings.Repeat(row, 10))
			}
		}
		write(t, s, block(unitA, 1, strings.Repeat(row, 30)))
		commit(t, s, unitA, 0)
		shut(t, s)
		if dir {
			o.Path = filepath.Join(o.Path, string(unitA)+".ndjson")
		}
		holds(t, o.Path, strings.Repeat(row, 40))
		if left := list(t, filepath.Dir(o.Path)); len(left) != 1 {
			t.Errorf("the directory holds %q", left)
		}
	})
}

func TestRealReadOnlyDisk(t *testing.T) {
	disk := t.TempDir()
	mount(t, disk, syscall.MS_RDONLY, "")
	for _, path := range []string{"out.ndjson", "deep/out.ndjson", "out/", ""} {
		_, err := filesink.New(filesink.Options{Path: disk + "/" + path})
		wantConfig(t, err, ": read-only file system: make it writable or set sink.file.path elsewhere, then run again")
	}
}
