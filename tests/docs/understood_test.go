package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var comment = regexp.MustCompile(`\s#\s.*`)

// ours are the commands of a block that are this project's own, each as it is
// given to have it understood and nothing done.
func ours(b block) (all []string) {
	lines := commands(b.text)
	if b.lang == "sh" {
		lines = nil
		for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", "")) {
			lines = append(lines, command{text: line})
		}
	}
	for _, c := range lines {
		text := strings.TrimPrefix(strings.TrimSpace(comment.ReplaceAllString(c.text, "")), "bin/")
		switch program, _, _ := strings.Cut(text, " "); program {
		case "spate":
			all = append(all, text+" --help")
		case "make":
			all = append(all, text+" --dry-run")
		}
	}
	return all
}

// What is not run, for want of an account, is there all the same: the command, its
// flags, and the Makefile's target.
func TestCommandsThatAreNotRunAreUnderstood(t *testing.T) {
	t.Parallel()
	s, n := newShell(t, ""), 0
	for _, page := range pages(t) {
		_, all := read(t, page)
		for _, b := range all {
			if !b.has(needsAccount) && !b.has(needsTerminal) {
				continue
			}
			for _, text := range ours(b) {
				n++
				if said, code := s.run(t, text); code != 0 {
					t.Errorf("%s:%d: %s\nends with code %d: %s", page, b.line, text, code, said)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("the pages have %d such commands", n)
	}
	t.Logf("%d commands", n)
}
