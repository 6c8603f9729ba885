package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// finish reports an ended job and takes it off the live ones.
//
// The order: the report, then its marker, so that the marker never stands alone;
// then the announcement, so that whoever is told finds both; the live item last,
// because the live item of an ended job is what brings the next tick back here. A
// crash before that repeats everything: the report is replaced by its equal, and
// whoever is told may be told twice.
func (s *Shared) finish(ctx context.Context, job string) error {
	meta, err := read(ctx, s.ledger, job)
	if err != nil || !meta.State.Ended() {
		return err
	}
	r, err := compose(ctx, s.ledger, meta)
	if err != nil {
		return err
	}
	// A redrive during the counting would have put open units of a later
	// generation into the report of this one.
	again, err := read(ctx, s.ledger, job)
	if err != nil || !same(meta, again) {
		return err
	}
	if err := s.keep(ctx, r); err != nil {
		return err
	}
	if s.opt.Announce != nil {
		if err := s.opt.Announce(ctx, r); err != nil {
			return fmt.Errorf("announce the end of job %s, run %d: %w", job, r.Run, err)
		}
	}
	err = s.ledger.Retire(ctx, job, meta.Run, meta.Generation)
	if errors.Is(err, ledger.ErrState) { // it is taken up again: the next tick looks
		return nil
	}
	if err != nil {
		return fmt.Errorf("retire job %s: %w", job, err)
	}
	s.opt.Log.Info("job ended", "job", job, "run", r.Run, "state", r.State, "reason", r.Reason,
		"units", r.Units.Planned, "done", r.Units.Done, "dead", r.Units.Dead, "missing", r.Units.Missing)
	return nil
}

// same reports whether b is of the same verdict as a.
func same(a, b ledger.Meta) bool {
	return a.Run == b.Run && a.Generation == b.Generation && a.State == b.State
}

// keep writes the report and, of a completed run, the marker.
func (s *Shared) keep(ctx context.Context, r *report.Report) error {
	if s.opt.Reports == nil {
		return nil
	}
	body, err := r.JSON()
	if err != nil {
		return err
	}
	if err := s.put(ctx, report.Key(r.Job, r.Run, r.Generation), body); err != nil {
		return err
	}
	if r.State != report.Completed {
		return nil
	}
	return s.put(ctx, report.SuccessKey(r.Job, r.Run), nil)
}

func (s *Shared) put(ctx context.Context, name string, body []byte) error {
	if err := s.opt.Reports.Put(ctx, name, body); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return nil
}
