package filesink

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spate-go/spate/pkg/sink"
	"github.com/spate-go/spate/pkg/unit"
)

// single is one file with the rows of all units.
type single struct {
	lock    chan struct{} // a mutex whose waits end with their context
	out     tail          // guarded by lock
	wrote   sink.Tokens   // guarded by lock
	journal *journal      // nil: none
	path    string
	opened  os.FileInfo // what the path led to then
}

// openSingle opens the file. Anything after the last block of the journal was
// never acked, and is removed.
func openSingle(p place, known bool, j *journal, past []entry, opener opener) (*single, error) {
	flags := os.O_RDWR | os.O_CREATE
	if !p.exists {
		flags |= os.O_EXCL // of two processes that found nothing only one succeeds
	}
	f, err := opener(p.path, flags)
	if errors.Is(err, fs.ErrExist) {
		p.exists = true
		return nil, cmp.Or(p.refuse(known), j.close())
	}
	if err != nil {
		return nil, cmp.Or(p.setting.classify(err), j.close())
	}
	s := &single{lock: make(chan struct{}, 1), out: tail{setting: p.setting, name: p.path, f: f}, journal: j, path: p.abs}
	s.opened, _ = os.Stat(p.abs)
	var end int64
	for _, e := range past {
		if e.op == appended {
			end = e.end
			s.wrote.Add(e.token)
		}
	}
	if err := s.start(p, known, end); err != nil {
		return nil, cmp.Or(err, s.Close())
	}
	return s, nil
}

func (s *single) start(p place, known bool, end int64) error {
	if known {
		size, err := sizeOf(p.abs)
		if err != nil {
			return p.setting.classify(err)
		}
		if size < end {
			return shorter(p.path, size, end)
		}
	}
	if err := s.out.cut(end); err != nil {
		return err
	}
	dir, err := os.Open(p.dir)
	if err != nil {
		return p.setting.classify(err)
	}
	return cmp.Or(syncDir(dir), dir.Close())
}

func (s *single) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *single) Write(ctx context.Context, b *sink.Block) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-s.lock }()
	if s.wrote.Has(b.Token) {
		return s.out.lost
	}
	before := s.out.good
	if err := s.out.append(b.Data); err != nil {
		return err
	}
	if err := s.record(b); err != nil {
		return cmp.Or(err, s.out.cut(before))
	}
	s.wrote.Add(b.Token)
	return nil
}

// record tells the journal of a block, after its rows: the journal must never
// know what the file has not.
func (s *single) record(b *sink.Block) error {
	if s.journal == nil {
		return nil
	}
	if err := s.out.sync(); err != nil {
		return err
	}
	return s.journal.add(appendedEntry(b, s.out.good))
}

func (s *single) Commit(ctx context.Context, _ unit.ID, _ int) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-s.lock }()
	return cmp.Or(s.gone(), s.out.sync())
}

// gone fails if the path no longer leads to the file: its rows would be lost
// with the descriptor.
func (s *single) gone() error {
	now, err := os.Stat(s.path)
	if s.opened == nil || err == nil && os.SameFile(now, s.opened) {
		return nil
	}
	return configf("write %s: the file was removed or replaced while rows were written to it: run again", s.out.name)
}

func (s *single) Limits() sink.Limits { return sink.Limits{} }

func (s *single) Close() error { return cmp.Or(s.out.close(), s.journal.close()) }
