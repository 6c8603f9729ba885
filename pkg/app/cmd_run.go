package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/app/internal/progress"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// runFlags are the flags of spate run.
type runFlags struct {
	set       []string
	overwrite bool
	limit     int64
	state     string
	report    string
	progress  string
	output    string
	logLevel  slog.Level
	logJSON   bool
}

func runCommand(p Pipeline, std stdio) *cobra.Command {
	f := runFlags{logLevel: slog.LevelWarn}
	c := &cobra.Command{
		Use:   "run PIPELINE.yaml",
		Short: "Run a whole job in this process and report",
		Long: `Run lists the source once, reads every object, and ends with a report: either
every record is in the sink, or it says exactly which object is not, and why. If
a sink goes down meanwhile, run waits and retries it once a minute.

Exit codes: 0 completed; 1 the job failed, halted or is incomplete; 2 the command
line or the pipeline file is wrong; 130 interrupted. The first interrupt lets the
units in progress finish for 5 s, the second ends the process at once.`,
		Example: "  spate run pipeline.yaml\n  spate run pipeline.yaml --set sink.file.path=/tmp/rows.ndjson --limit 1000",
		Args:    onePipeline,

		ValidArgsFunction: completePipeline,
		RunE: func(c *cobra.Command, args []string) error {
			return run(c.Context(), args[0], f, p, std)
		},
	}
	setFlag(c, &f.set)
	fs := c.Flags()
	fs.BoolVar(&f.overwrite, "overwrite", false, "replace the output of an earlier run")
	fs.Int64Var(&f.limit, "limit", 0, "stop after `N` records, to try a chain; 0 reads all")
	fs.StringVar(&f.state, "state", "", "keep progress in `DIR`, so that the same command continues after an interrupt or a crash")
	fs.StringVar(&f.report, "report", "", "write the report as JSON to `FILE`")
	progressFlag(c, &f.progress)
	fs.StringVarP(&f.output, "output", "o", "text", "`FORMAT` of the report: text or json")
	fs.BoolVar(&f.logJSON, "log-json", false, "log in JSON")
	fs.TextVar(&f.logLevel, "log-level", f.logLevel, "log at this `LEVEL` and above: debug, info, warn or error")
	completeFlag(c, "output", "text", "json")
	completeFlag(c, "log-level", "debug", "info", "warn", "error")
	return c
}

// run is spate run.
func run(ctx context.Context, path string, f runFlags, p Pipeline, std stdio) error {
	mode, err := progressMode(f.progress, std.env)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	c, err := Load(path, f.set, std.env)
	if err != nil {
		return err
	}
	defer c.holdHeap(std.env)()
	// The log's lines go through the display once there is one.
	stderr := &switchable{w: std.stderr}
	log := slog.New(f.handler(stderr))
	c.foretell(std, f.state)
	reports, err := openReport(f.report, path, &c)
	if err != nil {
		return err
	}
	defer reports.discard()
	j, err := Open(ctx, c, p, Options{
		Overwrite: f.overwrite, Limit: f.limit, State: f.state, Stdout: std.stdout, Log: log,
		down: f.down(stderr),
	})
	if err != nil {
		if failure.Is(err, failure.Transient) { // nothing is wrong with the file
			return &exitError{err, exitIncomplete}
		}
		return err
	}
	if url := j.AdminURL(); url != "" {
		fmt.Fprintf(std.stderr, "spate: note: the admin address is %s\n", url)
	}
	r, err := j.shown(ctx, mode, stderr, std)
	err = errors.Join(err, j.Close())
	if r != nil { // whatever else failed, this is what the job did
		for _, w := range warnings(r) {
			fmt.Fprintf(std.stderr, "spate: warning: %s\n", w)
		}
		err = errors.Join(err, reports.write(r), show(r, f.output, c, std))
	}
	switch {
	case errors.Is(err, errStuck) && ctx.Err() != nil && r != nil && r.State == report.Interrupted:
		return &exitError{err, exitInterrupted}
	case err != nil:
		return &exitError{err, exitIncomplete}
	}
	return verdict(ctx, r, f)
}

// shown runs the job with its progress on standard error. What is written to stderr
// meanwhile goes through the display.
func (j *Job) shown(ctx context.Context, mode progress.Mode, stderr *switchable, std stdio) (*report.Report, error) {
	display := progress.Start(std.stderr, mode, j.snapshot, progress.Options{})
	stderr.to(display)
	stopping := context.AfterFunc(ctx, func() {
		_, _ = fmt.Fprintf(stderr, "spate: note: stopping: units in progress have %v to finish; interrupt again to end at once\n", drain)
	})
	r, err := j.Run(ctx)
	stopping()
	display.Stop()
	stderr.to(std.stderr)
	return r, err
}

// down returns what writes to w that the job is halted because its sink is
// down, and that it goes on.
func (f *runFlags) down(w io.Writer) func(*ledger.Halt) {
	kept := "; progress is lost then"
	if f.state != "" {
		kept = "; nothing is lost then"
	}
	return func(h *ledger.Halt) {
		text := "note: the sink is up again: the job resumes"
		if h != nil {
			text = "warning: the job is halted: " + h.Detail + "; interrupt to end it" + kept
		}
		_, _ = fmt.Fprintf(w, "spate: %s\n", text)
	}
}

// check refuses flags that are wrong or do not go together.
func (f *runFlags) check() error {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output: %q is neither text nor json", f.output)
	}
	if f.limit < 0 {
		return fmt.Errorf("--limit: %d is less than 0", f.limit)
	}
	if f.limit > 0 && f.state != "" {
		return errors.New("--limit with --state: a limit is for trying a chain, and would leave a job half done in the state: leave one of them out")
	}
	return nil
}

// warnings are what a person should know of a report that its state does not
// say.
func warnings(r *report.Report) []string {
	var all []string
	if r.State == report.Completed && r.Units.Planned == 0 {
		all = append(all, "no object matched: check source.s3.url, include and exclude")
	}
	_, kept := r.Sinks[rejectsSink]
	switch n := r.Records; {
	case n.In > 0 && n.Rejected == n.In:
		all = append(all, fmt.Sprintf("all %d records were rejected: do framing and decode name their format?", n.In))
	case n.Rejected > 0 && !kept:
		all = append(all, fmt.Sprintf("%d of %d records were rejected: a rejects section keeps each, with its reason", n.Rejected, n.In))
	}
	if n := droppedRejects(r); n > 0 {
		all = append(all, fmt.Sprintf("%d rejected records are beyond rejects.limit: they are counted but not written", n))
	}
	return all
}

// handler writes the log: as text for people, or as JSON for programs.
func (f *runFlags) handler(w io.Writer) slog.Handler {
	o := &slog.HandlerOptions{Level: f.logLevel}
	if f.logJSON {
		return slog.NewJSONHandler(w, o)
	}
	return slog.NewTextHandler(w, o)
}

// show prints the report; on standard error where standard output carries rows.
func show(r *report.Report, form string, c Config, std stdio) error {
	w := io.Writer(std.stdout)
	if c.toStdout() {
		w = std.stderr
	}
	if form == "json" {
		return writeJSON(w, r)
	}
	return r.Text(w)
}

// verdict is the error for a report's exit code; nil for 0.
func verdict(ctx context.Context, r *report.Report, f runFlags) error {
	next := "run it again"
	if f.state != "" {
		next = "run the same command again to continue"
	}
	switch {
	case r.State == report.Completed:
		return nil
	case waited(r) && ctx.Err() != nil:
		return &exitError{fmt.Errorf("job %s was interrupted while its sink is down: %d of %d units are done: %s", r.Job, r.Units.Done, r.Units.Planned, next), exitInterrupted}
	case r.State == report.Interrupted && ctx.Err() != nil:
		return &exitError{fmt.Errorf("job %s was interrupted: %d of %d units are done: %s", r.Job, r.Units.Done, r.Units.Planned, next), exitInterrupted}
	case r.State == report.Interrupted && f.limit > 0:
		return nil
	}
	return &exitError{fmt.Errorf("job %s %s: %s", r.Job, r.State, r.Reason), exitIncomplete}
}

// waited reports whether the job stood still for a sink that is down. Any other
// halt ends a job before an interrupt does.
func waited(r *report.Report) bool {
	return r.State == report.Halted && strings.HasPrefix(r.Reason, string(failure.SinkDown)+":")
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// foretell notes which sections a job in one process ignores, and warns if its
// progress is not kept.
func (c *Config) foretell(std stdio, state string) {
	if c.Feed.SQS != nil {
		fmt.Fprintf(std.stderr, "spate: note: feed.sqs is ignored: run reads everything in this process, with the feed in memory\n")
	}
	if c.Job.Table != "" {
		fmt.Fprintf(std.stderr, "spate: note: job.table is ignored: run keeps the ledger in this process, or in the --state directory\n")
	}
	if state == "" {
		fmt.Fprintf(std.stderr, "spate: warning: progress is lost with this process: an interrupted run starts again from the beginning; --state DIR keeps it\n")
	}
}

// snapshot is where the job stands, for the display.
func (j *Job) snapshot() progress.Snapshot {
	ctx := context.Background()
	m, err := j.ledger.Meta(ctx, j.name)
	if err != nil {
		return progress.Snapshot{Listing: true}
	}
	s := progress.Snapshot{
		ListedObjects: m.Inventory.Objects, ListedBytes: m.Inventory.Bytes, Listing: !m.Listed,
		DoneObjects: j.progress.objects.Load(),
		// What is read of a unit at hand counts: a large object shows no other way.
		DoneBytes:     min(m.Inventory.Bytes, max(j.progress.bytes.Load(), j.read.Load())),
		FailedObjects: j.progress.failed.Load(), Records: j.records.Load(),
	}
	if m.Halt != nil {
		s.Halted = string(m.Halt.Reason)
	}
	return s
}
