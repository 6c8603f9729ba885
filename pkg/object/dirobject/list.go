package dirobject

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/unit"
)

// pageSize is S3's.
const pageSize = 1000

// List returns a page. It holds the names of the directories on the path to the
// page's end, and nothing of the rest of the tree.
func (b *Bucket) List(ctx context.Context, after string) (object.Page, error) {
	if err := b.check(); err != nil {
		return object.Page{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := listing{b: b, ctx: ctx, after: after, page: object.Page{Last: after}, path: map[string]names{}}
	if err := l.dir(""); err != nil {
		return object.Page{}, err
	}
	b.path = l.path
	return l.page, nil
}

// listing is one page in the making.
type listing struct {
	b     *Bucket
	ctx   context.Context // of the call of List
	after string
	page  object.Page
	path  map[string]names
}

// dir adds the files below the directory with key prefix rel ("" or ending in a
// slash), until the page is full.
//
// A directory sorts by its name and a slash, for that is how the keys below it
// begin: "a-b" comes before "a/b", and "a" before both.
func (l *listing) dir(rel string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	n, err := l.b.names(rel)
	if err != nil {
		return err
	}
	l.path[rel] = n
	for _, name := range n.names[n.first(rel, l.after):] {
		if strings.HasSuffix(name, "/") {
			err = l.dir(rel + name)
		} else {
			err = l.file(rel + name)
		}
		if err != nil {
			return err
		}
		if l.page.More {
			return nil // the path stays: the next page goes on from here
		}
	}
	delete(l.path, rel)
	return nil
}

func (l *listing) file(key string) error {
	if len(l.page.Objects) == pageSize {
		l.page.More = true
		return nil
	}
	path := filepath.Join(l.b.dir, filepath.FromSlash(key))
	fi, err := os.Stat(path)
	if link, linkErr := os.Lstat(path); err != nil && linkErr == nil {
		fi, err = link, nil // it leads nowhere
	}
	if err != nil {
		return l.b.unlisted(path, err) // gone since its name was read, or worse
	}
	o := unit.Object{Key: key, LastModified: fi.ModTime()}
	if fi.Mode().IsRegular() {
		o = describe(key, fi)
	}
	l.page.Objects = append(l.page.Objects, object.Listed{Object: o})
	l.page.Last = key
	return nil
}

// names are the sorted names in one directory, those of directories with a slash
// at the end.
type names struct {
	names   []string
	changed time.Time // the directory's modification time
	settled bool      // changed is old enough for a later change to show in it
}

// first is the index of the first name that is, or has below it, a key after
// after.
func (n names) first(rel, after string) int {
	i := sort.Search(len(n.names), func(i int) bool { return rel+n.names[i] > after })
	if i > 0 && strings.HasSuffix(n.names[i-1], "/") && strings.HasPrefix(after, rel+n.names[i-1]) {
		i--
	}
	return i
}

// tick is longer than a tick of any file system's clock. A directory that
// changed less than that before it was read may have changed again within the
// same tick, unseen.
const tick = 3 * time.Second

// names reads a directory, or reuses the names of the previous page if it has
// not changed since: otherwise a directory of a million files would be read and
// sorted for each of its thousand pages.
func (b *Bucket) names(rel string) (names, error) {
	path := filepath.Join(b.dir, filepath.FromSlash(rel))
	now := time.Now()
	fi, err := os.Stat(path)
	if err != nil {
		return names{}, b.unlisted(path, err)
	}
	if n, ok := b.path[rel]; ok && n.settled && n.changed.Equal(fi.ModTime()) {
		return n, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return names{}, b.unlisted(path, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	entries, err := f.ReadDir(-1)
	if err != nil {
		return names{}, b.unlisted(path, err)
	}
	n := names{names: make([]string, 0, len(entries)), changed: fi.ModTime(), settled: now.Sub(fi.ModTime()) > tick}
	for _, e := range entries {
		name := e.Name() // what it is, and where a link leads, is seen when its turn comes
		if e.IsDir() {
			name += "/"
		}
		n.names = append(n.names, name)
	}
	slices.Sort(n.names)
	return n, nil
}

// unlisted classifies an error met in listing. What vanished in the meantime is
// not in the listing; anything else would leave the listing incomplete.
func (b *Bucket) unlisted(path string, err error) error {
	err = b.classify("list", path, err)
	switch scope, reason := failure.Of(err); {
	case reason == failure.NotFound:
		return nil
	case scope == failure.Member: // a path that is too long to be opened
		return failure.New(failure.Job, failure.Config, err)
	}
	return err
}
