// Package docs_test reads the pages as a user does: it runs their commands, and
// compares what they print with what the pages show; it loads their pipeline
// files; it looks up their Go code in the examples and the targets of their
// links.
//
// Of fenced blocks, the first word of the info string says what one is:
//
//	sh       commands that succeed
//	console  commands behind "$ ", each with all that it prints
//	yaml     a pipeline file, or some of its sections; a first line "# NAME.yaml"
//	         keeps it for the commands that follow on its page
//	go       code of examples/ or of the test kit
//
// and marks follow it: exit=2 is the code that the last command ends with, s3
// runs only with a local endpoint, clickhouse only with an engine; of aws and
// terminal only the words are checked. An ellipsis stands for what varies.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/app"
)

const root = "../.."

// pages are README.md and docs/*.md, by their names from the root.
func pages(t *testing.T) []string {
	found, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(found) == 0 {
		t.Fatal("no pages", err)
	}
	all := []string{"README.md"}
	for _, p := range found {
		all = append(all, "docs/"+filepath.Base(p))
	}
	return all
}

func read(t *testing.T, page string) (string, []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	all, err := blocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return string(text), all
}

func TestCommandsPrintWhatThePagesShow(t *testing.T) {
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			var s *shell
			_, all := read(t, page)
			for _, b := range all {
				isCommand := b.lang == "sh" || b.lang == "console"
				if b.has(needsAccount) || b.has(needsTerminal) || !isCommand && name(b) == "" {
					continue
				}
				if s == nil {
					s = newShell(t, page)
				}
				switch {
				case !isCommand:
					if err := os.WriteFile(filepath.Join(s.dir, name(b)), []byte(b.text), 0o644); err != nil {
						t.Fatal(err)
					}
				case b.has(onEndpoint) && os.Getenv("AWS_ENDPOINT_URL") == "":
					if os.Getenv("SPATE_TEST_AWS") == "required" {
						t.Fatal("no endpoint: set AWS_ENDPOINT_URL")
					}
					t.Logf("%s:%d: not run: no endpoint: set AWS_ENDPOINT_URL", page, b.line)
				case b.has(onEngine) && os.Getenv("CLICKHOUSE_URL") == "":
					if os.Getenv("SPATE_TEST_CLICKHOUSE") == "required" {
						t.Fatal("no engine: set CLICKHOUSE_URL")
					}
					t.Logf("%s:%d: not run: no engine: set CLICKHOUSE_URL", page, b.line)
				default:
					s.try(t, b)
				}
			}
		})
	}
}

var named = regexp.MustCompile(`^# (\S+\.yaml)\n`)

// name is that of the file that a YAML block is, "" if it is none.
func name(b block) string {
	if m := named.FindStringSubmatch(b.text); m != nil && b.lang == "yaml" {
		return m[1]
	}
	return ""
}

// base is what a block of some sections is completed with.
var base = []struct{ key, line string }{
	{"pipeline", "pipeline: {name: page}"},
	{"source", `source: {s3: {url: "s3://my-logs/2026/"}}`},
	{"feed", "feed: {memory: {}}"},
	{"sink", "sink: {stdout: {}}"},
}

func TestPipelineFilesOfThePagesLoad(t *testing.T) {
	for _, page := range pages(t) {
		if page == "docs/CHAINS.md" {
			continue // tests/e2e runs its examples, wrong ones too
		}
		_, all := read(t, page)
		for _, b := range all {
			if b.lang != "yaml" {
				continue
			}
			if err := load(t, page, b); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

func TestAWrongPipelineFileIsNamedByItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"chain:\n  - filter: \"n > 1\"\n":                "",
		"sinks: {a: {stdout: {}}}\nfeed: {memory: {}}\n": "",
		"# a comment\nframing: {jsn: {}}\n":              "page.md:8: framing.jsn: unknown key",
		"chain:\n  - filter: \"n >\"\n":                  "page.md:8: chain[0].filter",
	} {
		err := load(t, "docs/page.md", block{line: 7, text: text})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// load reads a YAML block as a pipeline file in which it stands where it stands
// on its page, so that an error names the page's line.
func load(t *testing.T, page string, b block) error {
	t.Helper()
	file := strings.Repeat("\n", b.line-1) + b.text
	has := func(key string) bool { return regexp.MustCompile("(?m)^" + key + ":").MatchString(b.text) }
	for _, s := range base {
		if !has(s.key) && !has(s.key+"s") {
			file += s.line + "\n"
		}
	}
	if has("chain") && !has("decode") {
		file += "decode: {json: {}}\n"
	}
	path := filepath.Join(t.TempDir(), filepath.Base(page))
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := app.Load(path, nil, func(name string) (string, bool) {
		if name == "PWD" {
			return "/home/me", true
		}
		return "", false
	})
	return err
}

func TestGoCodeOfThePagesIsThatOfTheExamples(t *testing.T) {
	var code strings.Builder
	for _, dir := range []string{"examples", "pkg/spatetest"} {
		err := fs.WalkDir(os.DirFS(filepath.Join(root, dir)), ".", func(p string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(p) != ".go" {
				return err
			}
			text, err := os.ReadFile(filepath.Join(root, dir, p))
			code.WriteString(flat(string(text)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range pages(t) {
		_, all := read(t, page)
		for _, b := range all {
			if b.lang == "go" && !strings.Contains(code.String(), flat(b.text)) {
				t.Errorf("%s:%d: no example holds this code:\n%s", page, b.line, b.text)
			}
		}
	}
}

// flat is code without its indentation.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range append(pages(t), "CHANGELOG.md") {
		text, _ := read(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), target)); err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
			}
		}
	}
}
