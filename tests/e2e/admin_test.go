package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// get asks the admin address.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// until asks again until the answer holds want.
func until(t *testing.T, url, want string) {
	t.Helper()
	text := ""
	for range 200 {
		if _, text = get(t, url); strings.Contains(text, want) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s does not come to say %q but\n%s", url, want, text)
}

// The job is held up by a standard output that nobody reads, asked, interrupted,
// asked again, and let go.
func TestTheAdminAddressOfARun(t *testing.T) {
	src := t.TempDir()
	write(t, filepath.Join(src, "a"), records("a", 20_000))
	path := filepath.Join(t.TempDir(), "p.yaml")
	write(t, path, []byte("pipeline: {name: watched}\nsource: {s3: {url: \"file://"+src+"\"}}\nfeed: {memory: {}}\nsink: {stdout: {}}\nadmin: {listen: \"0\"}\n"))
	cmd := exec.CommandContext(t.Context(), raceBinary, "run", path, "--progress", "none")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, lines := "", bufio.NewReader(stderr)
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("no address is told: %v", err)
		}
		_, url, _ = strings.Cut(strings.TrimSpace(line), "the admin address is ")
	}
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", url)
	}
	until(t, url+"/metrics", `spate_sink_write_duration_seconds_count{component="default",component_type="stdout",pipeline="watched"} 0`)
	until(t, url+"/metrics", `spate_source_records_total{component="source",component_type="s3",pipeline="watched"} 20000`)
	until(t, url+"/healthz", "alive")
	until(t, url+"/readyz", "ready")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	until(t, url+"/readyz", "ending")
	until(t, url+"/healthz", "alive")
	rest := make(chan string)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	rows, _ := io.ReadAll(stdout)
	text := <-rest
	_ = cmd.Wait()
	if len(rows) == 0 || strings.Contains(text, "DATA RACE") {
		t.Errorf("%d bytes of rows\n%s", len(rows), text)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		_ = c.Close()
		t.Error("it answers after its end")
	}
}

func TestAnAdminAddressThatIsTakenIsAWrongCommandLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(src, "a"), records("a", 10))
	for listen, want := range map[string]string{
		l.Addr().String(): "admin.listen: listen tcp " + l.Addr().String(),
		"here":            "admin.listen: \"here\"",
		":http":           "admin.listen: \":http\"",
	} {
		res := run{}.spate(t, "run", pipeline(t, src, out, "admin: {listen: \""+listen+"\"}"))
		if res.Code != 2 || !strings.Contains(res.Stderr, want) {
			t.Errorf("%s: code %d\n%s", listen, res.Code, res.Stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Error("an output was made all the same")
		}
	}
}
