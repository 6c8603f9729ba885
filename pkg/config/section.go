package config

import (
	"slices"
	"strings"
)

// Section is a mapping whose one key names a component and whose value is that
// component's body, to be read by it later. A body may be left out: `stdout:`
// means `stdout: {}`.
//
// Decoding keeps a section as it is; OneOf checks it, and knows the names.
type Section struct {
	node *node
	path string
}

// Name returns the component's name, or "" if there is not exactly one.
func (s Section) Name() string {
	if s.node == nil || len(s.node.entries) != 1 {
		return ""
	}
	return s.node.entries[0].key
}

// IsZero reports whether the file has no such section.
func (s Section) IsZero() bool { return s.node == nil || s.node.kind == Null }

// OneOf returns an error unless the section names exactly one component and it
// is among names.
func (s Section) OneOf(names ...string) error {
	n := Value{node: s.node}.at()
	switch len(n.entries) {
	case 0:
		return n.errorf(s.path, "needs one key that names a component%s", listed(": ", names))
	case 1:
		e := n.entries[0]
		if slices.Contains(names, e.key) {
			return nil
		}
		return e.errorf(below(s.path, e.key), "unknown component%s", hint(e.key, names))
	}
	given := make([]string, len(n.entries))
	for i, e := range n.entries {
		given[i] = e.key
	}
	return n.entries[1].errorf(s.path, "names %d components, %s: keep one%s",
		len(given), strings.Join(given, " and "), listed("; known here: ", names))
}

// Body returns the component's body, a Null without one.
func (s Section) Body() Value {
	if s.Name() == "" {
		return Value{node: s.node, path: s.path}
	}
	e := s.node.entries[0]
	return Value{node: e.value, path: below(s.path, e.key)}
}

// Decode reads the body; see Document.Decode.
func (s Section) Decode(into any) error {
	if s.Name() == "" {
		return s.OneOf()
	}
	return s.Body().Decode(into)
}

// Path returns where the component stands, such as sink.file.
func (s Section) Path() string { return s.Body().Path() }

// Line returns its line in the file, 0 if it is not from there.
func (s Section) Line() int {
	if s.Name() == "" {
		return Value{node: s.node}.Line()
	}
	return s.node.entries[0].line
}

// Errorf returns an error about a key of the body, or with "" the body itself;
// see Document.Errorf.
func (s Section) Errorf(key, format string, args ...any) error {
	return s.Body().Errorf(key, format, args...)
}

func (s *Section) decodeFrom(d *decoder, n *node, path string) {
	switch n.kind {
	case Null, Mapping:
		*s = Section{node: n, path: path}
	case Scalar:
		if len(n.vars) == 0 && !strings.ContainsAny(n.text, " \n") {
			d.add(n.pos, path, "a name stands where a component is expected: write %s: {%s: {}}", lastKey(path), n.text)
			return
		}
		fallthrough
	default:
		d.add(n.pos, path, "%s stands where a component is expected: a mapping with one key, its name", n.kind)
	}
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
