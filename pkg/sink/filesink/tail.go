package filesink

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// file is the part of *os.File that rows need; tests break it.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

type opener func(name string, flag int) (file, error)

func osFile(name string, flag int) (file, error) { return os.OpenFile(name, flag, 0o644) }

// tail is a file that grows by pieces: all of a piece is in it, or none.
type tail struct {
	setting setting
	name    string
	f       file
	good    int64 // bytes that count; anything after them is to be cut off
	behind  bool  // something may follow them
	lost    error // of a failed sync; final
	synced  int64 // bytes that survive a crash of the machine
}

// append adds p, or removes the part of it that was written.
func (t *tail) append(p []byte) error {
	if err := t.trim(); err != nil {
		return err
	}
	t.behind = true
	n, err := t.f.WriteAt(p, t.good)
	if err == nil && n < len(p) {
		err = &fs.PathError{Op: "write", Path: t.name, Err: io.ErrShortWrite}
	}
	if err != nil {
		// If this fails too, the next append or Close tries again before
		// anything else.
		_ = t.trim()
		return t.setting.classify(err)
	}
	t.good += int64(n)
	t.behind = false
	return nil
}

// cut makes the file end at size.
func (t *tail) cut(size int64) error {
	t.good, t.behind = size, true
	return t.trim()
}

func (t *tail) trim() error {
	if t.lost != nil || !t.behind {
		return t.lost
	}
	if err := t.f.Truncate(t.good); err != nil {
		return t.setting.classify(err)
	}
	t.behind = false
	t.synced = min(t.synced, t.good)
	return nil
}

// sync makes what was appended survive a crash of the machine.
func (t *tail) sync() error {
	if t.lost != nil || t.synced == t.good {
		return t.lost
	}
	if err := t.f.Sync(); err != nil {
		t.lost = unsynced(err)
		return t.lost
	}
	t.synced = t.good
	return nil
}

func (t *tail) close() error {
	err := t.trim()
	if e := t.f.Close(); e != nil && err == nil {
		err = t.setting.classify(e)
	}
	return err
}

// syncDir makes the names in a directory durable. Some file systems do not
// support that, and say so.
func syncDir(d *os.File) error {
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return unsynced(err)
	}
	return nil
}
