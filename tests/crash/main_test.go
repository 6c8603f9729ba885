// Package crash_test kills the functions' own binaries where it hurts most, and
// checks that their jobs come out right all the same: every row once, and the
// right verdict.
//
// A kill is a SIGKILL of the process at one of its calls to AWS, before the
// call is applied or after, when its response is lost; each test proves that
// its kills struck. Then the stack recovers by its own means: messages come
// back, and the schedule ticks.
//
// Tests mostly wait: all are parallel, and each has a stack of its own.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

// bin is where the functions' binaries are, built once, before the tests run.
var bin string

// Names of binaries under bin.
const (
	lister    = "lister"
	reader    = "reader"
	finalizer = "finalizer"
	racy      = "reader-race" // with the race detector, as the next one
	intake    = "intake-race"
	custom    = "custom" // lister and reader with a framer and a chain that panic
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they mostly wait
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
	if err := lambdakit.Build(bin, "functions/lister", "functions/reader", "functions/finalizer", "tests/crash/custom"); err != nil {
		return err
	}
	for _, name := range []string{"reader", "intake"} {
		cmd := exec.Command("go", "build", "-race", "-o", filepath.Join(bin, name+"-race"), "github.com/spate-go/spate/functions/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}
