package boltledger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/boltledger"
)

// refuses checks that the file is refused, and left as it is.
func refuses(t *testing.T, path string, want ...string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	l, err := boltledger.Open(path)
	if err == nil {
		shut(t, l)
		t.Fatal("it was opened")
	}
	for _, w := range append(want, filepath.Dir(path)) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error lacks %q: %v", w, err)
		}
	}
	if s, reason := failure.Of(err); s != failure.Job || reason != failure.Config {
		t.Errorf("scope %v, reason %s", s, reason)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path)
	start := time.Now()
	refuses(t, path, "another process")
	if d := time.Since(start); d > time.Second {
		t.Errorf("it took %v to say so", d)
	}
	shut(t, l)
	shut(t, open(t, path))
}

func TestAnotherFileIsRefused(t *testing.T) {
	name := func(t *testing.T) string { return filepath.Join(t.TempDir(), "ledger.db") }
	put := func(t *testing.T, data string) string {
		t.Helper()
		path := name(t)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("text", func(t *testing.T) {
		refuses(t, put(t, "not a ledger\n"), "not a ledger of this program")
	})
	t.Run("long text", func(t *testing.T) {
		refuses(t, put(t, strings.Repeat("not a ledger\n", 10_000)), "not a ledger of this program")
	})
	t.Run("a directory", func(t *testing.T) {
		path := name(t)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, "not a ledger of this program")
	})
	t.Run("a directory that is not there", func(t *testing.T) {
		refuses(t, filepath.Join(t.TempDir(), "no", "ledger.db"), "no such file")
	})
	t.Run("another program's database", func(t *testing.T) {
		path := name(t)
		change(t, path, func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte("other"))
			return err
		})
		refuses(t, path, "not a ledger of this program")
	})
	t.Run("another format", func(t *testing.T) {
		path := name(t)
		shut(t, open(t, path))
		change(t, path, func(tx *bolt.Tx) error { return tx.Bucket([]byte("spate ledger")).Put([]byte("format"), []byte("1")) })
		refuses(t, path, `format "1"`, `writes "2"`)
	})
	t.Run("an empty file is a new ledger", func(t *testing.T) {
		path := put(t, "")
		shut(t, open(t, path))
		shut(t, open(t, path))
	})
}

func change(t *testing.T, path string, f func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(f); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// written is a ledger of some size.
func written(t *testing.T) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path).Unsynced()
	listing(t, l)
	for n := range 4 {
		if err := sent(t.Context(), l, page(n*40, n*40+40)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 40 {
		must[ledger.Tally](t)(l.Done(t.Context(), ref(1, n), counts))
	}
	shut(t, l)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func TestARecordThatMakesNoSenseIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := planned(t, open(t, path), 2)
	shut(t, l)
	change(t, path, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("jobs")).Bucket([]byte("=j")).Bucket([]byte("items")).Put([]byte(id(0)), []byte("nonsense"))
	})
	l = open(t, path)
	defer shut(t, l)
	_, read := l.Prove(t.Context(), "j", 1)
	_, write := l.Done(t.Context(), ref(1, 0), counts)
	_, after := l.Done(t.Context(), ref(1, 1), counts)
	for _, err := range []error{read, write, after} {
		if s, _ := failure.Of(err); s != failure.Job || !strings.Contains(err.Error(), filepath.Dir(path)) || !strings.Contains(err.Error(), "record") {
			t.Errorf("it says %v", err)
		}
	}
}

// TestADamagedFileIsNoSurprise: whatever page is cut off or overwritten, Open
// says so, or the page was one that nothing leads to.
func TestADamagedFileIsNoSurprise(t *testing.T) {
	path, data := written(t)
	pages := len(data) / os.Getpagesize()
	refused := 0
	damaged := func(what string, n int, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := boltledger.Open(path)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), filepath.Dir(path)) || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s %d: %v", what, n, err)
			}
			return
		}
		defer shut(t, l.Unsynced())
		for _, err := range []error{l.Unfinished(t.Context(), "j", 1, func(ledger.Item) error { return nil }), again(t.Context(), l)} {
			if err != nil {
				t.Errorf("%s %d was opened, and then: %v", what, n, err)
			}
		}
	}
	for n := 1; n < pages; n++ {
		damaged("cut at page", n, data[:n*os.Getpagesize()])
		for _, with := range []byte{0, 0xff} {
			bad := append([]byte(nil), data...)
			p := bad[n*os.Getpagesize() : (n+1)*os.Getpagesize()]
			for i := range p {
				p[i] = with
			}
			damaged("overwritten page", n, bad)
		}
	}
	t.Logf("%d pages, %d of %d damages refused", pages, refused, 3*(pages-1))
	if refused < pages {
		t.Errorf("%d of %d damages refused", refused, 3*(pages-1))
	}
}

// again lists on in a ledger that another process left.
func again(ctx context.Context, l *boltledger.Ledger) error {
	if _, err := l.Lease(ctx, lister); err != nil {
		return err
	}
	return l.Finish(ctx, lister)
}
