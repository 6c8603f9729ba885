package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/ledger"
)

// changeCommand completes c, a command that changes the course of a job. change
// returns what it did, once for programs and once in words.
func changeCommand(c *cobra.Command, s *stackFlags, std stdio, change func(ctx context.Context, c *control.Control, job string) (any, string, error)) *cobra.Command {
	var as form
	c.Args = oneJob
	c.ValidArgsFunction = s.completeJob(std)
	c.RunE = func(c *cobra.Command, args []string) error {
		doing := fmt.Sprintf("%s of job %s", c.Name(), args[0])
		return s.ask(c.Context(), std, doing, func(stack *control.Control) error {
			did, text, err := change(c.Context(), stack, args[0])
			if err != nil {
				return err
			}
			if as == asJSON {
				return writeJSON(std.stdout, did)
			}
			_, err = fmt.Fprintln(std.stdout, text)
			return err
		})
	}
	formFlag(c, &as)
	return c
}

// redrivenJob is what spate job redrive prints.
type redrivenJob struct {
	Job   string `json:"job"`
	Run   int    `json:"run"`
	Units int    `json:"units"` // that were dead
}

func jobRedriveCommand(s *stackFlags, std stdio) *cobra.Command {
	return changeCommand(&cobra.Command{
		Use:   "redrive JOB",
		Short: "Retry the dead units of a job",
		Long: `Redrive opens every dead unit of the job's run, with its attempts counted afresh, and
has all open units sent within a minute. A failed job runs again, and ends by itself.
Rows that are in a sink already are not read again, as far as the unit had come.

Exit codes: 0 it is done; 1 it cannot be: the run has neither failed nor is it running;
2 the command line is wrong; 130 interrupted, and may be repeated.`,
		Example: "  spate job redrive access-logs --stack logs",
	}, s, std, func(ctx context.Context, c *control.Control, job string) (any, string, error) {
		r, err := c.Redrive(ctx, job)
		text := fmt.Sprintf("job %s, run %d: %s open again, and all open units are sent within a minute", job, r.Run, many(r.Units, "dead unit is", "dead units are"))
		return redrivenJob{job, r.Run, r.Units}, text, err
	})
}

// resumedJob is what spate job resume prints.
type resumedJob struct {
	Job     string   `json:"job"`
	Run     int      `json:"run"`
	Cleared *jobHalt `json:"cleared"`
}

func jobResumeCommand(s *stackFlags, std stdio) *cobra.Command {
	return changeCommand(&cobra.Command{
		Use:   "resume JOB",
		Short: "Resume a halted job, once its cause is fixed",
		Long: `Resume clears the halt that it names, and has all open units sent within a minute. If
the fault is still there, the job halts again with the first unit that meets it.

Exit codes: 0 it is done; 1 it cannot be: the job is not halted; 2 the command line is
wrong; 130 interrupted, and may be repeated.`,
		Example: "  spate job resume access-logs --stack logs",
	}, s, std, func(ctx context.Context, c *control.Control, job string) (any, string, error) {
		r, err := c.Resume(ctx, job)
		text := fmt.Sprintf("job %s, run %d resumes within a minute; it was halted by %s: %s", job, r.Run, r.Halt.Reason, oneLine(r.Halt.Detail))
		return resumedJob{job, r.Run, haltOf(r.Halt)}, text, err
	})
}

// cancelledJob is what spate job cancel prints.
type cancelledJob struct {
	Job   string       `json:"job"`
	Run   int          `json:"run"`
	State ledger.State `json:"state"`
}

func jobCancelCommand(s *stackFlags, std stdio) *cobra.Command {
	return changeCommand(&cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel a job's run",
		Long: `Cancel ends the job's run. Units that are being read are finished, the others are
left, and the report names them. Started again, the job reads what is not done.

Exit codes: 0 it is cancelled, or was before; 1 it cannot be: the run has ended
otherwise; 2 the command line is wrong; 130 interrupted, and may be repeated.`,
		Example: "  spate job cancel access-logs --stack logs",
	}, s, std, func(ctx context.Context, c *control.Control, job string) (any, string, error) {
		r, err := c.Cancel(ctx, job)
		if err == nil && r.Later != nil {
			fmt.Fprintf(std.stderr, "spate: note: the report is written within a minute, because the finalizer could not be called: %s\n", oneLine(r.Later.Error()))
		}
		text := fmt.Sprintf("job %s, run %d is cancelled: spate job report %[1]s names what is not done", job, r.Run)
		return cancelledJob{job, r.Run, ledger.Cancelled}, text, err
	})
}

// many is a number with what it counts, which is one or several.
func many(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
