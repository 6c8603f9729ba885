// Package boltledger is the ledger of a job that outlives its process: one file,
// used by one process at a time. It is no service: nobody else reads the file while
// that process lives.
//
// What a method has acked is in the file and synced, so a process that is killed
// at any instruction, or a machine that stops, loses nothing of it (INV-7). There is
// one exception: starts of work (serials, attempts, marks), leases and beats are
// kept in memory, as the feed of such a process keeps its messages. An attempt that
// ended with its process does not count, and the next process counts from 0: to
// start that process is the same decision as a redrive. No reader can be left over
// that a serial would have to fence off, and no lister whose lease would have to
// lapse, because the file's lock went with the process.
//
// Each method is one transaction. Calls that arrive while another transaction is
// being synced share the next one. Prove looks at every item and at no counter.
//
// After a failed write nothing is known of the disk, so every later call fails with
// the same error. The file is as its last transaction left it.
package boltledger

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

var (
	_ ledger.Store   = (*Ledger)(nil)
	_ ledger.Resumer = (*Ledger)(nil)
)

// lockWait is how long Open waits for another process to end.
const lockWait = 500 * time.Millisecond

// Ledger holds jobs in a file.
type Ledger struct {
	dir string // for errors
	db  *bolt.DB

	queue   queue
	process process
	now     func() time.Time
	// units keeps two calls about the same unit apart: what Begin returns must
	// include everything that an earlier start of work has acked. A unit's lock
	// is chosen by its id.
	units [64]sync.Mutex
	seed  maphash.Seed
}

// Open opens the ledger at path, and creates it if there is none. The directory
// has to exist. A file that another process uses, that is of another kind or
// format, or that is damaged is refused.
func Open(path string) (*Ledger, error) {
	l := &Ledger{dir: filepath.Dir(path), seed: maphash.MakeSeed(), now: time.Now}
	fresh, err := l.look(path)
	if err != nil {
		return nil, err
	}
	l.db, err = l.open(path, false)
	if err != nil {
		return nil, err
	}
	if err := l.update((*txn).format); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if fresh {
		if err := syncDir(l.dir); err != nil {
			return nil, errors.Join(configf("make state %s: %w", l.dir, err), l.Close())
		}
	}
	return l, nil
}

// Close waits for calls under way and releases the file.
func (l *Ledger) Close() error {
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("close state %s: %w", l.dir, err)
	}
	return nil
}

func (l *Ledger) open(path string, readOnly bool) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:  lockWait,
		ReadOnly: readOnly,
		// The list of free pages can be found by looking at all pages, which look does
		// anyway. If it were written with every transaction, it would be most of what
		// is written once the bodies of a large job are gone.
		NoFreelistSync: true,
		FreelistType:   bolt.FreelistMapType,
		NoStatistics:   true,
	})
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, configf("open state %s: another process is using it: wait until it ends, or use another directory", l.dir)
	case errors.As(err, new(*fs.PathError)):
		return nil, configf("open state %s: %w", l.dir, err)
	}
	return nil, l.foreign(path)
}

func (l *Ledger) foreign(path string) error {
	return configf("open state %s: %s is not a ledger of this program, or is damaged: use another directory", l.dir, filepath.Base(path))
}

// look reads the whole file before anything is written to it: the library
// trusts a file, and a page that is not there would end the process. It reports
// whether there is no file yet.
func (l *Ledger) look(path string) (fresh bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, configf("open state %s: %w", l.dir, err)
	case !info.Mode().IsRegular():
		return false, l.foreign(path)
	case info.Size() == 0:
		return true, nil // a process was killed before its first byte
	}
	err = guard(func() error {
		db, err := l.open(path, true)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // it was only read
		return db.View(func(tx *bolt.Tx) error {
			if tx.Size() > info.Size() {
				return fmt.Errorf("%d of %d bytes are there", info.Size(), tx.Size())
			}
			if err := l.recognise(tx, path); err != nil {
				return err
			}
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return walk(b) })
		})
	})
	if err == nil {
		return false, nil
	}
	if _, reason := failure.Of(err); reason == failure.Config {
		return false, err
	}
	return false, configf("open state %s: %s is damaged: %w: restore it, or start over with another directory and another output",
		l.dir, filepath.Base(path), err)
}

// recognise refuses a file of another kind or format. An empty one is new: the
// process that created it was killed.
func (l *Ledger) recognise(tx *bolt.Tx, path string) error {
	about := tx.Bucket([]byte(aboutBucket))
	if about == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return l.foreign(path)
		}
		return nil
	}
	if v := string(about.Get([]byte(formatKey))); v != format {
		return configf("open state %s: %s has format %q, and this program writes %q: use the program that wrote it, or another directory",
			l.dir, filepath.Base(path), v, format)
	}
	return nil
}

// walk visits every page below b.
func walk(b *bolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return walk(b.Bucket(k))
		}
		return nil
	})
}

// lock keeps other calls about the unit away until the returned function is
// called.
func (l *Ledger) lock(id unit.ID) (unlock func()) {
	mu := &l.units[maphash.String(l.seed, string(id))%uint64(len(l.units))]
	mu.Lock()
	return mu.Unlock
}

// syncDir makes the file's name survive a crash of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// configf is an error that no unit is to blame for, and that the next call
// would meet too.
func configf(format string, args ...any) error {
	return failure.Errorf(failure.Job, failure.Config, format, args...)
}
