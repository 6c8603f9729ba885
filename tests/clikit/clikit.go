// Package clikit runs the built binary as a user does. It is built once, and
// each call is a process of its own, of which outputs, report and exit code are
// returned.
package clikit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
)

// Build builds the binary into dir twice: with the race detector for tests of
// behaviour, and without for tests of memory and time.
func Build(dir string) (race, plain string, err error) {
	plain, race = filepath.Join(dir, "spate"), filepath.Join(dir, "spate-race")
	for _, args := range [][]string{{"build", "-o", plain}, {"build", "-race", "-o", race}} {
		cmd := exec.Command("go", append(args, "github.com/spate-go/spate/cmd/spate")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return race, plain, nil
}

// Call is one call of the binary.
type Call struct {
	Binary string
	Env    []string        // in addition to the process's own
	Begun  func(*exec.Cmd) // called once the process runs; may be nil
}

// Outcome is the outcome of a call.
type Outcome struct {
	Code           int // -1: a signal ended it
	Stdout, Stderr string
	Report         *report.Report // nil if none was written
	Peak           int64          // bytes of memory
	CPU, Took      time.Duration
}

// patience is how long a call may take.
const patience = 3 * time.Minute

// Do makes the call and waits for its end, whatever that is. A run is asked for
// its report. A race, a panic or a process that does not end fails the test.
func (c Call) Do(t *testing.T, args ...string) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	path := filepath.Join(t.TempDir(), "report.json")
	if args[0] == "run" {
		args = append(args, "--report", path)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Binary, args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	started := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if c.Begun != nil {
		c.Begun(cmd)
	}
	_ = cmd.Wait() // cmd.ProcessState has the outcome
	state := cmd.ProcessState
	o := Outcome{
		Code: state.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String(),
		CPU: state.UserTime() + state.SystemTime(), Took: time.Since(started),
	}
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		o.Peak = u.Maxrss << 10
	}
	if ctx.Err() != nil {
		t.Fatalf("spate %s did not end\n%s", strings.Join(args, " "), o.Stderr)
	}
	if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
		if err := json.Unmarshal(text, &o.Report); err != nil {
			t.Fatalf("report: %v\n%s", err, text)
		}
	}
	if strings.Contains(o.Stderr, "DATA RACE") || strings.Contains(o.Stderr, "panic:") {
		t.Fatalf("spate %s:\n%s", strings.Join(args, " "), o.Stderr)
	}
	return o
}
