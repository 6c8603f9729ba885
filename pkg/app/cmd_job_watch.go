package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/app/internal/progress"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/report"
)

// written is how long to wait for the finalizer's report after a watched job
// has ended.
const written = 15 * time.Second

func jobWatchCommand(s *stackFlags, std stdio) *cobra.Command {
	var show string
	var as form
	c := &cobra.Command{
		Use:   "watch JOB",
		Short: "Show how far a job is until it ends, then its report",
		Long: `Watch shows objects, bytes, records, rate and time left until the job's run has ended
or is halted, and then prints its report. A halt because a sink is down ends by itself,
so that is waited for. Interrupting watch does nothing to the job.

Exit codes: 0 the job completed; 1 it failed, was cancelled or is halted, or cannot be
watched; 2 the command line is wrong; 130 interrupted.`,
		Example:           "  spate job watch access-logs --stack logs\n  spate job watch access-logs --stack logs --progress none -o json",
		Args:              oneJob,
		ValidArgsFunction: s.completeJob(std),
		RunE: func(c *cobra.Command, args []string) error {
			mode, err := progressMode(show, std.env)
			if err != nil {
				return err
			}
			return s.ask(c.Context(), std, "watch of job "+args[0], func(stack *control.Control) error {
				return watchJob(c.Context(), stack, args[0], 0, mode, as, std)
			})
		},
	}
	progressFlag(c, &show)
	formFlag(c, &as)
	return c
}

// watchJob shows a run until it stops, and then its report.
func watchJob(ctx context.Context, c *control.Control, job string, run int, mode progress.Mode, as form, std stdio) error {
	w := watching{std: std, mode: mode}
	_, err := c.Watch(ctx, job, run, w.look)
	if w.display != nil {
		w.display.Stop()
	}
	if ctx.Err() != nil {
		return &exitError{fmt.Errorf("watch of job %s was interrupted: the job continues, and spate job watch %[1]s follows it", job), exitInterrupted}
	}
	if err != nil {
		return err
	}
	r, err := c.Report(ctx, job, written)
	if err != nil {
		return err
	}
	if err := showReport(r, as, std); err != nil {
		return err
	}
	return endOf(r)
}

// watching feeds a display with what is seen of a job.
type watching struct {
	std     stdio
	mode    progress.Mode
	last    atomic.Pointer[control.Snapshot]
	display *progress.Display // nil until a job is seen that goes on
}

func (w *watching) look(s control.Snapshot) {
	w.last.Store(&s)
	if w.display == nil && !s.Stopped() {
		w.display = progress.Start(w.std.stderr, w.mode, w.snapshot, progress.Options{Begun: s.Meta.Started, DoneBytes: s.Bytes()})
	}
}

func (w *watching) snapshot() progress.Snapshot {
	s := w.last.Load()
	p := progress.Snapshot{
		ListedObjects: s.Meta.Inventory.Objects, ListedBytes: s.Meta.Inventory.Bytes, Listing: !s.Meta.Listed,
		DoneObjects: s.Objects(), DoneBytes: s.Bytes(), Records: s.Progress.Records,
		FailedObjects: int64(s.Progress.Dead), // a dead unit has one at least
	}
	if s.Meta.Halt != nil {
		p.Halted = string(s.Meta.Halt.Reason)
	}
	return p
}

func jobReportCommand(s *stackFlags, std stdio) *cobra.Command {
	var as form
	c := &cobra.Command{
		Use:   "report JOB",
		Short: "Print the report of a job's last run",
		Long: `Report prints what the finalizer wrote when the run ended. For a run in
progress it makes one of what is done so far, for which it reads every unit's item.

Exit codes: 0 it is printed, whatever it says; 1 it cannot be read; 2 the command line
is wrong; 130 interrupted.`,
		Example:           "  spate job report access-logs --stack logs -o json",
		Args:              oneJob,
		ValidArgsFunction: s.completeJob(std),
		RunE: func(c *cobra.Command, args []string) error {
			return s.ask(c.Context(), std, "report of job "+args[0], func(stack *control.Control) error {
				r, err := stack.Report(c.Context(), args[0], 0)
				if err != nil {
					return err
				}
				return showReport(r, as, std)
			})
		},
	}
	formFlag(c, &as)
	return c
}

// showReport prints r, and the warnings that it gives rise to.
func showReport(r *report.Report, as form, std stdio) error {
	for _, w := range warnings(r) {
		fmt.Fprintf(std.stderr, "spate: warning: %s\n", w)
	}
	if as == asJSON {
		return writeJSON(std.stdout, r)
	}
	return r.Text(std.stdout)
}

// endOf is the error for the exit code of a job that was watched, and says what
// to do about it; nil if it completed.
func endOf(r *report.Report) error {
	var text string
	switch r.State {
	case report.Completed:
		return nil
	case report.Failed:
		text = fmt.Sprintf("job %s failed: %s: spate job redrive %[1]s retries them, spate job start %[1]s reads new versions", r.Job, oneLine(r.Reason))
	case report.Halted:
		text = fmt.Sprintf("job %s is halted: %s: fix that, then spate job resume %[1]s", r.Job, oneLine(r.Reason))
	case report.Cancelled:
		text = fmt.Sprintf("job %s was cancelled: spate job start %[1]s reads what is not done", r.Job)
	case report.Interrupted, report.Running:
		fallthrough
	default:
		text = fmt.Sprintf("job %s is %s again: spate job watch %[1]s follows it", r.Job, r.State)
	}
	return &exitError{errors.New(text), exitIncomplete}
}
