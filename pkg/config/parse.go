package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file. Both are far beyond any pipeline; they keep a mistaken or
// hostile file from costing more than an error.
const (
	maxBytes = 1 << 20
	maxDepth = 64
)

func parse(file string, text []byte, env func(string) (string, bool)) (*node, error) {
	at := pos{file: file}
	if len(text) > maxBytes {
		return nil, at.errorf("", "%d bytes are more than a configuration may have (%d): is this the right file?", len(text), maxBytes)
	}
	if !utf8.Valid(text) {
		at.line = 1 + bytes.Count(text[:invalidAt(text)], []byte("\n"))
		return nil, at.errorf("", "not UTF-8: save the file as UTF-8")
	}
	refs, err := hideReferences(string(text), env)
	if err != nil {
		return nil, at.errorf("", "%s", err)
	}
	r := reader{file: file, refs: refs}
	y, problem := r.yaml([]byte(refs.text))
	if problem != nil {
		return nil, problem
	}
	root := r.node(y, "", 0)
	if root.kind != mapping && len(r.problems) == 0 {
		if root.kind == null {
			return nil, at.errorf("", "the file is empty: it needs at least a pipeline, a source and a sink")
		}
		return nil, root.errorf("", "want sections (source:, sink: and so on), got %s", root.kind)
	}
	return root, r.err()
}

func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// yaml parses the one document of text. An empty one is a null.
func (r *reader) yaml(text []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	case err != nil:
		return nil, r.syntax(err, text)
	}
	switch err := dec.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, r.syntax(err, text)
	default:
		return nil, pos{r.file, next.Line}.errorf("", "a second document: a file describes one pipeline, remove the --- and what follows")
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	}
	return doc.Content[0], nil
}

var (
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	tabIndent = regexp.MustCompile(`(?m)^[ ]*\t[ \t]*[^ \t\r\n#]`)
)

// syntax puts a parser's error into the form of all others. A tab at the start
// of a line is the usual cause, and the parser's words for it do not help.
func (r *reader) syntax(err error, text []byte) error {
	if tab := tabIndent.FindIndex(text); tab != nil {
		line := 1 + bytes.Count(text[:tab[0]], []byte("\n"))
		return pos{r.file, line}.errorf("", "a tab indents this line: YAML allows spaces only")
	}
	m := yamlError.FindStringSubmatch(err.Error())
	if m == nil {
		return pos{file: r.file}.errorf("", "not valid YAML: %s", err)
	}
	line, _ := strconv.Atoi(m[1])
	return pos{r.file, line}.errorf("", "not valid YAML here or just above: %s", m[2])
}
