package aws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
)

// result is the outcome of a command.
type result struct {
	code           int
	stdout, stderr string
}

// command is spate job … of the stack.
func (s *stack) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, binary, append([]string{"job"}, append(args, "--stack", s.name)...)...)
}

// job runs a command of the stack.
func (s *stack) job(t *testing.T, args ...string) result {
	t.Helper()
	return s.spate(t, "", append([]string{"job"}, args...)...)
}

// spate runs any command of the stack.
func (s *stack) spate(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, binary, append(args, "--stack", s.name)...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = c.Run() // the code says it
	r := result{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if ctx.Err() != nil || strings.Contains(r.stderr, "DATA RACE") || strings.Contains(r.stderr, "panic:") {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), ctx.Err(), r.stderr)
	}
	return r
}

// want runs a command that must end with that code.
func (s *stack) want(t *testing.T, code int, args ...string) result {
	t.Helper()
	return s.job(t, args...).want(t, code, args...)
}

func (r result) want(t *testing.T, code int, args ...string) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("%s: code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

// into reads what a command printed with -o json.
func into[T any](t *testing.T, r result) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatalf("%v in %q, with\n%s", err, r.stdout, r.stderr)
	}
	return v
}

// start starts a run of the job over its own prefix of the source.
func (s *stack) start(t *testing.T, job string) {
	t.Helper()
	s.want(t, 0, "start", job, "--url", "s3://"+s.source+"/"+job+"/")
}

// watch watches the job to its end, which has that code, and returns the report.
func (s *stack) watch(t *testing.T, code int, job string) *report.Report {
	t.Helper()
	r := into[report.Report](t, s.want(t, code, "watch", job, "--progress", "none", "-o", "json"))
	return &r
}

// status is what of a job's status the tests look at.
type status struct {
	Job, State string
	Run        int
	Listed     bool
	Resends    int
	SendDue    bool `json:"send_due"`
	Halt       *struct{ Reason, Detail string }
	Units      struct{ Planned, Done, Dead int }
	Feed       *struct {
		Ready, Delayed, Dead int
		InFlight             int `json:"in_flight"`
	}
}

func (s *stack) status(t *testing.T, job string) status {
	t.Helper()
	return into[status](t, s.want(t, 0, "status", job, "-o", "json"))
}

// until asks for the job's status until it is as wanted.
func (s *stack) until(t *testing.T, job, what string, is func(status) bool) status {
	t.Helper()
	return s.poll(t, job, what, is, func() {})
}

// settled is until, but ticks instead of waiting for the schedule.
func (s *stack) settled(t *testing.T, job, what string, is func(status) bool) status {
	t.Helper()
	return s.poll(t, job, what, is, func() { s.tick(t) })
}

func (s *stack) poll(t *testing.T, job, what string, is func(status) bool, between func()) status {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		st := s.status(t, job)
		switch {
		case is(st):
			return st
		case time.Now().After(end):
			t.Fatalf("job %s is not %s: %+v", job, what, st)
		}
		between()
		time.Sleep(200 * time.Millisecond)
	}
}
