// Package crash_test kills the functions' own binaries where it hurts most, and
// looks whether their jobs come out right all the same: every row once, and the
// right verdict.
//
// A kill is SIGKILL of the process at one of its calls to AWS, before the call
// was applied or after, when its answer is lost; each test proves that its kills
// struck. Then the stack goes on by its own means: messages come back, and the
// schedule ticks.
//
// Tests that wait for the same minute do so together: all are parallel, and each
// has a stack of its own.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is where the functions' binaries are, built once, before the tests run.
var bin string

// Names of binaries under bin.
const (
	lister    = "lister"
	reader    = "reader"
	finalizer = "finalizer"
	racy      = "reader-race" // with the race detector
	custom    = "custom"      // lister and reader with a framer and a chain that panic
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they mostly wait
		panic(err)
	}
	dir, err := os.MkdirTemp("", "spate-crash-")
	if err != nil {
		panic(err)
	}
	bin = dir
	code := 1
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build() error {
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		return nil // nothing will run
	}
	const module = "github.com/spate-go/spate/"
	for name, args := range map[string][]string{
		lister:    {module + "functions/lister"},
		reader:    {module + "functions/reader"},
		finalizer: {module + "functions/finalizer"},
		racy:      {"-race", module + "functions/reader"},
		custom:    {module + "tests/crash/custom"},
	} {
		cmd := exec.Command("go", append([]string{"build", "-o", filepath.Join(bin, name)}, args...)...)
		cmd.Env = os.Environ()
		if name != racy {
			cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}

// endpoint is where the tests' stacks are made.
func endpoint(t *testing.T) string {
	t.Helper()
	url := os.Getenv("AWS_ENDPOINT_URL")
	if url != "" {
		return url
	}
	if os.Getenv("SPATE_TEST_AWS") == "required" {
		t.Fatal("SPATE_TEST_AWS=required, and AWS_ENDPOINT_URL is not set")
	}
	t.Skip("AWS_ENDPOINT_URL is not set")
	return ""
}
