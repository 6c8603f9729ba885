package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spate-go/spate/pkg/report"
)

// refused runs a job that must not start and leave file as it is.
func refused(t *testing.T, file string, want string, args ...string) {
	t.Helper()
	before, readErr := os.ReadFile(file)
	out, err := exec.Command(raceBinary, args...).CombinedOutput()
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 || !strings.Contains(string(out), want) {
		t.Errorf("%v: %v, want it refused with %q\n%s", args, err, want, out)
	}
	after, err := os.ReadFile(file)
	if string(after) != string(before) || (err == nil) != (readErr == nil) {
		t.Errorf("%s held %d bytes and now %d, %v", file, len(before), len(after), err)
	}
}

func TestAReportDestroysNothing(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out.ndjson")
	object := filepath.Join(src, "a")
	write(t, object, records("a", 10))
	p := pipeline(t, src, out, "")
	earlier := filepath.Join(dir, "earlier.json")
	write(t, earlier, []byte("{}\n"))

	refused(t, object, "inside the source", "run", p, "--report", object)
	refused(t, filepath.Join(src, "new"), "inside the source", "run", p, "--report", filepath.Join(src, "new"))
	refused(t, p, "--report", "run", p, "--report", p)
	write(t, out, []byte("rows of an earlier run\n"))
	refused(t, out, "--report", "run", p, "--overwrite", "--report", out)
	refused(t, earlier, "--overwrite", "run", p, "--report", earlier)

	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(src, "not-yet"), dangling); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(src, "not-yet"), "inside the source", "run", pipeline(t, src, dangling, ""))
}

func TestTheReportIsWrittenWhateverElseFails(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out.ndjson")
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		write(t, filepath.Join(src, name), records(name, 100_000))
	}
	take := func(*exec.Cmd) { // once rows come out
		for range 12_000 {
			if s, err := os.Stat(out); err == nil && s.Size() > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := os.Remove(out); err != nil {
			t.Error(err)
		}
	}
	res := run{Begun: take}.spate(t, "run", pipeline(t, src, out, "decode: {json: {}}"), "--set", "source.s3.target=1MiB")
	if res.Code != 1 || res.Report == nil || res.Report.State == report.Completed || !strings.Contains(res.Stderr, "removed or replaced") {
		t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
}

func TestAStopEndsEvenWhenNothingTakesTheRows(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	write(t, filepath.Join(src, "a"), records("a", 100_000))
	p := filepath.Join(t.TempDir(), "p.yaml")
	write(t, p, []byte("pipeline: {name: x}\nsource: {s3: {url: \"file://"+src+"\"}}\nfeed: {memory: {}}\nsink: {stdout: {}}\n"))
	r, w, err := os.Pipe() // that nobody reads
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(plainBinary, "run", p)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	time.Sleep(time.Second)
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		t.Logf("it took %v", time.Since(start))
	case <-time.After(45 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Error("45 s after the interrupt it had not ended")
	}
}

func TestAJobThatFindsOrKeepsNothingSaysSo(t *testing.T) {
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	res := run{}.spate(t, "run", pipeline(t, src, out, ""))
	if res.Code != 0 || !strings.Contains(res.Stderr, "no object matched") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
	write(t, filepath.Join(src, "a.csv"), []byte("a,b\n1,2\n"))
	res = run{}.spate(t, "run", pipeline(t, src, out, "decode: {json: {}}"), "--overwrite")
	if res.Code != 0 || !strings.Contains(res.Stderr, "all 2 records were rejected") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
}

func TestMemoryThatNoUnitFitsIsRefusedAtOnce(t *testing.T) {
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(src, "a"), records("a", 10))
	refused(t, out, "pipeline.memory", "run", pipeline(t, src, out, ""), "--set", "pipeline.memory=20MiB")
}
