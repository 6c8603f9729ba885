package arch_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Sizes beyond which a file or function has to be split.
const (
	maxFileLines      = 500
	maxSuiteLines     = 600 // suites and tests
	maxFuncLines      = 60
	maxSuiteFuncLines = 200
	maxMedianLines    = 120
	maxP90Lines       = 300
)

// A rule returns what a package does wrong.
type rule func(p pkg) []string

// importsPointDown keeps to the table.
func importsPointDown(p pkg) []string {
	row, ok := allowed[p.path]
	if !ok {
		return []string{p.path + " has no row: give it one in tests/arch/table_test.go, in the layer where it belongs"}
	}
	if slices.Contains(row, anything) {
		return nil
	}
	var wrong []string
	for _, i := range ours(p) {
		if !slices.Contains(row, i) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which its layer may not", p.path, i))
		}
	}
	return wrong
}

// driversAreStrangers keeps the drivers of stores apart, whatever the table
// says. Formats may build on one another, as their rows say.
func driversAreStrangers(p pkg) []string {
	if !isDriver(p.path) {
		return nil
	}
	var wrong []string
	for _, i := range ours(p) {
		if isDriver(i) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: drivers never import each other", p.path, i))
		}
	}
	return wrong
}

// contractsNameNoService keeps services out of all but drivers and what joins
// them.
func contractsNameNoService(p pkg) []string {
	if !slices.Contains(slices.Concat(values, pure, contracts, protocols), p.path) {
		return nil
	}
	var wrong []string
	for _, i := range p.imports {
		if strings.HasPrefix(i, "github.com/aws/") {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: only drivers know a service", p.path, i))
		}
	}
	return wrong
}

// librariesAreKnown keeps to the table of modules from outside.
func librariesAreKnown(p pkg) []string {
	var wrong []string
	for _, i := range p.imports {
		first, _, _ := strings.Cut(i, "/")
		if !strings.Contains(first, ".") || i == module || strings.HasPrefix(i, module+"/") {
			continue
		}
		if !slices.ContainsFunc(importers(i), func(who string) bool {
			return within(p.path, who) || who == suites && isSuite(p.path)
		}) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: give it a row in tests/arch/table_test.go", p.path, i))
		}
	}
	return wrong
}

// testingStaysInTests keeps test helpers out of binaries.
func testingStaysInTests(p pkg) []string {
	if isSuite(p.path) {
		return nil
	}
	var wrong []string
	for _, i := range p.imports {
		if i == "testing" || strings.HasPrefix(i, "testing/") {
			wrong = append(wrong, fmt.Sprintf("%s imports %s outside its tests", p.path, i))
		}
	}
	return wrong
}

// saysWhatItIs wants a package comment.
func saysWhatItIs(p pkg) []string {
	if p.doc == "" {
		return []string{p.path + " has no package comment"}
	}
	return nil
}

// noInit wants nothing to happen at import.
func noInit(p pkg) []string {
	var wrong []string
	for _, f := range p.files {
		for _, fn := range f.funcs {
			if fn.init {
				wrong = append(wrong, fmt.Sprintf("%s:%d: an init function: do it where it is asked for", f.path, fn.line))
			}
		}
	}
	return wrong
}

// staysSmall caps files and functions.
func staysSmall(p pkg) []string {
	var wrong []string
	for _, f := range p.files {
		if f.generated {
			continue
		}
		lines, funcLines := maxFileLines, maxFuncLines
		if f.test || isSuite(p.path) {
			lines, funcLines = maxSuiteLines, maxSuiteFuncLines
		}
		if f.lines > lines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than %d", f.path, f.lines, lines))
		}
		for _, fn := range f.funcs {
			if fn.lines > funcLines {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s has %d lines, more than %d", f.path, fn.line, fn.name, fn.lines, funcLines))
			}
		}
	}
	return wrong
}

// ours is what p imports of this module.
func ours(p pkg) []string {
	var all []string
	for _, i := range p.imports {
		if strings.HasPrefix(i, module+"/") {
			all = append(all, inModule(i))
		}
	}
	return all
}

// importers is who may import the library i.
func importers(i string) []string {
	for prefix, who := range libraries {
		if strings.HasPrefix(i, prefix) {
			return who
		}
	}
	return nil
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// isDriver: a package directly under a store's contract, suites aside.
func isDriver(p string) bool { return slices.Contains(stores, path.Dir(p)) && !isSuite(p) }

// isSuite: it exists for tests and only tests import it.
func isSuite(p string) bool {
	switch base := path.Base(p); {
	case base == "capturesink", base == "spatetest", within(p, "tests"):
		return true
	default:
		return strings.HasSuffix(base, "test")
	}
}
