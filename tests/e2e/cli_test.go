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

func TestTheCommandLineRefusesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "src", "a"), records("a", 10))
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out.ndjson")
	exists := filepath.Join(dir, "exists")
	write(t, exists, []byte("precious\n"))
	good := pipeline(t, src, out, "")
	bare := filepath.Join(dir, "bare.yaml")
	write(t, bare, []byte("pipeline: {name: x}\nsource: {s3: {url: \"file:///tmp\"}}\nsink: {blackhole: {}}\n"))
	for name, c := range map[string]struct {
		args []string
		want []string // in standard error
	}{
		"no command that is known":       {[]string{"rum"}, []string{"rum"}},
		"no pipeline file":               {[]string{"run"}, []string{"arg"}},
		"a file that is not there":       {[]string{"run", filepath.Join(dir, "no.yaml")}, []string{"no.yaml"}},
		"an unknown key":                 {[]string{"run", pipeline(t, src, out, "chains: []")}, []string{"chains", "chain"}},
		"a nested unknown key":           {[]string{"run", good, "--set", "source.s3.comression=gzip"}, []string{"source.s3.comression", "compression"}},
		"no feed":                        {[]string{"run", bare}, []string{"feed:", "memory: {}"}},
		"a sink inside the source":       {[]string{"run", pipeline(t, src, filepath.Join(src, "out", "x"), "")}, []string{"inside the source"}},
		"an output below a file":         {[]string{"run", pipeline(t, src, filepath.Join(exists, "x"), "")}, []string{exists}},
		"an output that exists":          {[]string{"run", pipeline(t, src, exists, "")}, []string{exists, "--overwrite"}},
		"a source that is not there":     {[]string{"run", pipeline(t, filepath.Join(dir, "nowhere"), out, "")}, []string{"nowhere"}},
		"a chain that does not compile":  {[]string{"run", pipeline(t, src, out, "decode: {json: {}}\nchain: [{filter: \"a >\"}]")}, []string{"chain[0].filter"}},
		"a chain over raw records":       {[]string{"run", pipeline(t, src, out, "decode: {raw: {}}\nchain: [{filter: \"a > 1\"}]")}, []string{"decode", "json"}},
		"a target under its floor":       {[]string{"run", good, "--set", "source.s3.target=1KiB"}, []string{"source.s3.target"}},
		"a codec that is not known":      {[]string{"run", good, "--set", "source.s3.compression=lzma"}, []string{"compression", "lzma"}},
		"a glob that is none":            {[]string{"run", good, "--set", "source.s3.include=[\"[\"]"}, []string{"include"}},
		"a progress mode that is none":   {[]string{"run", good, "--progress", "loud"}, []string{"progress", "loud"}},
		"a report that cannot be placed": {[]string{"run", good, "--report", filepath.Join(exists, "r")}, []string{exists}},
		"two sinks in one":               {[]string{"run", good, "--set", "sink.stdout={}"}, []string{"sink", "file and stdout"}},
		"a URL of another kind":          {[]string{"run", good, "--set", "source.s3.url=ftp://x/"}, []string{"source.s3.url", "ftp://x/"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run{}
			var res result
			if c.args[len(c.args)-1] == filepath.Join(exists, "r") {
				out, err := exec.Command(raceBinary, c.args...).CombinedOutput()
				res.Stderr = string(out)
				if e, ok := err.(*exec.ExitError); ok {
					res.Code = e.ExitCode()
				}
			} else {
				res = r.spate(t, c.args...)
			}
			if res.Code != 2 {
				t.Errorf("code %d, want 2\n%s", res.Code, res.Stderr)
			}
			for _, w := range c.want {
				if !strings.Contains(res.Stderr, w) {
					t.Errorf("standard error lacks %q:\n%s", w, res.Stderr)
				}
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("an output was made all the same")
			}
		})
	}
	if got, _ := os.ReadFile(exists); string(got) != "precious\n" {
		t.Errorf("the file in the way now holds %q", got)
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	dir := t.TempDir()
	p := pipeline(t, dir, filepath.Join(dir, "o", "out"), "job: {name: \"${SECRET}\", oops: \"${SECRET}\"}")
	res := run{Env: []string{"SECRET=hunter2hunter2"}}.spate(t, "run", p)
	if res.Code != 2 || strings.Contains(res.Stderr+res.Stdout, "hunter2") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
}

func TestRowsGoToStandardOutputAndTheReportBeside(t *testing.T) {
	src := t.TempDir()
	data := records("a", 100)
	write(t, filepath.Join(src, "a"), data)
	p := filepath.Join(t.TempDir(), "p.yaml")
	write(t, p, []byte("pipeline: {name: x}\nsource: {s3: {url: \"file://"+src+"\"}}\nfeed: {memory: {}}\nsink: {stdout: {}}\n"))
	res := run{}.spate(t, "run", p)
	if res.Code != 0 || res.Stdout != string(data) {
		t.Errorf("code %d, %d bytes of rows\n%s", res.Code, len(res.Stdout), res.Stderr)
	}
	if !strings.Contains(res.Stderr, "completed") {
		t.Errorf("no report:\n%s", res.Stderr)
	}
}

func TestALimitStopsAndSaysSo(t *testing.T) {
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(src, name), records(name, 5000))
	}
	res := run{}.spate(t, "run", pipeline(t, src, out, ""), "--limit", "123")
	if res.Code != 0 || res.Report.State != report.Interrupted || !strings.Contains(res.Report.Reason, "123 records") {
		t.Errorf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	if n := len(rows(t, out)); n != 123 {
		t.Errorf("%d rows, want 123", n)
	}
}

func TestADirectoryHoldsOneWholeFileAUnit(t *testing.T) {
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")+"/"
	var all []byte
	for _, name := range []string{"a", "b", "c"} {
		data := records(name, 20_000)
		all = append(all, data...)
		write(t, filepath.Join(src, name), data)
	}
	res := run{}.spate(t, "run", pipeline(t, src, out, ""), "--set", "source.s3.target=1MiB")
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, data...)
		if !strings.HasPrefix(e.Name(), "s3-") || !strings.HasSuffix(e.Name(), ".ndjson") {
			t.Errorf("file %s", e.Name())
		}
	}
	if len(entries) != res.Report.Units.Planned || len(got) != len(all) {
		t.Errorf("%d files of %d bytes, want %d of %d", len(entries), len(got), res.Report.Units.Planned, len(all))
	}
}

func TestAnInterruptDrainsAndLeavesWholeLines(t *testing.T) {
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	data := records("a", 400_000)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		write(t, filepath.Join(src, name), data)
	}
	interrupt := func(cmd *exec.Cmd) {
		for range 12_000 { // once rows come out, it is at work
			if s, err := os.Stat(out); err == nil && s.Size() > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		_ = cmd.Process.Signal(syscall.SIGINT)
	}
	res := run{Begun: interrupt}.spate(t, "run", pipeline(t, src, out, "decode: {json: {}}"), "--set", "source.s3.target=1MiB")
	if res.Code != 130 || res.Report == nil || res.Report.State != report.Interrupted {
		t.Fatalf("code %d, report %+v\n%s", res.Code, res.Report, res.Stderr)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || got[len(got)-1] != '\n' {
		t.Errorf("%d bytes, not of whole lines", len(got))
	}
	if !strings.Contains(res.Stderr, "interrupted") {
		t.Errorf("standard error:\n%s", res.Stderr)
	}
}

// Its reader takes nothing: the units at hand do not end.
func TestAnInterruptOfAStuckOutputIsAnInterrupt(t *testing.T) {
	t.Parallel()
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(src, "a"), records("a", 100_000))
	if err := syscall.Mkfifo(out, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(out, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	stop := func(cmd *exec.Cmd) {
		_, _ = reader.Read(make([]byte, 1)) // it writes
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	res := run{Begun: stop}.spate(t, "run", pipeline(t, src, out, ""))
	if res.Code != 130 || !strings.Contains(res.Stderr, "does anything take the rows?") {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
}

func TestAFullFileSystemStopsTheJobWithWholeLines(t *testing.T) {
	src, disk := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		if os.Getenv("SPATE_TEST_AWS") == "required" {
			t.Fatalf("mount tmpfs: %v", err)
		}
		t.Skipf("mount tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	write(t, filepath.Join(src, "a"), records("a", 400_000))
	out := filepath.Join(disk, "out")
	start := time.Now()
	res := run{}.spate(t, "run", pipeline(t, src, out, ""))
	if res.Code != 1 || !strings.Contains(res.Stderr, "no space left") || !strings.Contains(res.Stderr, out) {
		t.Errorf("code %d\n%s", res.Code, res.Stderr)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("it took %v to say so", d)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 0 && got[len(got)-1] != '\n' {
		t.Errorf("%d bytes, not of whole lines", len(got))
	}
}
