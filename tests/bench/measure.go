package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// usage is one run, as the operating system accounts for it.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // bytes resident, of the largest process
}

// command makes a fresh command for each run and says afterwards whether the
// run was complete.
type command struct {
	make  func(ctx context.Context) *exec.Cmd
	check func() error
}

// allModes are the pipeline files of this folder.
func allModes() ([]string, error) {
	files, err := filepath.Glob("tests/bench/*.yaml")
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return files, err
}

// build returns the program of a mode: one of its own under tests/bench/MODE
// where there is one, else the command line.
func build(ctx context.Context, mode, cache string) (string, error) {
	if _, err := os.Stat(filepath.Join("tests/bench", mode+".yaml")); err != nil {
		return "", fmt.Errorf("no mode %s: %w", mode, err)
	}
	src := filepath.Join("tests", "bench", mode)
	if _, err := os.Stat(src); errors.Is(err, fs.ErrNotExist) {
		return "bin/spate", nil
	} else if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "bench-"+mode)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./"+src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", src, err, out)
	}
	return program, nil
}

// ours runs the job of a mode over a data set. Its report must hold every
// record.
func ours(program, mode, set string, want dataset, dir string, env []string) command {
	report := filepath.Join(dir, "report.json")
	return command{
		make: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, program, "run", "--progress", "none", "--report", report, filepath.Join("tests/bench", mode+".yaml"))
			cmd.Env = slices.Concat(env, []string{"BENCH_URL=s3://" + bucket + "/" + set + "/"})
			return cmd
		},
		check: func() error { return complete(report, want) },
	}
}

// complete checks a report against what the data set holds, and removes it so
// that no later run can pass by it.
func complete(path string, want dataset) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	var r struct {
		State   string
		Records struct{ In, Rejected int64 }
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	if r.State != "completed" || r.Records.In != want.Records || r.Records.Rejected != 0 {
		return fmt.Errorf("incomplete: %s with %d of %d records, %d rejected", r.State, r.Records.In, want.Records, r.Records.Rejected)
	}
	return nil
}

// baseline runs another command through the shell. What it reads is its own
// word; only its exit code is looked at.
func baseline(line, mode, set, endpoint string, env []string) command {
	line = strings.NewReplacer("{case}", set, "{mode}", mode, "{endpoint}", endpoint).Replace(line)
	return command{
		make: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, "sh", "-c", line)
			cmd.Env = env
			return cmd
		},
		check: func() error { return nil },
	}
}

// run measures one run.
func (c command) run(ctx context.Context, timeout time.Duration) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := c.make(ctx)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	err := cmd.Run()
	s := usage{wall: time.Since(start)}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return s, fmt.Errorf("run %s: %w\n%s", strings.Join(cmd.Args, " "), err, tail(out.String()))
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peak = u.Maxrss
		if runtime.GOOS == "linux" { // in KiB there
			s.peak <<= 10
		}
	}
	return s, nil
}

func tail(s string) string {
	const limit = 2000
	if len(s) > limit {
		return "…" + s[len(s)-limit:]
	}
	return s
}

// pair is two commands that take turns, or one alone.
type pair struct {
	ours, baseline command
	runs           int
	timeout        time.Duration
}

// measure runs ours and the baseline in turn: once uncounted, so that the data
// is in the page cache for both, then runs times.
func (p pair) measure(ctx context.Context) (result, error) {
	var r result
	for i := range p.runs + 1 {
		a, err := p.ours.run(ctx, p.timeout)
		if err != nil {
			return r, err
		}
		var b usage
		if p.baseline.make != nil {
			if b, err = p.baseline.run(ctx, p.timeout); err != nil {
				return r, fmt.Errorf("baseline: %w", err)
			}
		}
		if i == 0 {
			continue
		}
		r.ours = append(r.ours, a)
		if p.baseline.make != nil {
			r.baseline = append(r.baseline, b)
		}
	}
	return r, nil
}
