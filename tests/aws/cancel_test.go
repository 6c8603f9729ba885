package aws_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
)

func TestACancelledJobIsReportedAtOnceAndCanBeStartedAgain(t *testing.T) {
	s := onStack(t)
	const job = "cancelled"
	source := []object{ranges(t, job+"/0.ndjson", 4)}
	s.put(t, source...)
	resume := s.pause(t)
	s.startAndLeave(t, job)
	s.until(t, job, "listed", func(st status) bool { return st.Listed })
	if r := into[report.Report](t, s.want(t, 0, "report", job, "-o", "json")); r.State != "running" || r.Units.Missing != 4 {
		t.Errorf("report of a job that runs: %+v", r)
	}
	if said := s.want(t, 0, "cancel", job).stdout; !strings.Contains(said, "run 1") {
		t.Errorf("cancel says %s", said)
	}
	// The schedule would take up to a minute.
	for end := time.Now().Add(20 * time.Second); len(s.reports(t, job, 1)) == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no report 20 s after the cancel")
		}
	}
	if r := s.watch(t, 1, job); r.State != report.Cancelled || r.Units.Missing != 4 {
		t.Errorf("report %+v", r)
	}
	s.want(t, 0, "cancel", job) // may be repeated

	resume()
	s.start(t, job)
	s.complete(t, job, 2, source)
	if said := s.want(t, 1, "cancel", job).stderr; !strings.Contains(said, "completed") {
		t.Errorf("cancel of a completed job says %s", said)
	}
}

// startAndLeave starts the job, watches it and interrupts that.
func (s *stack) startAndLeave(t *testing.T, job string) {
	t.Helper()
	c := s.command(t.Context(), "start", job, "--url", "s3://"+s.source+"/"+job+"/", "--watch")
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if first, _ := said.ReadString('\n'); !strings.Contains(first, "run 1") {
		t.Errorf("start says %q", first)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	last, _ := io.ReadAll(said) // what ends it shows in the code
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(string(last), "the job continues") {
		t.Errorf("watch that was interrupted: code %d, %s", code, last)
	}
}
