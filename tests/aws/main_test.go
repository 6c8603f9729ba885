// Package aws_test runs whole jobs on a stack of template.yaml, deployed to the
// endpoint that AWS_ENDPOINT_URL names, by the command line that users have. A
// job is judged by its rows, compared with what was put into the source, and by
// its report.
//
// One stack serves all tests. The tests that share it are parallel; those that
// do something to the whole stack, such as purging its queue, are not, and so
// run alone and before them.
package aws_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// root is the module's.
const root = "../.."

// binary is the command line, built with the race detector, and deployed the
// stack; both are set before the tests run.
var (
	binary   string
	deployed *stack // nil: there is no endpoint
)

func TestMain(m *testing.M) {
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		os.Exit(m.Run()) // which says so
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// Nothing here reaches an account by accident. The race detector would have
	// each command sleep a second at its end.
	for k, v := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
		"GORACE": "atexit_sleep_ms=0",
	} {
		_ = os.Setenv(k, v) // of names that are fit
	}
	dir, err := os.MkdirTemp("", "spate-aws-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	binary = filepath.Join(dir, "spate")
	build := exec.CommandContext(ctx, "go", "build", "-race", "-o", binary, "github.com/spate-go/spate/cmd/spate")
	if out, err := build.CombinedOutput(); err != nil {
		return failed(fmt.Errorf("%s: %w\n%s", build, err, out))
	}
	began := time.Now()
	deployed, err = deploy(ctx)
	if err != nil {
		return failed(err)
	}
	fmt.Printf("stack %s deployed in %v\n", deployed.name, time.Since(began).Round(100*time.Millisecond))
	code := m.Run()
	if err := deployed.delete(ctx); err != nil {
		return failed(err)
	}
	return code
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// onStack is the stack, for a test that needs it.
func onStack(t *testing.T) *stack {
	t.Helper()
	if deployed != nil {
		return deployed
	}
	if os.Getenv("SPATE_TEST_AWS") == "required" {
		t.Fatal("SPATE_TEST_AWS=required, and AWS_ENDPOINT_URL is not set")
	}
	t.Skip("AWS_ENDPOINT_URL is not set")
	return nil
}
