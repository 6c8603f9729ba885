package arch_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/spate-go/spate"

// pkg is what the rules need to know of a package.
type pkg struct {
	path    string   // within the module
	doc     string   // the package comment's first sentence
	imports []string // of the files that are built, tests aside
	files   []file   // tests included
}

// file is a Go file.
type file struct {
	path      string // within the module
	test      bool
	generated bool
	lines     int
	funcs     []function
}

// function is a function or method with a body.
type function struct {
	name  string // of a method, with its type left out
	line  int
	lines int
	init  bool
}

// load reads the module as it stands on disk.
func load(t *testing.T) []pkg {
	t.Helper()
	root := moduleRoot(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l struct {
			Dir, ImportPath, Doc                               string
			Imports                                            []string
			GoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		p := pkg{path: inModule(l.ImportPath), doc: l.Doc, imports: l.Imports}
		for _, names := range [][]string{l.GoFiles, l.IgnoredGoFiles, l.TestGoFiles, l.XTestGoFiles} {
			for _, name := range names {
				f, doc := parse(t, filepath.Join(l.Dir, name))
				f.path = filepath.ToSlash(filepath.Join(p.path, name))
				p.files = append(p.files, f)
				if f.test && len(l.GoFiles) == 0 && p.doc == "" {
					p.doc = doc
				}
			}
		}
		all = append(all, p)
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("go env GOMOD: %v", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// inModule is an import path within the module, or the path itself where it is
// from outside.
func inModule(path string) string { return strings.TrimPrefix(path, module+"/") }

// parse returns a file's measures and its package comment.
func parse(t *testing.T, path string) (file, string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	f := file{
		test:      strings.HasSuffix(path, "_test.go"),
		generated: ast.IsGenerated(tree),
		lines:     strings.Count(string(src), "\n"),
	}
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		from, to := set.Position(fn.Pos()).Line, set.Position(fn.End()).Line
		f.funcs = append(f.funcs, function{
			name: fn.Name.Name, line: from, lines: to - from + 1,
			init: fn.Recv == nil && fn.Name.Name == "init",
		})
	}
	return f, tree.Doc.Text()
}
