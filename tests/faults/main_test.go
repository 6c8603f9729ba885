// Package faults_test gives the functions' own binaries wrong responses of AWS,
// through a proxy, and checks the outcome of their jobs: completed with every
// row once, failed with object and reason named, or halted with what has to be
// fixed named; and never a unit given up for a fault that is not its own.
//
// All tests are parallel, since they mostly wait: the waits between retries are
// the real ones. Each has a stack of its own.
package faults_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/spate-go/spate/tests/lambdakit"
)

// bin is where the binaries are, built once, before the tests run.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spate-faults-")
	if err != nil {
		panic(err)
	}
	bin = dir
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", "24") // they mostly sleep
	}
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
	return lambdakit.Build(bin, "functions/lister", "functions/intake", "functions/reader", "functions/finalizer", "cmd/spate")
}
