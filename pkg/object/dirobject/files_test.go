package dirobject_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/dirobject"
	"github.com/spate-go/spate/pkg/unit"
)

func TestASourceThatIsNoDirectoryIsAFaultOfConfiguration(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", nil)
	_, err := dirobject.Open(filepath.Join(dir, "missing"))
	expect(t, err, failure.Job, failure.Config, "missing")
	_, err = dirobject.Open(filepath.Join(dir, "file"))
	expect(t, err, failure.Job, failure.Config, "it is a file")
	_, err = dirobject.Open(filepath.Join(dir, "file", "below"))
	expect(t, err, failure.Job, failure.Config, "no such directory")

	b := open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = b.List(t.Context(), "")
	expect(t, err, failure.Job, failure.Config, "no such directory")
}

func TestWhatIsNoFileIsListedWithoutBytes(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, elsewhere, "target", []byte("linked"))
	put(t, dir, "empty", nil)
	put(t, dir, "sub/file", []byte("x"))
	for link, target := range map[string]string{"link": filepath.Join(elsewhere, "target"), "loop": "loop", "nowhere": "nothing", "tree": elsewhere, "sub/up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "hollow/inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	others := []string{"loop", "nowhere", "pipe", "sub/up", "tree"}
	if d := cmp.Diff([]string{"empty", "link", "loop", "nowhere", "pipe", "sub/file", "sub/up", "tree"}, keys(t, b)); d != "" {
		t.Error(d)
	}
	for _, key := range others {
		if o := find(t, b, key); o.Size != 0 || o.ETag != "" {
			t.Errorf("%s is listed as an object to read: %+v", key, o)
		}
	}
	if got, err := readAll(t, b, find(t, b, "link")); err != nil || got != "linked" {
		t.Errorf("through the link: %q, %v", got, err)
	}
	for _, key := range []string{"pipe", "sub", "hollow/inside", "nowhere", "loop", "empty/below"} {
		_, err := b.Pin(unit.Object{Key: key, Size: 1, ETag: `"x"`}).ReadRange(t.Context(), 0, 1)
		expect(t, err, failure.Member, failure.NotFound, key)
	}
}

func TestAnETagIsSizeTimeAndInode(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "k", []byte("12345"))
	at := time.Unix(1700000000, 123456789)
	if err := os.Chtimes(filepath.Join(dir, "k"), at, at); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(dir, "k"))
	if err != nil {
		t.Fatal(err)
	}
	o := find(t, open(t, dir), "k")
	want := fmt.Sprintf(`"5-1700000000123456789-%d"`, fi.Sys().(*syscall.Stat_t).Ino)
	if o.ETag != want || o.Size != 5 || !o.LastModified.Equal(at) {
		t.Errorf("%+v, want ETag %s", o, want)
	}
}

// A program that rewrites a file in place changes the file that is being read.
func TestAFileThatIsWrittenToIsDriftBeforeAnyOfItsNewBytes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "k", []byte(strings.Repeat("o", 1000)))
	path := filepath.Join(dir, "k")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	o := find(t, b, "k")
	t.Run("in the midst of a window", func(t *testing.T) {
		p := b.Pin(o)
		body, err := p.ReadRange(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := body.Read(make([]byte, 100)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("n", 1000)), 0o644); err != nil {
			t.Fatal(err)
		}
		n, err := body.Read(make([]byte, 100))
		expect(t, err, failure.Member, failure.ETagDrift, `"k"`)
		if n != 0 {
			t.Errorf("%d bytes with it", n)
		}
		expect(t, p.Close(), failure.Member, failure.ETagDrift, `"k"`)
		if err := p.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	})
	t.Run("and after the last byte, which only Close can tell", func(t *testing.T) {
		p := b.Pin(find(t, b, "k"))
		body, err := p.ReadRange(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); len(got) != 1000 || err != nil {
			t.Fatal(len(got), err)
		}
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
		expect(t, p.Close(), failure.Member, failure.ETagDrift, `"k"`)
	})
}

func TestAFileThatIsRemovedAfterItWasReadIsGood(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "k", []byte("12345"))
	b := open(t, dir)
	p := b.Pin(find(t, b, "k"))
	body, err := p.ReadRange(t.Context(), 0, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "k")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); string(got) != "12345" || err != nil || p.Close() != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatMayNotBeReadStopsTheJobAndIsNotSkipped(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is denied to root")
	}
	dir := t.TempDir()
	put(t, dir, "a", []byte("x"))
	put(t, dir, "secret/k", []byte("x"))
	b := open(t, dir)
	o := find(t, b, "a")
	chmod(t, filepath.Join(dir, "a"), 0)
	chmod(t, filepath.Join(dir, "secret"), 0)
	_, err := b.List(t.Context(), "")
	expect(t, err, failure.Job, failure.Denied, filepath.Join(dir, "secret"))
	_, err = b.Pin(o).ReadRange(t.Context(), 0, 1)
	expect(t, err, failure.Job, failure.Denied, filepath.Join(dir, "a"))
	chmod(t, filepath.Join(dir, "secret"), 0o644) // its names, not its files
	_, err = b.List(t.Context(), "")
	expect(t, err, failure.Job, failure.Denied, filepath.Join(dir, "secret", "k"))
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
}

// A directory is not read again for each page, unless it changed.
func TestAChangeOfADirectoryBetweenPagesIsSeen(t *testing.T) {
	dir := t.TempDir()
	for i := range 1500 {
		put(t, dir, fmt.Sprintf("d/%04d", i), nil)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "d"), long, long); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	first, err := b.List(t.Context(), "")
	if err != nil || !first.More || first.Last != "d/0999" {
		t.Fatalf("%d objects to %q, %v", len(first.Objects), first.Last, err)
	}
	put(t, dir, "d/0999a", nil)
	if err := os.Remove(filepath.Join(dir, "d/1000")); err != nil {
		t.Fatal(err)
	}
	second, err := b.List(t.Context(), first.Last)
	if err != nil || second.More || len(second.Objects) != 500 || second.Objects[0].Key != "d/0999a" || second.Objects[1].Key != "d/1001" {
		t.Errorf("%d objects, %v", len(second.Objects), err)
	}
}

// Names must come in order and once, whatever the tree is like.
func TestAnyTreeIsListedInTheOrderOfBytes(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 1300 {
		// Directories and files whose names are each other's prefixes.
		key := strings.NewReplacer("3", "/", "7", "-", "9", ".x").Replace(fmt.Sprintf("%d", i*7919%100003))
		key = "r" + strings.ReplaceAll(strings.Trim(key, "/"), "//", "/") + "f"
		if slices.Contains(want, key) {
			continue
		}
		want = append(want, key)
		put(t, dir, key, nil)
	}
	slices.Sort(want)
	if d := cmp.Diff(want, keys(t, open(t, dir))); d != "" {
		t.Error(d)
	}
}

func keys(t *testing.T, b *dirobject.Bucket) []string {
	t.Helper()
	var out []string
	for _, o := range list(t, b) {
		out = append(out, o.Key)
	}
	return out
}

// find returns the file that is listed under key.
func find(t *testing.T, b *dirobject.Bucket, key string) unit.Object {
	t.Helper()
	all := list(t, b)
	i := slices.IndexFunc(all, func(o object.Listed) bool { return o.Key == key })
	if i < 0 {
		t.Fatalf("%q is not listed", key)
	}
	return all[i].Object
}

func list(t *testing.T, b *dirobject.Bucket) []object.Listed {
	t.Helper()
	var out []object.Listed
	for after := ""; ; {
		p, err := b.List(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Objects...)
		if !p.More {
			return out
		}
		after = p.Last
	}
}

func readAll(t *testing.T, b *dirobject.Bucket, o unit.Object) (string, error) {
	p := b.Pin(o)
	body, err := p.ReadRange(t.Context(), 0, o.Size)
	if err != nil {
		return "", err
	}
	got, err := io.ReadAll(body)
	return string(got), errors.Join(err, p.Close())
}

func expect(t *testing.T, err error, s failure.Scope, r failure.Reason, says string) {
	t.Helper()
	if scope, reason := failure.Of(err); err == nil || scope != s || reason != r {
		t.Errorf("got scope %d, %s: %v; want scope %d, %s", scope, reason, err, s, r)
	} else if !strings.Contains(err.Error(), says) {
		t.Errorf("the error does not say %q: %v", says, err)
	}
}
