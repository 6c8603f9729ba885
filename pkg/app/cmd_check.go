package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/lister"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/plan"
)

// checkFlags are the flags of spate check.
type checkFlags struct {
	set       []string
	overwrite bool
	as        form
}

func checkCommand(p Pipeline, std stdio) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check PIPELINE.yaml",
		Short: "Check all that a job needs, and write nothing",
		Long: `Check reads the pipeline file as run does, lists a page of the source, reads the
first byte of the first object that the job would read, and looks at each sink. What
only a write can show is reported as untested.

Exit codes: 0 nothing is in the way; 1 something is; 2 the command line or the
pipeline file is wrong; 130 interrupted.`,
		Example: "  spate check pipeline.yaml\n  spate check pipeline.yaml --set sink.file.path=/tmp/rows.ndjson -o json",
		Args:    onePipeline,

		ValidArgsFunction: completePipeline,
		RunE: func(c *cobra.Command, args []string) error {
			return checkJob(c.Context(), args[0], f, p, std)
		},
	}
	setFlag(c, &f.set)
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "as for run: replace the output of an earlier run")
	formFlag(c, &f.as)
	return c
}

// outcome is how a check went.
type outcome string

const (
	passed   outcome = "ok"
	failed   outcome = "failed"
	untested outcome = "untested" // only a write would tell
	doubtful outcome = "warning"  // it would run, but perhaps not as expected
)

// checked is one check.
type checked struct {
	What    string  `json:"check"`
	Outcome outcome `json:"outcome"`
	Detail  string  `json:"detail"`
}

// checkJob is spate check.
func checkJob(ctx context.Context, path string, f checkFlags, p Pipeline, std stdio) error {
	c, err := Load(path, f.set, std.env)
	if err != nil {
		return err
	}
	if _, err := newChain(&c, p, nil); err != nil {
		return err
	}
	l, err := parseURL(c.Source.S3.URL)
	if err != nil {
		return err
	}
	planning, err := c.planning(p, l)
	if err != nil {
		return err
	}
	if err := c.enoughMemory(planning.framing.framer(), p); err != nil {
		return err
	}
	if p.Sink == nil && len(c.sections()) == 0 {
		_, err := openSinks(ctx, &c, p, l, Options{}) // says what is missing
		return err
	}
	all := []checked{{"config", passed, fmt.Sprintf("%s is valid", path)}, checkSource(ctx, &c, p)}
	all = append(all, checkAllSinks(ctx, &c, p, l, f.overwrite)...)
	if ctx.Err() != nil {
		return &exitError{errors.New("check was interrupted"), exitInterrupted}
	}
	if err := printChecked(std.stdout, all, f.as); err != nil {
		return &exitError{err, exitIncomplete}
	}
	var wrong []string
	for _, k := range all {
		if k.Outcome == failed {
			wrong = append(wrong, k.What)
		}
	}
	if len(wrong) > 0 {
		return &exitError{fmt.Errorf("the job would not run: %s", strings.Join(wrong, ", ")), exitIncomplete}
	}
	return nil
}

// result is the outcome of checking what: failed if err is set.
func result(what, detail string, err error) checked {
	if err != nil {
		return checked{what, failed, err.Error()}
	}
	return checked{what, passed, detail}
}

// checkSource lists a page and reads a byte.
func checkSource(ctx context.Context, c *Config, p Pipeline) checked {
	const what = "source"
	l, err := openListing(ctx, *c, p)
	if err != nil {
		return result(what, "", err)
	}
	page, err := l.bucket.List(ctx, "")
	if err != nil {
		return result(what, "", err)
	}
	more := ""
	if page.More {
		more = " and more"
	}
	listed := fmt.Sprintf("%s: %s objects%s", c.Source.S3.URL, humanize.Comma(int64(len(page.Objects))), more)
	first := firstOf(page, l.options)
	if first == nil {
		if page.More {
			return checked{what, untested, listed + ", none on the first page that the job would read"}
		}
		return checked{what, passed, listed + ", none that the job would read: if there should be, check url, include and exclude"}
	}
	in := object.NewReader(ctx, l.bucket, []object.Part{{Object: first.Object, End: 1}}, object.Options{Retries: 2})
	err = in.Next()
	if err == nil {
		_, err = io.ReadFull(in, make([]byte, 1))
	}
	err = errors.Join(err, in.Close())
	return result(what, fmt.Sprintf("%s; read the first byte of %q", listed, first.Key), err)
}

// firstOf is the first object of a page that the job would read; nil: there is
// none.
func firstOf(page object.Page, o lister.Options) *object.Listed {
	for i := range page.Objects {
		l := &page.Objects[i]
		if !l.Archived && o.Filter.Select(l.Object, false) == plan.Take {
			return l
		}
	}
	return nil
}

// checkAllSinks looks at each sink.
func checkAllSinks(ctx context.Context, c *Config, p Pipeline, l location, overwrite bool) []checked {
	o := Options{Overwrite: overwrite}
	var all []checked
	if p.Sink != nil {
		all = append(all, checked{"sink", untested, "it is written in Go"})
	} else {
		for _, name := range c.sinkNames() {
			all = append(all, checkSink(ctx, c, p, name, l, o)...)
		}
	}
	if c.Rejects != nil {
		all = append(all, checkRejectsPlace(ctx, c, p, l, o))
	}
	return all
}

// denied reports whether err says that something is not allowed.
func denied(err error) bool {
	_, reason := failure.Of(err)
	return failure.Marked(err) && reason == failure.Denied
}

func printChecked(w io.Writer, all []checked, as form) error {
	if as == asJSON {
		return writeJSON(w, all)
	}
	width := 0
	for _, k := range all {
		width = max(width, len(k.What))
	}
	for _, k := range all {
		if _, err := fmt.Fprintf(w, "%-8s  %-*s  %s\n", k.Outcome, width, k.What, k.Detail); err != nil {
			return err
		}
	}
	return nil
}
