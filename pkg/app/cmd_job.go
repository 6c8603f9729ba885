package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/ledger"
)

// connector reaches the stack of that name, if it has one, which fills in what
// given leaves open. An error without an exit code means that the command line
// or the configuration is wrong.
type connector func(ctx context.Context, name string, given control.Stack) (*control.Control, error)

func jobCommand(std stdio) *cobra.Command {
	var f stackFlags
	c := &cobra.Command{
		Use:   "job",
		Short: "Start, watch and steer jobs that run as functions on AWS",
		Long: `Job commands go to a stack: the one that --stack names, whose outputs say where its
parts are, or else the parts that the flags and the environment name (JOB_TABLE,
FEED_QUEUE_URL, DEAD_LETTER_QUEUE_URL, REPORT_URL, LISTER_FUNCTION, FINALIZER_FUNCTION).
Flags override the stack's outputs, and SPATE_STACK stands for --stack.

Region, credentials and endpoint are those of any AWS client: AWS_REGION,
AWS_PROFILE, AWS_ENDPOINT_URL. docs/JOBS.md has the whole course of a job.`,
	}
	f.flags(c, std)
	c.AddCommand(
		jobStartCommand(&f, std), jobListCommand(&f, std), jobStatusCommand(&f, std), jobWatchCommand(&f, std),
		jobReportCommand(&f, std), jobSendCommand(&f, std), jobRedriveCommand(&f, std), jobResumeCommand(&f, std), jobCancelCommand(&f, std),
	)
	return c
}

// stackFlags say which stack is meant.
type stackFlags struct {
	name  string
	given control.Stack
}

func (f *stackFlags) flags(c *cobra.Command, std stdio) {
	name, _ := std.env("SPATE_STACK")
	fs := c.PersistentFlags()
	fs.StringVar(&f.name, "stack", name, "`NAME` of the CloudFormation stack")
	fs.StringVar(&f.given.Table, "table", "", "`NAME` of the table that holds the ledger")
	fs.StringVar(&f.given.FeedURL, "feed-url", "", "`URL` of the feed's queue, for what waits in it")
	fs.StringVar(&f.given.Lister, "lister", "", "`FUNCTION` that starts jobs and lists")
	fs.StringVar(&f.given.Finalizer, "finalizer", "", "`FUNCTION` that ends jobs")
	fs.StringVar(&f.given.Intake, "intake", "", "`FUNCTION` that takes objects as they are announced")
	fs.StringVar(&f.given.IntakeARN, "intake-queue-arn", "", "`ARN` of the queue that buckets notify")
	fs.StringVar(&f.given.Rule, "rule", "", "`NAME` of the EventBridge rule that leads to it")
	fs.StringVar(&f.given.ReportURL, "report-url", "", "`URL` of the prefix that reports are written under")
	// The stack that this machine's environment names does not belong in the help.
	fs.Lookup("stack").DefValue = ""
}

// connect reaches the stack.
func (f *stackFlags) connect(ctx context.Context, std stdio) (*control.Control, error) {
	given := f.given
	if f.name == "" {
		given = given.Or(control.Environment(func(name string) string {
			value, _ := std.env(name)
			return value
		}))
		if given.Table == "" {
			return nil, errors.New("no stack is named: give --stack NAME, or --table NAME, or set SPATE_STACK or JOB_TABLE")
		}
	}
	return std.connect(ctx, f.name, given)
}

// ask connects to the stack and calls ask with it. doing names what was
// interrupted if ctx has ended.
func (f *stackFlags) ask(ctx context.Context, std stdio, doing string, ask func(*control.Control) error) error {
	c, err := f.connect(ctx, std)
	if err == nil {
		err = ask(c)
		if _, ok := errors.AsType[*exitError](err); err == nil || ok {
			return err
		}
		err = &exitError{err, exitIncomplete}
	}
	if ctx.Err() != nil {
		return &exitError{fmt.Errorf("%s was interrupted", doing), exitInterrupted}
	}
	return err
}

// oneJob requires one argument, the name of a job.
func oneJob(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one argument, the job's name, got %d: see %[1]s --help", c.CommandPath(), len(args))
	}
	return ledger.CheckName(args[0])
}

// completion is how long a shell waits for the names of jobs.
const completion = 3 * time.Second

// completeJob completes the argument that oneJob requires with the live jobs.
func (f *stackFlags) completeJob(std stdio) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completion)
		defer cancel()
		stack, err := f.connect(ctx, std)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		live, err := stack.Live(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return live, cobra.ShellCompDirectiveNoFileComp
	}
}

// noArgument requires that there is none.
func noArgument(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, got %d: see %[1]s --help", c.CommandPath(), len(args))
}
