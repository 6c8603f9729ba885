package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing is wrong with the file, so a script may try again.
func TestASinkThatCannotBeReachedIsNotAWrongFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pipeline.yaml")
	text := "pipeline: {name: load}\nsource: {s3: {url: 'file://" + dir + "/in/'}}\nfeed: {memory: {}}\ndecode: {json: {}}\nsink: {clickhouse: {url: 'http://127.0.0.1:1', table: t}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := cli(t, "run", file)
	if code != exitIncomplete || !strings.Contains(stderr, "look at t at 127.0.0.1:1: ") || !strings.Contains(stderr, "check the URL") {
		t.Errorf("exit code %d, want %d\n%s", code, exitIncomplete, stderr)
	}
}
