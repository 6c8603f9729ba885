// Package dirobject makes a directory a bucket, for local runs.
//
// A file is an object. Its key is its path below the directory, with slashes;
// its ETag is made of size, modification time and inode. It is not a snapshot:
// what pins a file is that these three stay as they were.
//
// A symbolic link to a file is that file. A symbolic link to a directory is not
// followed, so that no tree is read twice or endlessly. Such a link, a dangling
// one, a socket, a pipe and a device are listed as empty objects, so that they
// are counted and not read.
//
// The law: a byte is handed out only once the file was found unchanged after
// that byte was read (INV-2), to the resolution of the file system's clock.
package dirobject

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// Bucket is a directory.
type Bucket struct {
	dir string

	mu   sync.Mutex
	path map[string]names // the directories that the last page ended in; guarded by mu
}

var _ object.Bucket = (*Bucket)(nil)

// Open returns the directory as a bucket. There is nothing to close.
func Open(dir string) (*Bucket, error) {
	abs, err := filepath.Abs(dir) // the process may change its own directory
	if err != nil {
		return nil, failure.Errorf(failure.Job, failure.Config, "open source directory %q: %w", dir, err)
	}
	b := &Bucket{dir: abs}
	if err := b.check(); err != nil {
		return nil, err
	}
	return b, nil
}

// check distinguishes a missing directory from an empty one.
func (b *Bucket) check() error {
	switch fi, err := os.Stat(b.dir); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return failure.Errorf(failure.Job, failure.Config, "open source directory %q: no such directory: check source.s3.url", b.dir)
	case err != nil:
		return b.classify("open source directory", b.dir, err)
	case !fi.IsDir():
		return failure.Errorf(failure.Job, failure.Config, "open source directory %q: it is a file: give its directory, and name the file in include", b.dir)
	}
	return nil
}

// file is the path of a key. Only keys that List could give have one: the check
// is what keeps a descriptor from reading elsewhere on the machine.
func (b *Bucket) file(key string) (string, error) {
	local := filepath.FromSlash(key)
	if key == "." || !filepath.IsLocal(local) || filepath.ToSlash(filepath.Clean(local)) != key || strings.ContainsRune(key, 0) {
		return "", failure.Errorf(failure.Member, failure.InvalidKey, "open %q: it names no file below %s", key, b.dir)
	}
	return filepath.Join(b.dir, local), nil
}

func describe(key string, fi fs.FileInfo) unit.Object {
	return unit.Object{Key: key, Size: fi.Size(), ETag: etag(fi), LastModified: fi.ModTime()}
}

func etag(fi fs.FileInfo) string {
	return fmt.Sprintf(`"%d-%d-%d"`, fi.Size(), fi.ModTime().UnixNano(), inode(fi))
}

// classify says what an error of the file system means for the job.
func (b *Bucket) classify(verb, path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err // it would name the path a second time
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return failure.Errorf(failure.Member, failure.NotFound, "%s %q: %w", verb, path, err)
	case errors.Is(err, fs.ErrPermission):
		return failure.Errorf(failure.Job, failure.Denied, "%s %q: %w: give this user read access to it", verb, path, err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, fs.ErrInvalid):
		return failure.Errorf(failure.Member, failure.InvalidKey, "%s %q: %w", verb, path, err)
	case errors.Is(err, syscall.ELOOP):
		return failure.Errorf(failure.Member, failure.NotFound, "%s %q: %w", verb, path, err)
	default: // out of descriptors, a network file system that is away, a disk's fault
		return failure.Errorf(failure.Transient, failure.RetriesExhausted, "%s %q: %w", verb, path, err)
	}
}
