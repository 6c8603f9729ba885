package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/app/internal/progress"
	"github.com/spate-go/spate/pkg/cut"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
	"github.com/spate-go/spate/pkg/price"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/unit"
)

// planFlags are the flags of spate plan.
type planFlags struct {
	set      []string
	on       price.Function
	as       form
	progress string
}

func planCommand(p Pipeline, std stdio) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan PIPELINE.yaml",
		Short: "Show what a job would read, and its time and price on Lambda",
		Long: `Plan lists the source and packs it into units as a job does, with the same code,
and keeps and sends nothing. Of large objects it reads the first bytes, as a job
does, to see whether they can be cut.

Time and price are estimates for functions on arm64 in us-east-1, without what the
sinks take; docs/PERFORMANCE.md has the formula.

Exit codes: 0 it is printed; 1 the source cannot be listed; 2 the command line or
the pipeline file is wrong; 130 interrupted.`,
		Example: "  spate plan pipeline.yaml\n  spate plan pipeline.yaml --memory 1024 --concurrency 200 -o json",
		Args:    onePipeline,

		ValidArgsFunction: completePipeline,
		RunE: func(c *cobra.Command, args []string) error {
			return planJob(c.Context(), args[0], f, p, std)
		},
	}
	setFlag(c, &f.set)
	c.Flags().IntVar(&f.on.MemoryMB, "memory", price.DefaultMemoryMB, "memory of a function in `MB`: 128 to 10240")
	c.Flags().IntVar(&f.on.Concurrency, "concurrency", price.DefaultConcurrency, "at most `N` functions at once: 1 to 1250")
	formFlag(c, &f.as)
	c.Flags().StringVar(&f.progress, "progress", "auto", "`MODE`: auto or plain (a line every 10 s), none")
	completeFlag(c, "progress", "auto", "plain", "none")
	return c
}

// planned is what spate plan prints.
type planned struct {
	Job     string         `json:"job"`
	URL     string         `json:"url"`
	Objects plannedObjects `json:"objects"`
	Bytes   int64          `json:"bytes"`
	Units   plannedUnits   `json:"units"`
	// Archived are the objects that must be restored before they can be read.
	Archived plannedArchived `json:"archived"`
	Lambda   plannedLambda   `json:"lambda"`
}

type plannedObjects struct {
	Listed  int64          `json:"listed"`
	Planned int64          `json:"planned"`
	Skipped report.Skipped `json:"skipped"`
}

type plannedUnits struct {
	Planned int64 `json:"planned"`
	Ranges  int64 `json:"ranges"` // how many of them are ranges
	Cut     int64 `json:"cut"`    // objects that were cut into these
}

type plannedArchived struct {
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Policy  string `json:"policy"` // fail or skip
}

type plannedLambda struct {
	Architecture string        `json:"architecture"`
	MemoryMB     int           `json:"memory_mb"`
	Concurrency  int           `json:"concurrency"` // what the job would reach
	Minutes      float64       `json:"minutes"`
	Dollars      price.Dollars `json:"dollars"`
	Usage        price.Usage   `json:"usage"`
}

// planJob is spate plan.
func planJob(ctx context.Context, path string, f planFlags, p Pipeline, std stdio) error {
	if m := f.on.MemoryMB; m < 128 || m > 10240 {
		return fmt.Errorf("--memory: %d is not between 128 and 10240", m)
	}
	if c := f.on.Concurrency; c < 1 || c > price.MaxConcurrency {
		return fmt.Errorf("--concurrency: %d is not between 1 and %d", c, price.MaxConcurrency)
	}
	mode, err := progressMode(f.progress, std.env)
	if err != nil {
		return err
	}
	c, err := Load(path, f.set, std.env)
	if err != nil {
		return err
	}
	l, err := openListing(ctx, c, p)
	if err != nil {
		return err
	}
	watched := watch(l.bucket)
	stop := func() {}
	if mode != progress.None {
		stop = watched.tell(std.stderr, lineInterval)
	}
	r, err := survey(ctx, &c, watched, l.options, f.on)
	stop()
	switch {
	case err != nil && ctx.Err() != nil:
		return &exitError{fmt.Errorf("plan of %s was interrupted", c.Source.S3.URL), exitInterrupted}
	case err != nil:
		return &exitError{err, exitIncomplete}
	case f.as == asJSON:
		return writeJSON(std.stdout, r)
	}
	return r.text(std.stdout)
}

// listing are the lister's options for the source, except for who is told of
// it.
func (c *Config) listing(l location, filter plan.Filter, f framing) lister.Options {
	return lister.Options{Filter: filter, Bucket: l.Bucket, Options: cut.Options{
		Target: int64(c.Source.S3.Target), Cut: f.cut, Head: f.head, Cuttable: f.cuttable,
	}}
}

func survey(ctx context.Context, c *Config, b object.Bucket, o lister.Options, on price.Function) (*planned, error) {
	var work price.Work
	r := &planned{Job: c.Job.Name, URL: c.Source.S3.URL}
	found, err := lister.Survey(ctx, c.Job.Name, b, o, func(u *unit.Unit) {
		if u.Range != nil {
			r.Units.Ranges++
			if u.Range.Start == 0 {
				r.Units.Cut++
			}
			work.Add(u.Size(), price.Gets(u.Size()))
			return
		}
		var gets int64
		for i := range u.Objects {
			gets += price.Gets(u.Objects[i].Size)
		}
		work.Add(u.Size(), gets)
	})
	if err != nil {
		return nil, err
	}
	work.Listed = found.Listed()
	r.Objects = plannedObjects{
		Listed: found.Listed(), Planned: found.Objects,
		Skipped: report.Skipped{Empty: found.Empty, Directory: found.Directory, Archived: found.Archived, Excluded: found.Excluded},
	}
	r.Bytes, r.Units.Planned = found.Bytes, work.Units
	r.Archived = plannedArchived{Objects: found.Waiting, Bytes: found.WaitingBytes, Policy: "fail"}
	if o.Filter.SkipArchived {
		r.Archived = plannedArchived{Objects: found.Archived, Bytes: found.ArchivedBytes, Policy: "skip"}
	}
	e := price.Of(work, on)
	r.Lambda = plannedLambda{
		Architecture: "arm64", MemoryMB: on.MemoryMB, Concurrency: e.Concurrency,
		Minutes: e.Duration.Minutes(), Dollars: e.Dollars, Usage: e.Usage,
	}
	return r, nil
}

// text writes the plan for people.
func (r *planned) text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "plan of job %s: %s\n", r.Job, r.URL)
	o, s := r.Objects, r.Objects.Skipped
	fmt.Fprintf(b, "  objects   %s listed, %s to read", humanize.Comma(o.Listed), humanize.Comma(o.Planned))
	for _, k := range []struct {
		n    int64
		what string
	}{{s.Empty, "empty"}, {s.Directory, "directory markers"}, {s.Archived, "archived, skipped"}, {s.Excluded, "excluded"}} {
		if k.n > 0 {
			fmt.Fprintf(b, ", %s %s", humanize.Comma(k.n), k.what)
		}
	}
	fmt.Fprintf(b, "\n  bytes     %s\n", humanize.IBytes(uint64(r.Bytes)))
	fmt.Fprintf(b, "  units     %s", humanize.Comma(r.Units.Planned))
	if r.Units.Ranges > 0 {
		fmt.Fprintf(b, ", %s of them ranges of large objects, of which there are %s", humanize.Comma(r.Units.Ranges), humanize.Comma(r.Units.Cut))
	}
	if a := r.Archived; a.Objects > 0 {
		then := "they are skipped"
		if a.Policy == "fail" {
			then = "the job fails with them; source.s3.archived: skip leaves them out"
		}
		fmt.Fprintf(b, "\n  archived  %s (%s) must be restored first: %s", humanize.Comma(a.Objects), humanize.IBytes(uint64(a.Bytes)), then)
	}
	l := r.Lambda
	fmt.Fprintf(b, "\n  on Lambda about %s and $%s; functions at once: %s, of %s MB, arm64\n",
		minutes(l.Minutes), dollars(l.Dollars.Total), humanize.Comma(int64(l.Concurrency)), humanize.Comma(int64(l.MemoryMB)))
	fmt.Fprintf(b, "            $%s computing, $%s requests; sinks not included\n", dollars(l.Dollars.Compute), dollars(l.Dollars.Requests))
	return b.Flush()
}

func minutes(m float64) string {
	switch d := time.Duration(m * float64(time.Minute)).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%.1f min", d.Minutes())
	default:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
}

// dollars are rounded up: what costs something is not free.
func dollars(d float64) string {
	digits := 2
	if d < 0.1 {
		digits = 4
	}
	scale := math.Pow10(digits)
	return fmt.Sprintf("%.*f", digits, max(0, math.Ceil(d*scale-1e-6))/scale)
}
