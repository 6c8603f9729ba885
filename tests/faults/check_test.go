package faults_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/control/awscontrol"
	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/report"
)

// completes waits for the job to end well, with every row.
func (tr *trial) completes(job string) *report.Report {
	tr.Helper()
	r := tr.ends(job, ledger.Completed)
	if r.Units.Done != r.Units.Planned || r.Units.Dead+r.Units.Missing > 0 {
		tr.Errorf("job %s completed with %+v", job, r.Units)
	}
	return r
}

// exact compares all rows with what came out.
func (tr *trial) exact(without ...string) {
	tr.Helper()
	if differs, err := tr.rows.Compare(tr.Context(), "out/", without...); err != nil || differs != "" {
		tr.Errorf("%s, %v", differs, err)
	}
}

// ends waits for the job's end and returns its report.
func (tr *trial) ends(job string, s ledger.State) *report.Report {
	tr.Helper()
	m := tr.until(job, "at its end", func(m ledger.Meta) bool { return m.State.Ended() })
	if m.State != s {
		tr.Fatalf("job %s is %s, want %s", job, m.State, s)
	}
	reports, err := awscontrol.NewReports(tr.S3, "s3://"+tr.Name+"/reports/")
	if err != nil {
		tr.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		r, err := reports.Report(tr.Context(), job, m.Run, m.Generation)
		if err == nil {
			return r
		}
		if time.Now().After(end) {
			tr.Fatal(err)
		}
	}
}

// halts waits for the job's halt, which must name what has to be fixed, and
// then for the feed to be empty: every message of a halted job is acked.
func (tr *trial) halts(job string, reason failure.Reason, names ...string) {
	tr.Helper()
	m := tr.until(job, "halted", func(m ledger.Meta) bool { return m.Halt != nil })
	if m.Halt.Reason != reason {
		tr.Errorf("halted for %s, want %s: %s", m.Halt.Reason, reason, m.Halt.Detail)
	}
	for _, n := range names {
		if !strings.Contains(m.Halt.Detail, n) {
			tr.Errorf("the halt does not name %q: %s", n, m.Halt.Detail)
		}
	}
	tr.drained(tr.Feed)
}

// unburnt checks that no unit of a job that is halted or ended was used up:
// none is dead, none has a failed attempt, none was received more than so
// often, and none had to be sent again because nobody worked on it.
func (tr *trial) unburnt(job string, receives int) {
	tr.Helper()
	c, err := tr.ledger.Prove(tr.Context(), job, 1)
	if err != nil || c.Dead > 0 {
		tr.Errorf("%d units are dead: %v", c.Dead, err)
	}
	err = tr.ledger.Unfinished(tr.Context(), job, 1, func(i ledger.Item) error {
		if i.Attempts > 0 || i.Last {
			tr.Errorf("unit %s has %d attempts, the last one: %v", i.ID, i.Attempts, i.Last)
		}
		return nil
	})
	if err != nil {
		tr.Error(err)
	}
	if n := tr.depth(tr.Dead); n > 0 {
		tr.Errorf("%d dead letters", n)
	}
	if m := tr.until(job, "known", func(ledger.Meta) bool { return true }); m.Resends > 0 {
		tr.Errorf("open units were sent again %d times", m.Resends)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for id, n := range tr.receives {
		if n > receives {
			tr.Errorf("message %s was received %d times", id, n)
		}
	}
}

// emptied waits until all of the job's units are done.
func (tr *trial) emptied(job string) {
	tr.Helper()
	for end := time.Now().Add(patience); len(tr.open(job)) > 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			tr.Fatal("units stay open")
		}
	}
}

// drained waits for a queue to be empty.
func (tr *trial) drained(queue string) {
	tr.Helper()
	for end := time.Now().Add(patience); tr.depth(queue) > 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			tr.Fatalf("%s is not empty", queue)
		}
	}
}

// depth counts the messages of a queue, hidden ones too.
func (tr *trial) depth(queue string) int {
	tr.Helper()
	n, err := tr.Depth(tr.Context(), queue)
	if err != nil {
		tr.Fatal(err)
	}
	return n
}

// resume clears the halt.
func (tr *trial) resume(job string, reason failure.Reason) {
	tr.Helper()
	if ok, err := tr.ledger.Resume(tr.Context(), job, reason); err != nil || !ok {
		tr.Fatalf("resume: %v, %v", ok, err)
	}
}

// command runs a command of the command line on the stack.
func (tr *trial) command(args ...string) {
	tr.Helper()
	cmd := exec.CommandContext(tr.Context(), filepath.Join(bin, "spate"), append(args, "--table", tr.Name)...)
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		tr.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
