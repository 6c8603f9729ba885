package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/control/awscontrol"
)

// Exit codes of the command line.
const (
	exitOK          = 0
	exitIncomplete  = 1 // the job failed, halted or is incomplete
	exitUsage       = 2 // the command line or the pipeline file is wrong
	exitInterrupted = 130
)

// Main is the command line, with the parts of the pipeline that p has. It exits
// the process.
func Main(p Pipeline) {
	// If the reader of our rows goes away, that is an error of the sink and not the
	// end of the process.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains. Then the default handling is back, so that a second
	// one ends the process at once.
	context.AfterFunc(ctx, cancel)
	code := command(ctx, p, os.Args[1:], process())
	cancel()
	os.Exit(code)
}

// stdio is what commands use of the process and of the world outside.
type stdio struct {
	stdin          io.Reader
	stdout, stderr *os.File
	env            func(string) (string, bool)
	connect        connector // how a stack is reached
	// notifications is how buckets are wired.
	notifications func(context.Context) (*awscontrol.Notifications, error)
}

func process() stdio {
	return stdio{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, connectAWS, notificationsAWS}
}

// exitError is an error with its exit code.
type exitError struct {
	error
	code int
}

func (e *exitError) Unwrap() error { return e.error }

// commands is the tree of all commands.
func commands(p Pipeline, std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "spate",
		Short: "Move every record under an S3 prefix through a pipeline, and prove it",
		Long: `Spate moves every record under an S3 prefix, or a directory, through a chain
of operators into a sink, at least once, and proves when the job is complete.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		runCommand(p, std), planCommand(p, std), checkCommand(p, std), inspectCommand(std), genCommand(std), schemaCommand(std),
		jobCommand(std), bucketCommand(std),
	)
	root.SetOut(std.stdout)
	root.SetErr(std.stderr)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	helpful(root)
	return root
}

// command runs the command line args and returns the exit code.
func command(ctx context.Context, p Pipeline, args []string, std stdio) int {
	root := commands(p, std)
	root.SetArgs(args)
	err := unknown(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(std.stderr, "spate: %s\n", strings.TrimRight(err.Error(), "\n"))
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitUsage
}
