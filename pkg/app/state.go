package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/boltledger"
	"github.com/spate-go/spate/pkg/sink/filesink"
	"github.com/spate-go/spate/pkg/unit"
)

// state is a directory with the ledger of its jobs and the journals of their file
// sinks. The zero state is none: all progress ends with the process.
//
// It belongs to this process alone until it is closed, so a job that is under way
// in it was left by an earlier process.
type state struct {
	dir    string
	ledger *boltledger.Ledger // nil: there is no state
}

func openState(dir string, l location) (state, error) {
	if err := outside(dir, "--state", l); err != nil {
		return state{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return state{}, failure.Errorf(failure.Job, failure.Config, "make state: %w", err)
	}
	b, err := boltledger.Open(filepath.Join(dir, "ledger.db"))
	if err != nil {
		return state{}, err
	}
	return state{dir, b}, nil
}

func (s state) close() error {
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// journal is the file in which a file sink of a job remembers its blocks.
func (s state) journal(job, sink string) string {
	if s.ledger == nil {
		return ""
	}
	return filepath.Join(s.dir, job+"."+sink+".journal")
}

// spares refuses to replace an output that the state of a begun job did not
// write: the new file would lack the rows of finished units.
func (s state) spares(o filesink.Options, begun bool) error {
	if !o.Overwrite || !begun {
		return nil
	}
	o.Overwrite = false
	if filesink.Check(o) == nil {
		return nil
	}
	return failure.Errorf(failure.Job, failure.Config,
		"%s was not written by state %s, and with --overwrite it would hold only the rows of what that has not finished: choose another path, or start over with another --state", o.Path, s.dir)
}

// check reports whether the job was begun before. It refuses to continue a run
// that another configuration planned: what that one listed would not be what is
// read now.
func (s state) check(ctx context.Context, job string, d ledger.Digests) (begun bool, err error) {
	if s.ledger == nil {
		return false, nil
	}
	m, err := s.ledger.Meta(ctx, job)
	if errors.Is(err, ledger.ErrNoJob) {
		return false, nil
	}
	if err != nil || m.State.Ended() || !m.Listed {
		return true, err
	}
	for _, c := range []struct{ what, was, is string }{
		{"source", m.Digests.Plan, d.Plan},
		{"compression and framing", m.Digests.Read, d.Read},
	} {
		if c.was != c.is {
			return true, failure.Errorf(failure.Job, failure.Fingerprint,
				"run %d of job %s in state %s is unfinished; the fingerprint of its %s is %s, and this pipeline file's is %s: finish it with the file that it was started with, or start over with another --state and another output",
				m.Run, job, s.dir, c.what, c.was, c.is)
		}
	}
	return true, nil
}

// begin begins the job's next run, or continues the one in the state; going
// says which.
func (j *Job) begin(ctx context.Context) (m ledger.Meta, going bool, err error) {
	if j.state.ledger != nil {
		if m, going, err = j.takeOver(ctx); going || err != nil {
			return m, going, err
		}
	}
	m, err = j.start(ctx)
	return m, false, err
}

// takeOver prepares the job that an earlier process left, and reports whether
// its run continues.
func (j *Job) takeOver(ctx context.Context) (m ledger.Meta, going bool, err error) {
	m, err = j.ledger.Meta(ctx, j.name)
	switch {
	case errors.Is(err, ledger.ErrNoJob):
		return m, false, nil
	case err != nil || m.State.Ended():
		return m, false, err
	case !m.Listed:
		// The plan is incomplete, and what is left to list may have changed by now.
		// The next run takes over what is done.
		return m, false, j.ledger.Conclude(ctx, j.name, m.Run, m.Generation, ledger.Cancelled)
	case m.Halt != nil:
		// Whoever runs it again means what the resume command means.
		_, err = j.ledger.Resume(ctx, j.name, m.Halt.Reason)
		m.Halt = nil
	}
	return m, true, err
}

// resend sends the open units of a run whose feed was lost with its process.
func (j *Job) resend(ctx context.Context, m ledger.Meta) error {
	err := j.progress.goesOn(m.Inventory, func(yield func(*unit.Unit)) error {
		return j.state.ledger.Pending(ctx, j.name, m.Run, func(p ledger.Planned) error {
			if u, err := unit.Decode(p.Body); err == nil { // or the reader says so
				yield(u)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return j.state.ledger.Pending(ctx, j.name, m.Run, func(p ledger.Planned) error {
		if err := j.waits.Send(ctx, feed.Message{ID: p.ID, Job: j.name, Body: p.Body}); err != nil {
			return fmt.Errorf("send again: %w", err)
		}
		return nil
	})
}
