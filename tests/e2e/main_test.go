// Package e2e runs the built binary as a user does.
package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/tests/clikit"
)

// Built once: one with the race detector for what is about behaviour, one
// without for what is about memory and time.
var raceBinary, plainBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spate-e2e-")
	if err != nil {
		panic(err)
	}
	if raceBinary, plainBinary, err = clikit.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A run is a call of the binary, of the one with the race detector if it names
// none; a result is what came of it.
type (
	run    clikit.Call
	result = clikit.Outcome
)

func (r run) spate(t *testing.T, args ...string) result {
	t.Helper()
	if r.Binary == "" {
		r.Binary = raceBinary
	}
	return clikit.Call(r).Do(t, args...)
}

// pipeline writes a pipeline file that copies the NDJSON in dir to out.
func pipeline(t *testing.T, dir, out, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	text := fmt.Sprintf(`pipeline: {name: e2e}
source:
  s3:
    url: "file://%s"
feed: {memory: {attempt_cap: 2}}
framing: {ndjson: {}}
sink: {file: {path: %q}}
%s
`, dir, out, more)
	write(t, path, []byte(text))
	return path
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rows are the lines of a file, how often each.
func rows(t *testing.T, path string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		counts[line]++
	}
	return counts
}

// exactly checks that out holds the lines of data once each and nothing else.
func exactly(t *testing.T, out string, data ...[]byte) {
	t.Helper()
	got := rows(t, out)
	for _, d := range data {
		for line := range strings.Lines(string(d)) {
			if got[line] != 1 {
				t.Errorf("row %.60q is there %d times", line, got[line])
				return
			}
			delete(got, line)
		}
	}
	for line := range got {
		t.Errorf("row %.60q was not expected", line)
		return
	}
}

// records are n NDJSON records, different for every name.
func records(name string, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"name":%q,"n":%d,"status":%d}`+"\n", name, i, 200+i%400)
	}
	return b.Bytes()
}
