package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/unit"
)

// Stream is a sink over a writer that takes nothing back, such as a pipe or a
// terminal: whole blocks, one after the other. Rows are out of our hands, and
// so acked, when the writer took them. It knows the tokens that it wrote and
// drops repeats.
//
// A writer that stops taking bytes stalls its units. One that failed within a
// block has half a row out there, and nothing more is written to it.
type Stream struct {
	name   string
	w      io.Writer
	lock   chan struct{} // a mutex whose waits end with their context
	wrote  Tokens        // guarded by lock
	broken error         // guarded by lock
}

// NewStream returns a sink over w. The name is the output's in errors. Closing
// the sink does not close w.
func NewStream(name string, w io.Writer) *Stream {
	return &Stream{name: name, w: w, lock: make(chan struct{}, 1)}
}

// Write implements Sink.
func (s *Stream) Write(ctx context.Context, b *Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.broken != nil || s.wrote.Has(b.Token) {
		return s.broken
	}
	n, err := s.w.Write(b.Data)
	if err == nil && n < len(b.Data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		s.wrote.Add(b.Token)
		return nil
	}
	return s.fail(n, len(b.Data), err)
}

// fail marks an error of the writer, which took n bytes of size.
func (s *Stream) fail(n, size int, err error) error {
	err = bare(err)
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		s.broken = failure.Errorf(failure.Job, failure.Config,
			"write %s: %s was closed: keep its reader open, then run again", s.name, s.name)
		return s.broken
	case errors.Is(err, syscall.EBADF):
		s.broken = failure.Errorf(failure.Job, failure.Config,
			"write %s: it is not open for writing: redirect it, then run again", s.name)
		return s.broken
	case n > 0:
		s.broken = failure.Errorf(failure.Job, failure.Config,
			"write %s: %w after %d of %d bytes: its last row is cut; run again into a fresh output", s.name, err, n, size)
		return s.broken
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return failure.Errorf(failure.Job, failure.Config, "write %s: %w: free space, then run again", s.name, err)
	default:
		return failure.New(failure.Transient, failure.RetriesExhausted, fmt.Errorf("write %s: %w", s.name, err))
	}
}

// bare strips the path from a file's error, whose caller names it already.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Commit implements Sink: what was written shows already.
func (s *Stream) Commit(context.Context, unit.ID, int) error { return nil }

// Limits implements Sink: none.
func (s *Stream) Limits() Limits { return Limits{} }

// Close implements Sink. It leaves the writer open.
func (s *Stream) Close() error { return nil }
