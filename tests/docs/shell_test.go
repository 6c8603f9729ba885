package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// tree is what a reader has after cloning and `make build`, as far as the pages
// use it.
var tree string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spate-docs-")
	if err == nil {
		tree = dir
		err = clone()
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func clone() error {
	for _, name := range []string{"cmd", "pkg", "examples"} {
		if err := os.CopyFS(filepath.Join(tree, name), os.DirFS(filepath.Join(root, name))); err != nil {
			return err
		}
	}
	for _, name := range []string{"Makefile", "go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	build := exec.Command("make", "build")
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// shell is a reader at one page: its commands run one after the other in a tree
// of their own.
type shell struct {
	page string
	dir  string
}

func newShell(t *testing.T, page string) *shell {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(tree)); err != nil {
		t.Fatal(err)
	}
	return &shell{page, dir}
}

// display is the line that progress is shown by where no terminal is.
var display = regexp.MustCompile(`(?m)^\d\S*  [\d,]+/[\d,]+ objects .*\n`)

// run runs commands and returns what they print, and their exit code.
func (s *shell) run(t *testing.T, commands string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(),
		"PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"), "PWD="+s.dir,
		"GOFLAGS=-trimpath", "CGO_ENABLED=0", // as make build does: what it compiled is used again
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil || cmd.ProcessState == nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return display.ReplaceAllString(string(out), ""), cmd.ProcessState.ExitCode()
}

// try runs a block as its page says, and checks what the page says of it.
func (s *shell) try(t *testing.T, b block) {
	all := []command{{text: b.text}}
	if b.lang == "console" {
		all = commands(b.text)
	}
	if len(all) == 0 {
		t.Fatalf("%s:%d: no line begins with a prompt", s.page, b.line)
	}
	for i, c := range all {
		printed, code := s.run(t, c.text)
		want := 0
		if i == len(all)-1 {
			want = b.exit
		}
		if code != want {
			t.Errorf("%s:%d: exit code %d, want %d\n%s\n%s", s.page, b.line, code, want, c.text, printed)
		}
		if b.lang == "console" && !matches(c.shows, printed) {
			t.Errorf("%s:%d: $ %s\nprints\n%s\nand the page shows\n%s", s.page, b.line, c.text, printed, c.shows)
		}
	}
}
