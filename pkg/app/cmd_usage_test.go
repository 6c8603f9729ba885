package app

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/app/internal/progress"
)

var update = flag.Bool("update", false, "write the golden files anew")

// cli runs the command line in this process.
func cli(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return cliOf(t, Pipeline{}, args...)
}

// cliOf runs the command line of a program that brings p.
func cliOf(t *testing.T, p Pipeline, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	return cliWith(t.Context(), t, p, stdio{env: none}, args...)
}

// cliTo runs the command line with stacks reached by c.
func cliTo(t *testing.T, c connector, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	return cliWith(t.Context(), t, Pipeline{}, stdio{env: none, connect: c}, args...)
}

// cliWith runs the command line with all but the outputs of std.
func cliWith(ctx context.Context, t *testing.T, p Pipeline, std stdio, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	std.stdout, std.stderr = open("stdout"), open("stderr")
	code = command(ctx, p, args, std)
	read := func(f *os.File) string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return code, read(std.stdout), read(std.stderr)
}

// golden compares with testdata/cli/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "cli", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-update writes it anew):\n-want +got:\n%s", path, d)
	}
}

// every calls f for each command that a user may call.
func every(c *cobra.Command, f func(c *cobra.Command)) {
	f(c)
	for _, s := range c.Commands() {
		if s.Name() != "help" && !s.Hidden {
			every(s, f)
		}
	}
}

func TestEveryCommandHelps(t *testing.T) {
	seen := map[string]bool{}
	every(commands(Pipeline{}, process()), func(c *cobra.Command) {
		if c.HasParent() && c.Parent().Name() == "completion" {
			return // the library's own
		}
		t.Run(c.CommandPath(), func(t *testing.T) {
			args := append(strings.Fields(c.CommandPath())[1:], "--help")
			code, stdout, stderr := cli(t, args...)
			if code != 0 || stderr != "" {
				t.Errorf("code %d, standard error %q", code, stderr)
			}
			for line := range strings.Lines(stdout) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
					t.Errorf("a line of %d characters: %s", n, line)
				}
			}
			name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".txt"
			seen[name] = true
			golden(t, name, stdout)
		})
	})
	files, err := filepath.Glob("testdata/cli/spate*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[filepath.Base(f)] {
			t.Errorf("%s is of no command", f)
		}
	}
}

func TestWhatIsWrongIsOneLineThatSaysWhatToDo(t *testing.T) {
	var all strings.Builder
	for _, line := range []string{
		"rum", "frobnicate", "--frob", "-x", "help rum", "completion tcsh", "completion bash more",
		"run", "run a.yaml b.yaml", "run a.yaml --lmit 4", "run a.yaml --limit many", "run a.yaml --limit", "run a.yaml --limit -1",
		"run a.yaml --progress loud", "run a.yaml --output yaml", "run a.yaml --log-level loud", "run nowhere.yaml",
		"run a.yaml --overwrite=maybe",
		"plan", "plan nowhere.yaml", "plan a.yaml --memory 64", "plan a.yaml --concurrency 2000", "plan a.yaml -o xml",
		"check", "check nowhere.yaml", "check a.yaml -o xml",
		"inspect", "inspect /tmp", "inspect s3://bucket", "inspect s3://bucket/prefix/", "inspect file:///tmp/", "inspect file:///x --records 0",
		"gen", "gen a b", "gen nowhere --format xml", "gen nowhere --compression lzma", "gen nowhere --objects 0", "gen nowhere --size 10M", "gen nowhere --size 0",
		"schema now",
		"job strat", "job start", "job start a b --table t", "job start a/b --table t", "job start --pipeline nowhere.yaml",
		"job start a --table t --progress loud", "job start a --table t -o xml", "job start a", "job start a --stack",
		"job list", "job list a --table t", "job status", "job status a", "job status a b --table t", "job watch", "job watch a --progress loud",
		"job watch ü --table t", "job report", "job redrive", "job resume a b", "job cancel", "job cancel a --frob",
	} {
		code, stdout, stderr := cli(t, strings.Fields(line)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("spate %s: code %d, standard output %q, standard error %q", line, code, stdout, stderr)
		}
		fmt.Fprintf(&all, "$ spate %s\n%s", line, stderr)
	}
	golden(t, "errors.txt", all.String())
}

func TestEveryFlagOfEveryCommandIsExplained(t *testing.T) {
	every(commands(Pipeline{}, process()), func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no summary", c.CommandPath())
		}
		for _, line := range strings.Split(c.LocalFlags().FlagUsages(), "\n") {
			if f := strings.Fields(line); len(f) == 1 {
				t.Errorf("%s: %s is not explained", c.CommandPath(), f[0])
			}
		}
	})
}

func TestShellsComplete(t *testing.T) {
	for line, want := range map[string][]string{
		"__complete r":                      {"run\t"},
		"__complete run --pro":              {"--progress"},
		"__complete run a.yaml --progress ": {"auto", "plain", "none"},
		"__complete run --output ":          {"text", "json"},
		"__complete run --log-level ":       {"debug", "info", "warn", "error"},
		"__complete run ":                   {"yaml", ":8"},
		"__complete completion ":            {"bash", "zsh", "fish", "powershell"},
	} {
		code, stdout, _ := cli(t, strings.Split(line, " ")...)
		for _, w := range want {
			if code != 0 || !strings.Contains(stdout, w) {
				t.Errorf("%s: code %d, no %q in %q", line, code, w, stdout)
			}
		}
	}
}

func TestEveryShellHasAScript(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "-n"}, "powershell": nil} {
		t.Run(shell, func(t *testing.T) {
			code, script, stderr := cli(t, "completion", shell)
			if code != 0 || !strings.Contains(script, "__complete") || stderr != "" {
				t.Fatalf("code %d, %d bytes\n%s", code, len(script), stderr)
			}
			if check == nil {
				return
			}
			if _, err := exec.LookPath(check[0]); err != nil {
				t.Skip(err)
			}
			path := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), check[0], check[1], path).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestATerminalThatIsDumbIsShownLines(t *testing.T) {
	for _, c := range []struct {
		flag, term string
		want       progress.Mode
	}{
		{"auto", "xterm-256color", progress.Auto}, {"auto", "", progress.Auto}, {"auto", "dumb", progress.Plain},
		{"plain", "xterm", progress.Plain}, {"none", "dumb", progress.None},
	} {
		got, err := progressMode(c.flag, func(string) (string, bool) { return c.term, c.term != "" })
		if err != nil || got != c.want {
			t.Errorf("--progress %s, TERM=%s: %v, %v", c.flag, c.term, got, err)
		}
	}
}

func TestTheLogGoesThroughTheDisplayOnceThereIsOne(t *testing.T) {
	var before, after strings.Builder
	w := &switchable{w: &before}
	fmt.Fprint(w, "1")
	w.to(&after)
	fmt.Fprint(w, "2")
	if before.String() != "1" || after.String() != "2" {
		t.Errorf("before %q, after %q", before.String(), after.String())
	}
}
