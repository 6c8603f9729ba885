// Package arch_test keeps the shape of the module: which way imports point,
// which libraries are used where, how large files and functions grow. It reads
// the tree on disk, which go test does not know it depends on: run it with
// -count=1.
package arch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rules = map[string]rule{
	"imports point down":                   importsPointDown,
	"drivers never import each other":      driversAreStrangers,
	"contracts name no service":            contractsNameNoService,
	"libraries are used where they belong": librariesAreKnown,
	"test helpers stay out of binaries":    testingStaysInTests,
	"every package says what it is":        saysWhatItIs,
	"nothing happens at import":            noInit,
	"files and functions stay small":       staysSmall,
}

func TestModule(t *testing.T) {
	all := load(t)
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			for _, p := range all {
				for _, wrong := range r(p) {
					t.Error(wrong)
				}
			}
		})
	}
	t.Run("most files are short", func(t *testing.T) {
		median, p90 := sizes(all)
		t.Logf("lines a file: median %d, 90 %% under %d", median, p90)
		if median > maxMedianLines || p90 > maxP90Lines {
			t.Errorf("median %d, 90th percentile %d: more than %d and %d", median, p90, maxMedianLines, maxP90Lines)
		}
	})
}

// TestLoad holds the loader against a package that is known: this one, and one
// that this module cannot do without.
func TestLoad(t *testing.T) {
	all := map[string]pkg{}
	for _, p := range load(t) {
		all[p.path] = p
	}
	t.Run("imports are those of the files that are built", func(t *testing.T) {
		p := all["pkg/budget"]
		if got := ours(p); !slices.Equal(got, []string{"pkg/config", "pkg/failure"}) || slices.Contains(p.imports, "testing") {
			t.Errorf("got %q", p.imports)
		}
	})
	t.Run("comments, lines and functions of tests are read too", func(t *testing.T) {
		p := all["tests/arch"]
		if !strings.HasPrefix(p.doc, "Package arch_test") {
			t.Errorf("comment %q", p.doc)
		}
		i := slices.IndexFunc(p.files, func(f file) bool { return f.path == "tests/arch/arch_test.go" })
		if i < 0 {
			t.Fatalf("files %v", p.files)
		}
		f := p.files[i]
		j := slices.IndexFunc(f.funcs, func(fn function) bool { return fn.name == "TestLoad" })
		if !f.test || f.generated || f.lines < 60 || j < 0 || f.funcs[j].lines < 20 || f.funcs[j].line < 20 {
			t.Errorf("read as %+v", f)
		}
	})
	t.Run("an init function is told from a method of that name", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f.go")
		src := "package f\n\ntype T int\n\nfunc (T) init() {}\n\nfunc init() {\n}\n"
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		f, _ := parse(t, path)
		if len(f.funcs) != 2 || f.funcs[0].init || !f.funcs[1].init || f.funcs[1].lines != 2 {
			t.Errorf("read as %+v", f)
		}
	})
}

// TestTheCustomExampleStaysShort: a pipeline of one's own is a module of fewer than
// 60 lines.
func TestTheCustomExampleStaysShort(t *testing.T) {
	const dir = "../../examples/custom/"
	if mod, err := os.ReadFile(dir + "go.mod"); err != nil || !strings.HasPrefix(string(mod), "module ") {
		t.Errorf("it is no module: %v", err)
	}
	if f, _ := parse(t, dir+"main.go"); f.lines >= 60 {
		t.Errorf("its main.go has %d lines", f.lines)
	}
}

// sizes are the median and the 90th percentile of production files' lines.
func sizes(all []pkg) (median, p90 int) {
	var lines []int
	for _, p := range all {
		for _, f := range p.files {
			if !f.test && !f.generated && !isSuite(p.path) {
				lines = append(lines, f.lines)
			}
		}
	}
	if len(lines) == 0 {
		return 0, 0
	}
	slices.Sort(lines)
	return lines[len(lines)/2], lines[len(lines)*9/10]
}

// TestRulesCanFail shows each rule what it exists to refuse.
func TestRulesCanFail(t *testing.T) {
	long := func(n int) []file { return []file{{path: "f.go", funcs: []function{{name: "F", lines: n}}}} }
	imports := func(paths ...string) []string {
		for i, p := range paths {
			if strings.HasPrefix(p, "pkg/") {
				paths[i] = module + "/" + p
			}
		}
		return paths
	}
	for name, c := range map[string]struct {
		rule rule
		pkg  pkg
		want string // a part of the only finding; none where it is empty
	}{
		"a package without a row":          {importsPointDown, pkg{path: "pkg/util"}, "no row"},
		"a value that imports a contract":  {importsPointDown, pkg{path: "pkg/unit", imports: imports("pkg/feed")}, "pkg/feed"},
		"a contract that imports a driver": {importsPointDown, pkg{path: "pkg/feed", imports: imports("pkg/feed/memfeed")}, "memfeed"},
		"a reader that imports a driver":   {importsPointDown, pkg{path: "pkg/reader", imports: imports("pkg/feed", "pkg/sink/filesink")}, "filesink"},
		"a reader that imports contracts":  {importsPointDown, pkg{path: "pkg/reader", imports: imports("pkg/feed", "pkg/unit", "context")}, ""},
		"an app that imports a driver":     {importsPointDown, pkg{path: "pkg/app", imports: imports("pkg/sink/filesink")}, ""},

		"a driver that imports a driver":  {driversAreStrangers, pkg{path: "pkg/sink/filesink", imports: imports("pkg/object/dirobject")}, "dirobject"},
		"a driver that imports its suite": {driversAreStrangers, pkg{path: "pkg/sink/filesink", imports: imports("pkg/sink/sinktest")}, ""},

		"a contract with a service":  {contractsNameNoService, pkg{path: "pkg/sink", imports: imports("github.com/aws/smithy-go")}, "smithy-go"},
		"a protocol with a service":  {contractsNameNoService, pkg{path: "pkg/reader", imports: imports("github.com/aws/smithy-go")}, "smithy-go"},
		"a driver with its service":  {contractsNameNoService, pkg{path: "pkg/object/s3object", imports: imports("github.com/aws/smithy-go")}, ""},
		"a library nobody knows":     {librariesAreKnown, pkg{path: "pkg/app", imports: imports("example.com/left/pad")}, "example.com"},
		"a library out of its place": {librariesAreKnown, pkg{path: "pkg/feed", imports: imports("go.yaml.in/yaml/v3")}, "yaml"},
		"a library in its place":     {librariesAreKnown, pkg{path: "pkg/codec/gzipcodec", imports: imports("github.com/klauspost/compress/gzip", "pkg/codec")}, ""},

		"a suite with its library": {librariesAreKnown, pkg{path: "pkg/feed/feedtest", imports: imports("github.com/google/go-cmp/cmp")}, ""},
		"a driver with a suite's":  {librariesAreKnown, pkg{path: "pkg/feed/memfeed", imports: imports("github.com/google/go-cmp/cmp")}, "go-cmp"},

		"testing in production": {testingStaysInTests, pkg{path: "pkg/feed", imports: imports("testing/synctest")}, "testing/synctest"},
		"testing in a suite":    {testingStaysInTests, pkg{path: "pkg/feed/feedtest", imports: imports("testing")}, ""},

		"a package without a comment": {saysWhatItIs, pkg{path: "pkg/feed"}, "no package comment"},
		"an init function":            {noInit, pkg{files: []file{{path: "f.go", funcs: []function{{name: "init", init: true}}}}}, "init"},

		"a file too long":             {staysSmall, pkg{path: "pkg/feed", files: []file{{path: "f.go", lines: maxFileLines + 1}}}, "501 lines"},
		"a test too long":             {staysSmall, pkg{path: "pkg/feed", files: []file{{path: "f_test.go", test: true, lines: maxSuiteLines + 1}}}, "601 lines"},
		"a file as long as may be":    {staysSmall, pkg{path: "pkg/feed", files: []file{{path: "f.go", lines: maxFileLines}}}, ""},
		"a generated file":            {staysSmall, pkg{path: "pkg/feed", files: []file{{path: "f.go", lines: 9999, generated: true}}}, ""},
		"a function too long":         {staysSmall, pkg{path: "pkg/feed", files: long(maxFuncLines + 1)}, "61 lines"},
		"a suite's function":          {staysSmall, pkg{path: "pkg/feed/feedtest", files: long(maxSuiteFuncLines)}, ""},
		"a suite's function too long": {staysSmall, pkg{path: "pkg/feed/feedtest", files: long(maxSuiteFuncLines + 1)}, "201 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.rule(c.pkg)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("refused: %q", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one finding with %q", got, c.want)
			}
		})
	}
}
