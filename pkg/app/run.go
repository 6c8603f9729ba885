package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/app/internal/progress"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/report"
)

// runFlags are the flags of spate run.
type runFlags struct {
	set       []string
	overwrite bool
	limit     int64
	report    string
	progress  string
	output    string
	logLevel  slog.Level
}

func runCommand(p Pipeline, io stdio) *cobra.Command {
	f := runFlags{logLevel: slog.LevelError}
	c := &cobra.Command{
		Use:   "run PIPELINE.yaml",
		Short: "Run a whole job in this process and report",
		Long: `Run lists the source once, reads every object, and ends with a report: either
every record is in the sink, or it says exactly which object is not, and why.

Exit codes: 0 completed; 1 the job failed, halted or is incomplete; 2 the command
line or the pipeline file is wrong; 130 interrupted. The first interrupt lets the
units at hand finish for 5 s, the second ends the process at once.`,
		Example: "  spate run pipeline.yaml\n  spate run pipeline.yaml --set sink.file.path=/tmp/rows.ndjson --limit 1000",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return run(c.Context(), args[0], f, p, io)
		},
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.set, "set", nil, "override a key of the pipeline file, as `path=value`; repeatable")
	fs.BoolVar(&f.overwrite, "overwrite", false, "replace the output of an earlier run")
	fs.Int64Var(&f.limit, "limit", 0, "stop after `N` records, to try a chain; 0 reads all")
	fs.StringVar(&f.report, "report", "", "write the report as JSON to `FILE`")
	fs.StringVar(&f.progress, "progress", "auto", "auto, plain or none: bars on a terminal, else a line every 10 s")
	fs.StringVarP(&f.output, "output", "o", "text", "form of the report: text or json")
	fs.TextVar(&f.logLevel, "log-level", f.logLevel, "debug, info, warn or error")
	return c
}

// run is spate run.
func run(ctx context.Context, path string, f runFlags, p Pipeline, std stdio) error {
	mode, err := progress.ParseMode(f.progress)
	if err != nil {
		return fmt.Errorf("--progress: %w", err)
	}
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output: %q is neither text nor json", f.output)
	}
	if f.limit < 0 {
		return fmt.Errorf("--limit: %d is less than 0", f.limit)
	}
	c, err := Load(path, f.set, std.env)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(std.stderr, &slog.HandlerOptions{Level: f.logLevel}))
	for _, note := range c.ignored() {
		fmt.Fprintf(std.stderr, "spate: note: %s\n", note)
	}
	reports, closeReport, err := reportFile(f.report)
	if err != nil {
		return err
	}
	defer closeReport()
	metrics := new(metric.Registry)
	j, err := Open(ctx, c, p, Options{
		Overwrite: f.overwrite, Limit: f.limit, Stdout: std.stdout, Log: log, Metrics: metrics,
	})
	if err != nil {
		return err
	}
	display := progress.Start(std.stderr, mode, j.progress, progress.Options{})
	r, err := j.Run(ctx)
	display.Stop()
	if err := errors.Join(err, j.Close()); err != nil {
		return &exitError{err, exitIncomplete}
	}
	if reports != nil {
		if err := writeJSON(reports, r); err != nil {
			return &exitError{fmt.Errorf("write report: %w", err), exitIncomplete}
		}
	}
	if err := show(r, f.output, c, std); err != nil {
		return &exitError{err, exitIncomplete}
	}
	return verdict(ctx, r, f.limit > 0)
}

// show prints the report; on standard error where standard output carries rows.
func show(r *report.Report, form string, c Config, std stdio) error {
	w := io.Writer(std.stdout)
	if c.Sink != nil && c.Sink.Stdout != nil {
		w = std.stderr
	}
	if form == "json" {
		return writeJSON(w, r)
	}
	return r.Text(w)
}

// verdict is what the exit code says of a report.
func verdict(ctx context.Context, r *report.Report, limited bool) error {
	switch {
	case r.State == report.Completed:
		return nil
	case r.State == report.Interrupted && ctx.Err() != nil:
		return &exitError{fmt.Errorf("job %s was interrupted: %d of %d units are done: run it again", r.Job, r.Units.Done, r.Units.Planned), exitInterrupted}
	case r.State == report.Interrupted && limited:
		return nil
	}
	return &exitError{fmt.Errorf("job %s %s: %s", r.Job, r.State, r.Reason), exitIncomplete}
}

func writeJSON(w io.Writer, r *report.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// reportFile opens the report before the job runs: a path that cannot be
// written shows at once, not after hours.
func reportFile(path string) (io.Writer, func(), error) {
	if path == "" {
		return nil, func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--report: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}

// ignored says which sections have no part in a job in one process.
func (c *Config) ignored() []string {
	var notes []string
	if c.Feed.SQS != nil {
		notes = append(notes, "feed.sqs is ignored: run reads everything in this process, with the feed in memory")
	}
	if c.Job.Table != "" {
		notes = append(notes, "job.table is ignored: run keeps the ledger in memory")
	}
	return append(notes, "progress is lost with this process: an interrupted run starts again from the beginning")
}

// progress is how far the job is, for the display.
func (j *Job) progress() progress.Snapshot {
	ctx := context.Background()
	m, err := j.ledger.Meta(ctx, j.name)
	if err != nil {
		return progress.Snapshot{Listing: true}
	}
	s := progress.Snapshot{
		ListedObjects: m.Inventory.Objects, ListedBytes: m.Inventory.Bytes, Listing: !m.Listed,
		DoneObjects: j.done.objects.Load(), DoneBytes: j.done.bytes.Load(),
		Records: j.records.Load(),
	}
	if m.Halt != nil {
		s.Halted = string(m.Halt.Reason)
	}
	return s
}
