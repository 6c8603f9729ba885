package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is a fenced block of a page.
type block struct {
	line  int    // of its first line of text, from 1
	lang  string // first word of the info string
	marks []string
	exit  int // code that its last command ends with
	text  string
}

// notRun marks what needs an account, or a terminal with a person and a network
// at it; onEndpoint what needs the local endpoint, onEngine a ClickHouse engine.
const (
	needsAccount  = "aws"
	needsTerminal = "terminal"
	onEndpoint    = "s3"
	onEngine      = "clickhouse"
)

func (b *block) has(mark string) bool { return slices.Contains(b.marks, mark) }

// blocks are those of a page, in order. An info string that it does not know is
// an error: a block that was never run looks like one that was.
func blocks(page string) ([]block, error) {
	var all []block
	var open *block
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			b, err := opened(info, i+2)
			if err != nil {
				return nil, err
			}
			open = &b
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", open.line-1)
	}
	return all, nil
}

func opened(info string, line int) (block, error) {
	lang, marks, _ := strings.Cut(info, " ")
	b := block{line: line, lang: lang}
	if lang == "bash" || lang == "shell" {
		return b, fmt.Errorf("line %d: %q: call it sh, or console with what it prints", line-1, lang)
	}
	if !slices.Contains([]string{"sh", "console", "yaml", "go"}, lang) {
		return b, nil
	}
	for _, m := range strings.Fields(marks) {
		code, isExit := strings.CutPrefix(m, "exit=")
		n, err := strconv.Atoi(code)
		switch {
		case isExit && err == nil:
			b.exit = n
		case m == needsAccount, m == needsTerminal, m == onEndpoint, m == onEngine:
			b.marks = append(b.marks, m)
		default:
			return b, fmt.Errorf("line %d: unknown mark %q", line-1, m)
		}
	}
	return b, nil
}

// command is one line behind a prompt, and the lines that it prints.
type command struct{ text, shows string }

// commands are those of a console block. A command that ends in a backslash goes
// on in the next line.
func commands(text string) []command {
	var all []command
	goesOn := false
	for line := range strings.Lines(text) {
		c, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case prompt:
			all = append(all, command{text: c})
		case goesOn:
			all[len(all)-1].text += line
		case len(all) > 0:
			all[len(all)-1].shows += line
		}
		goesOn = (prompt || goesOn) && strings.HasSuffix(line, "\\\n")
	}
	return all
}

// matches reports whether a command printed what its page shows. An ellipsis
// stands for anything within a line, and alone in a line for any lines.
func matches(shown, printed string) bool {
	var p strings.Builder
	for line := range strings.Lines(shown) {
		if line = strings.TrimSuffix(line, "\n"); line == "…" {
			p.WriteString(`(.*\n)*`)
			continue
		}
		p.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`)
	}
	return regexp.MustCompile("^" + p.String() + "$").MatchString(printed)
}
