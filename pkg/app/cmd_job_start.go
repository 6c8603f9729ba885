package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/app/internal/progress"
	"github.com/spate-go/spate/pkg/backoff"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/plan"
)

// startFlags are the flags of spate job start.
type startFlags struct {
	pipeline string
	run      control.StartOptions
	cutoff   string
	watch    bool
	progress string
	as       form
}

func jobStartCommand(s *stackFlags, std stdio) *cobra.Command {
	var f startFlags
	c := &cobra.Command{
		Use:   "start [JOB]",
		Short: "Start a job, or its next run",
		Long: `Start begins a run of the job and returns as soon as the listing is on its way. A job
that has ended is started again: the new run lists anew and reads what is not done.
One that is listing or running is refused, with the number of its run.

What is read is what the stack's own pipeline file says, unless --url, --include and
--exclude say otherwise for this run. JOB defaults to that file's job.name
or pipeline.name, or with --pipeline to those of FILE.

--cutoff live hands over from a listing to notifications: the run waits for the
cutoff that spate bucket connect fixed, as for any --cutoff in the future, and lists
what was last modified before it; what is put later is announced. An upload in progress
at the cutoff may be read by both.

Exit codes: 0 it is started, with --watch it completed; 1 it was refused or cannot be
started, with --watch also what spate job watch has; 2 the command line or the pipeline
file is wrong; 130 interrupted.`,
		Example: `  spate job start access-logs --stack logs --watch
  spate job start 2026-11-30 --stack logs --url s3://bucket/2026/11/30/`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneJob(c, args)
		},
		ValidArgsFunction: s.completeJob(std),
		RunE: func(c *cobra.Command, args []string) error {
			return startJob(c.Context(), args, s, f, std)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.pipeline, "pipeline", "", "pipeline `FILE` that names job, table and queue")
	fs.StringVar(&f.run.URL, "url", "", "read this `URL`, s3://bucket/prefix/, in place of the pipeline's")
	fs.StringArrayVar(&f.run.Include, "include", nil, "read what matches `GLOB` only; repeatable")
	fs.StringArrayVar(&f.run.Exclude, "exclude", nil, "leave out what matches `GLOB`; repeatable")
	fs.StringVar(&f.run.StartAfter, "start-after", "", "list what comes after `KEY` only")
	fs.StringVar(&f.cutoff, "cutoff", "", "list what was modified before `TIME` only; live: before the cutoff of the continuous job")
	fs.StringVar(&f.run.TaskToken, "task-token", "", "`TOKEN` of the Step Functions task to answer when the run has ended")
	fs.StringVar(&f.run.Token, "token", "", "name of this start: the same `TOKEN` is the same run, however often it is given")
	fs.BoolVar(&f.watch, "watch", false, "then watch the run, as spate job watch does")
	progressFlag(c, &f.progress)
	formFlag(c, &f.as)
	return c
}

// progressFlag gives c the flag --progress.
func progressFlag(c *cobra.Command, mode *string) {
	c.Flags().StringVar(mode, "progress", "auto", "`MODE`: auto (bars on a terminal, else a line every 10 s), plain (lines), none")
	completeFlag(c, "progress", "auto", "plain", "none")
}

// startedJob is what spate job start prints.
type startedJob struct {
	Job   string       `json:"job"`
	Run   int          `json:"run"`
	State ledger.State `json:"state"`
	Token string       `json:"token"`
}

// startJob is spate job start.
func startJob(ctx context.Context, args []string, s *stackFlags, f startFlags, std stdio) error {
	mode, err := progressMode(f.progress, std.env)
	if err != nil {
		return err
	}
	job, err := f.job(args, s, std)
	if err != nil {
		return err
	}
	if err := errors.Join(f.before(), f.selects()); err != nil {
		return err
	}
	if f.run.Token == "" { // ours, so that an error can name it
		f.run.Token = rand.Text()
	}
	return s.ask(ctx, std, strings.TrimSpace("start of job "+job), func(c *control.Control) error {
		if f.cutoff == liveCutoff {
			var err error
			if f.run.Before, err = c.Cutoff(ctx); err != nil {
				return err
			}
		}
		// A listing before then would miss what is put until then.
		if d := time.Until(f.run.Before); d > 0 {
			fmt.Fprintf(std.stderr, "spate: note: waiting %v for the cutoff\n", d.Round(time.Second))
			if err := backoff.Wait(ctx, d); err != nil {
				return err
			}
		}
		started, err := c.Start(ctx, job, f.run)
		if e, ok := errors.AsType[*control.FunctionError](err); err != nil && (!ok || e.Crashed) {
			return fmt.Errorf("%w: if it started anyway, --token %s finds it", err, f.run.Token)
		}
		if err != nil {
			return err
		}
		if started.Later != nil {
			fmt.Fprintf(std.stderr, "spate: note: the schedule begins the listing within a minute, because the lister could not be called: %s\n", oneLine(started.Later.Error()))
		}
		return f.proceed(ctx, c, started, mode, std)
	})
}

// liveCutoff stands for the cutoff of the stack's continuous job.
const liveCutoff = "live"

// before parses --cutoff if it is a time.
func (f *startFlags) before() error {
	if f.cutoff == "" || f.cutoff == liveCutoff {
		return nil
	}
	var at config.Time
	if err := at.UnmarshalText([]byte(f.cutoff)); err != nil {
		return fmt.Errorf("--cutoff %s: want %s, or a time like 2026-11-30T12:00:00Z: %w", f.cutoff, liveCutoff, err)
	}
	f.run.Before = at.Time
	return nil
}

// selects refuses a source that no stack could list.
func (f *startFlags) selects() error {
	if f.run.URL != "" {
		if l, err := parseURL(f.run.URL); err != nil || l.Bucket == "" {
			return fmt.Errorf("--url: %q is not a bucket that a stack can read: give s3://bucket/prefix/", f.run.URL)
		}
	}
	globs := plan.Filter{Include: f.run.Include, Exclude: f.run.Exclude}
	if err := globs.Validate(); err != nil {
		return fmt.Errorf("--include, --exclude: %w", err)
	}
	return nil
}

// job is the job's name: the argument, or the name in the pipeline file; "":
// what the stack's own file calls it. The table and the queue are taken from
// the file too.
func (f *startFlags) job(args []string, s *stackFlags, std stdio) (string, error) {
	if f.pipeline == "" {
		return strings.Join(args, ""), nil // there is one at most
	}
	p, err := Load(f.pipeline, nil, std.env)
	if err != nil {
		return "", err
	}
	named := control.Stack{Table: p.Job.Table}
	if p.Feed.SQS != nil {
		named.FeedURL = p.Feed.SQS.QueueURL
	}
	if s.name == "" {
		s.given = s.given.Or(named)
	}
	if len(args) > 0 {
		return args[0], nil
	}
	return p.Job.Name, nil
}

// proceed prints what was started or, with --watch, watches it.
func (f *startFlags) proceed(ctx context.Context, c *control.Control, s control.Started, mode progress.Mode, std stdio) error {
	if f.watch {
		fmt.Fprintf(std.stderr, "spate: note: job %s, run %d is %s\n", s.Job, s.Run, s.State)
		return watchJob(ctx, c, s.Job, s.Run, mode, f.as, std)
	}
	if f.as == asJSON {
		return writeJSON(std.stdout, startedJob{s.Job, s.Run, s.State, f.run.Token})
	}
	_, err := fmt.Fprintf(std.stdout, "job %s, run %d is %s: spate job watch %[1]s shows how far it is\n", s.Job, s.Run, s.State)
	return err
}
